//! Redis: `SET NX PX` and a counter in one script; MULTI for one consistent reading.
//!
//! Valkey and KeyDB speak the same protocol. A store may be one server, the primary that Sentinels name
//! (`sentinels`), or a cluster (`slots`): the client finds the server of a key, and the rest is the same.

mod administrator;
mod allow;
mod answer;
mod batch;
mod client;
mod clients;
mod foreign;
mod info;
mod inspector;
mod link;
mod listing;
mod many;
mod monitor;
mod observer;
mod owner;
mod script;
mod sentinels;
mod server;
mod slots;
mod slow_log;
mod tools;
mod wire;

pub(crate) use administrator::Administrator;
pub(crate) use allow::ALLOWED;
pub(crate) use inspector::Inspector;
pub(crate) use observer::Observer;
pub(crate) use owner::Owner;
