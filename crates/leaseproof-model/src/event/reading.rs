//! The lease as the store shows it.

use crate::clock::BootNanos;
use crate::moment::Moment;
use crate::name::{HolderId, Token};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// One consistent reading of the lease from the store.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Reading {
    /// When the previous reading of this observer was asked, if that one showed another state: the
    /// change lies between that moment and this reading's `latest`.
    pub previous: Option<BootNanos>,
    /// Who holds the lease; `None` where the key is absent (or free).
    pub held: Option<Held>,
    /// The token counter's value, where the store has one apart from the holder.
    pub counter: Option<Token>,
    /// The server's clock in this reading, in nanoseconds of [`StoreFacts::clock`](crate::store::StoreFacts).
    pub server_ns: Option<i64>,
    /// The store's epoch: run id, term, role of the server that answered.
    pub epoch: Option<String>,
}

/// A lease as a reading shows it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Held {
    /// The holder.
    pub holder: HolderId,
    /// The fencing token, where the store keeps one with the lease.
    pub token: Option<Token>,
    /// When it will expire, on the lab's boot clock; `None`: it has no TTL (or `bound` is there).
    pub expires: Option<Moment>,
    /// Where the store does not show when the lease will expire: the TTL that it granted. `expires`
    /// is `None` then, and says nothing about a missing TTL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Duration>,
    /// The TTL that its grant or last renewal set, where the store says so beside the expiry: it is sharper than what is
    /// left of it when a reading first sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Duration>,
    /// Whether that moment has passed by the store's own clock in this very reading (SQLite keeps an
    /// expired row until the next grant).
    pub expired: bool,
    /// When it was granted, where the store shows it exactly.
    pub granted: Option<BootNanos>,
    /// When it was last renewed, where the store shows it exactly.
    pub renewed: Option<BootNanos>,
    /// Whether a write lock was obtained in this reading, so that no writer was in the middle of a
    /// transaction ([`ExpiryProof::WriteLockAfterExpiry`](crate::store::ExpiryProof)).
    pub write_lock: bool,
}
