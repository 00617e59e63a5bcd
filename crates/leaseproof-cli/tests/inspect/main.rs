//! `leaseproof inspect`, the built program against real servers: what it sees, what it sends, what it
//! says to bad input, what it keeps.

mod allowed;
mod bad;
mod evidence;
mod look;
mod owner;
mod suspects;
#[allow(dead_code, reason = "each test uses a part of this fixture")]
mod tap;

#[allow(dead_code, reason = "each test uses a part of this fixture")]
#[path = "../bad_input/rig.rs"]
mod rig;

#[path = "../../../leaseproof-store/tests/redis_server/mod.rs"]
mod redis_server;

#[path = "../../../leaseproof-report/tests/schema/mod.rs"]
#[allow(dead_code, reason = "it checks other documents too")]
mod schema;
