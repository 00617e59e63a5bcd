//! `leaseproof gate` as a process: killed, traced, out of room, and called wrongly.

mod bad;
mod equality;
mod faces;
#[path = "../../../leaseproof-gate/tests/http/resource.rs"]
#[expect(dead_code, reason = "shared with the crate's own tests")]
mod resource;
mod rig;
mod room;
mod tls;
#[path = "../../../leaseproof-store/tests/tls_rig/mod.rs"]
mod tls_rig;
mod trace;
mod wire;
