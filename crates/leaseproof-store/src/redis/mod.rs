//! Redis: `SET NX PX` and a counter in one script; MULTI for one consistent reading.
//!
//! Valkey and KeyDB speak the same protocol. Cluster is not spoken: key and counter would have to
//! share a slot.

mod administrator;
mod allow;
mod answer;
mod batch;
mod client;
mod clients;
mod foreign;
mod info;
mod inspector;
mod listing;
mod many;
mod monitor;
mod observer;
mod owner;
mod script;
mod server;
mod slow_log;
mod tools;
mod wire;

pub(crate) use administrator::Administrator;
pub(crate) use allow::ALLOWED;
pub(crate) use inspector::Inspector;
pub(crate) use observer::Observer;
pub(crate) use owner::Owner;

/// The key of the token counter.
fn counter_key(key: &str) -> String {
    format!("{key}:token")
}

/// The same for a key that may be no UTF-8.
fn counter_bytes(key: &[u8]) -> Vec<u8> {
    [key, b":token"].concat()
}
