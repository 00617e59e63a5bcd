//! The migrations, each on its real database: what they refuse, what they let through, and who waits for whom.

mod attached;
mod concurrent;
mod database;
#[path = "../mariadb_server/mod.rs"]
mod mariadb_server;
#[path = "../../../leaseproof-store/tests/postgres_server/mod.rs"]
mod postgres_server;
mod table;
