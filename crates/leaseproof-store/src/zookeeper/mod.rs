//! ZooKeeper: a lease is one ephemeral node, and lives as long as the session that created it.
//!
//! - The node lies at the key's path, below containers. Its data is `<holder>#<incarnation>#<ttl ms>`,
//!   its token the number of the transaction that created it (`czxid`): unique, and greater than that of
//!   every earlier one. `create` fails where there is a node already, so that nobody takes a held lease.
//! - **One session a grant**: the time-out that the server granted to the session is the TTL of the lease,
//!   and no other grant's requests extend it.
//! - A renewal is a look at the node on that session. The server touches a session with whatever it gets
//!   on it, so an answer proves that the lease was extended, and the answer itself proves whose it is.
//! - A release looks first, then ends the session: what ends with it is this grant and nothing else.
//!   Deleting the node instead could hit a successor's, since a deletion knows no czxid.
//! - An acquire whose outcome is unknown gives its session up for good. The node may have been made after
//!   all, and the next try on the same session would keep alive what nobody believes in.
//! - A session may end while nobody asks. On the next request the server says so, definitely: *gone*, or
//!   *not the holder* where another look finds one.
//!
//! **Why this speaks the protocol itself** and uses no client library: they all ping in the background, at
//! a third of the time-out. A session then lives on while the thread that holds the lease hangs, which is
//! a hidden renewer, the very fault that leaseproof looks for (LP014). Here a session is extended by what
//! its owner decides to send, and by nothing else. Libraries also hide whether a request can have reached
//! the server, and find out about an expiry by a clock of their own, some at 7/5 of the time-out. What is
//! needed of the protocol is small: length-prefixed records, nine kinds of requests.
//!
//! In an ensemble the leader ends sessions, and learns of touches from the server that got them twice a
//! tick. If that server dies in between, the lease may end by so much early. A new leader gives every
//! session its whole time-out again.

mod administrator;
mod allow;
mod code;
mod connections;
mod desk;
mod inspector;
mod jute;
mod link;
mod net;
mod node;
mod observer;
mod owner;
mod path;
mod queue;
mod request;
mod server;
mod session;
mod sessions;
mod shown;
mod tools;
mod welcome;

pub(crate) use administrator::Administrator;
pub(crate) use allow::ALLOWED;
pub(crate) use inspector::Inspector;
pub(crate) use observer::Observer;
pub(crate) use owner::Owner;
pub(crate) use server::{role, usual};
