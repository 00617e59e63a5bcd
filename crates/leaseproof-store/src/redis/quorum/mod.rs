//! Several independent servers, of which the majority counts (Redlock).
//!
//! A lease is held by whoever has a majority of the servers at one moment. Each server is asked by a
//! thread of its own (`crew`), so that a silent one delays nobody; one that does not answer is unknown,
//! and never absent.
//!
//! Redlock itself has no fencing token. Ours is the greatest of the servers' counters, written back to a
//! majority before the grant counts: the next majority shares a server with that one, so that its token is
//! greater. Until then the value ends in `#0`, which is nobody's vote.

mod administrator;
mod combine;
mod crew;
mod inspector;
mod observer;
mod owner;

pub(crate) use administrator::Administrator;
pub(crate) use inspector::Inspector;
pub(crate) use observer::{DRIFT, Observer, facts_of};
pub(crate) use owner::Owner;

/// How many of so many servers are a majority.
fn majority(servers: usize) -> usize {
    servers / 2 + 1
}
