//! Bad input: one clear message with what to do, the right exit status, nothing left behind.
//!
//! Everything here is real: the built program, real owners, a real redis-server where a test needs one.

mod bundle;
mod check;
mod faces;
mod flags;
mod names;
mod output;
mod owner;
mod plan;
mod rig;
mod secrets;
mod stop;
mod store;
mod together;
mod watch;

#[path = "../../../leaseproof-store/tests/redis_server/mod.rs"]
mod redis_server;

#[path = "../../../leaseproof-report/tests/schema/mod.rs"]
mod schema;
