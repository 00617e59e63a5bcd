//! PostgreSQL: one table, one row a key, one statement an operation.
//!
//! The clock is the server's wall clock by `clock_timestamp()`, never `now()`: that one is the moment
//! at which the transaction began, and a statement may wait for a row's lock for longer than a TTL.
//! The row stays after a release and after the expiry, so that its token survives.
//!
//! Servers that speak the protocol and are not PostgreSQL (CockroachDB, YugabyteDB, Redshift) are
//! refused: the proof of an expiry rests on how PostgreSQL takes table locks.

mod administrator;
mod client;
mod inspector;
mod login;
mod looks;
mod observer;
mod owner;
mod proof;
mod row;
mod server;
mod sessions;
mod statement;
mod table;
mod tools;

pub(crate) use administrator::Administrator;
pub(crate) use inspector::Inspector;
pub(crate) use looks::ALLOWED;
pub(crate) use observer::Observer;
pub(crate) use owner::Owner;
pub(crate) use server::EARLY_SLACK;

use leaseproof_model::store::StoreFacts;

/// See [`usual_facts`](crate::usual_facts).
pub(crate) fn usual() -> StoreFacts {
    server::Server::default().facts()
}
