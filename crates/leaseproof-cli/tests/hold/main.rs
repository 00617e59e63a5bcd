//! `leaseproof hold`, the built program: what it makes of its command when anything stops, dies or forks away.

mod ends;
#[path = "../../../leaseproof-store/tests/redis_server/mod.rs"]
mod redis_server;
mod rig;
mod stops;
mod stores;
mod trees;
mod verified;
