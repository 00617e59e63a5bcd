//! Redis: `SET NX PX` and a counter in one script; MULTI for one consistent reading.
//!
//! Valkey and KeyDB speak the same protocol. Cluster is not spoken: key and counter would have to
//! share a slot.

mod administrator;
mod answer;
mod batch;
mod client;
mod listing;
mod many;
mod observer;
mod owner;
mod script;
mod server;
mod stream;
mod wire;

pub(crate) use administrator::Administrator;
pub(crate) use observer::Observer;
pub(crate) use owner::Owner;

/// The key of the token counter.
fn counter_key(key: &str) -> String {
    format!("{key}:token")
}
