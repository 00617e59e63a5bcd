//! The gate in front of an HTTP resource, from both of its sides.

mod bad;
mod order;
mod pass;
#[expect(dead_code, reason = "shared with the tests of the command")]
mod resource;
mod rig;
