//! The monitor on the real thing: real stores, real owners that are really paused, a real Prometheus that
//! scrapes it and evaluates the rules that it prints.

mod alerts;
mod endpoints;
mod monitor;
mod prometheus;
mod rig;

#[path = "../../../leaseproof-store/tests/etcd_server/mod.rs"]
mod etcd_server;

#[path = "../../../leaseproof-store/tests/postgres_server/mod.rs"]
mod postgres_server;

#[path = "../../../leaseproof-store/tests/redis_server/mod.rs"]
mod redis_server;
