//! Consul: a lease is a key that is locked by a session, and lives as long as the session.
//!
//! - The key's value is `<holder>#<incarnation>#<ttl ms>`. It is held while it has a session; a key that
//!   was given up stays, without one.
//! - **One session a grant**, with the behaviour `release` and no health checks: its TTL ends it, and
//!   nothing else. (With the default checks it also ends when the agent's node fails, before its TTL.)
//! - The token is the key's `ModifyIndex` when it was locked: the number of that change in the cluster's
//!   log, and nothing writes a key that is held but its holder. `LockIndex`, which Consul's documents
//!   name for it, counts the locks of one key and begins anew at 1 when the key was deleted: a token would
//!   go back. The log's numbers rise across release, expiry, deletion and theft (a restored snapshot may
//!   lower them).
//! - Acquiring is a look, a session, and a transaction with one `lock`. An acquire whose outcome is unknown
//!   gives its session up for good.
//! - A renewal extends the session, *then* looks whether the key is still the session's: a session outlives
//!   a key that was taken from it.
//! - A release is one `unlock`, refused where the key is not that session's, so that no successor can be
//!   hit, and no lock-delay follows. Then the session is ended.
//! - A theft is one transaction, `delete` and `lock`: no lock-delay follows there either.
//!
//! The leader lets twice the TTL pass before it ends a session, and then refuses the key to everybody for
//! the session's lock-delay, 15 s by default (`?lock_delay=`). With the least TTL of 10 s a takeover comes
//! 20 to 35 s after the last renewal. Nothing shows when a session was renewed.

mod administrator;
mod allow;
mod api;
mod entry;
mod go_duration;
mod inspector;
mod keys;
mod observer;
mod owner;
mod server;
mod session;
mod shown;
mod tools;
mod txn;

pub(crate) use administrator::Administrator;
pub(crate) use allow::ALLOWED;
pub(crate) use inspector::Inspector;
pub(crate) use observer::Observer;
pub(crate) use owner::Owner;
pub(crate) use server::{role, usual};
