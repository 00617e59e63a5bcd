//! etcd: a key attached to a lease, created in a transaction; spoken to by its JSON gateway, and by gRPC for
//! readings of many keys.
//!
//! - `expiry`: what whole seconds, looked at again and again, say of the expiry
//! - `layout`: what is stored, and how a grant's name gives its lease
//! - `gateway`: calls, the login, and which errors mean *certainly not done*
//! - `many`, `grpc`, `protobuf`: readings of many keys at once
//! - `lease`: granting and revoking leases
//! - `place`: where a lease lies, in our own layout and in that of `etcdctl lock`
//!
//! One member is asked, and another once it does not answer. Each read of a key is linearizable, so that it does
//! not matter which.

mod administrator;
mod allow;
mod expiry;
mod gateway;
mod grpc;
mod inspector;
mod layout;
mod lease;
mod listing;
mod many;
mod message;
mod observer;
mod owner;
mod place;
mod protobuf;
mod server;
mod shown;
mod tools;

pub(crate) use administrator::{Administrator, facts};
pub(crate) use allow::ALLOWED;
pub(crate) use inspector::Inspector;
pub(crate) use observer::Observer;
pub(crate) use owner::Owner;
pub(crate) use server::{role, usual};
