//! What can happen to a lease: one name for each thing, in traces, in callbacks and in the documentation.

use crate::protocol::Loss;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::name::Token;
use std::time::Duration;
use tracing::{debug, info, warn};

/// Something that happened to a lease.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// `lease.waiting`: it was not granted. Said once a wait, and again where the store's words change.
    Waiting {
        /// What the store said.
        reason: String,
        /// Whether another holds it, which ends by itself; anything else may last until somebody mends it.
        held: bool,
    },
    /// `lease.acquired`: the store granted it.
    Acquired {
        /// The fencing token.
        token: Token,
        /// The holder, as the store has it.
        holder: String,
        /// Until when it is valid.
        valid_until: BootNanos,
    },
    /// `lease.renewal_sent`: a renewal is about to be sent.
    RenewalSent {
        /// The fencing token.
        token: Token,
        /// Its number within the grant, from 1.
        attempt: u64,
        /// The moment from which its validity would count.
        sent: BootNanos,
    },
    /// `lease.renewed`: a renewal is known to be applied, and valid still.
    Renewed {
        /// The fencing token.
        token: Token,
        /// Its number.
        attempt: u64,
        /// Until when the lease is valid now.
        valid_until: BootNanos,
        /// The store's own time with it, since 1970, where the store gives one.
        store_time: Option<Duration>,
    },
    /// `lease.renewal_failed`: it was refused, or is not known to be applied.
    RenewalFailed {
        /// The fencing token.
        token: Token,
        /// Its number.
        attempt: u64,
        /// What the store said.
        reason: String,
        /// Whether the store refused it definitely.
        refused: bool,
    },
    /// `lease.paused`: the thread that renews was late by so much. The process, or its machine, stood still.
    Paused {
        /// By how much.
        by: Duration,
    },
    /// `lease.lost`: nothing is permitted any more.
    Lost {
        /// The fencing token.
        token: Token,
        /// Why.
        loss: Loss,
        /// What the store said, where it did.
        reason: String,
    },
    /// `lease.released`: the store applied the release.
    Released {
        /// The fencing token.
        token: Token,
    },
    /// `lease.release_failed`: the release may not have been applied.
    ReleaseFailed {
        /// The fencing token.
        token: Token,
        /// What the store said.
        reason: String,
    },
}

impl Event {
    /// Its name. It never changes.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Waiting { .. } => "lease.waiting",
            Self::Acquired { .. } => "lease.acquired",
            Self::RenewalSent { .. } => "lease.renewal_sent",
            Self::Renewed { .. } => "lease.renewed",
            Self::RenewalFailed { .. } => "lease.renewal_failed",
            Self::Paused { .. } => "lease.paused",
            Self::Lost { .. } => "lease.lost",
            Self::Released { .. } => "lease.released",
            Self::ReleaseFailed { .. } => "lease.release_failed",
        }
    }

    /// Emits it through `tracing`; `key` is the lease's.
    pub(crate) fn trace(&self, key: &str) {
        match self {
            Self::Waiting { reason, .. } => info!(name: "lease.waiting", key, reason),
            Self::Acquired {
                token,
                holder,
                valid_until,
            } => {
                info!(name: "lease.acquired", key, token = token.0, holder, valid_until_boot_ns = valid_until.0);
            }
            Self::RenewalSent { token, attempt, sent } => {
                debug!(name: "lease.renewal_sent", key, token = token.0, attempt, boot_ns = sent.0);
            }
            Self::Renewed {
                token,
                attempt,
                valid_until,
                store_time,
            } => {
                let store_ms = store_time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
                let valid_until_boot_ns = valid_until.0;
                debug!(name: "lease.renewed", key, token = token.0, attempt, valid_until_boot_ns, store_ms);
            }
            Self::RenewalFailed {
                token,
                attempt,
                reason,
                refused,
            } => {
                warn!(name: "lease.renewal_failed", key, token = token.0, attempt, reason, refused);
            }
            Self::Paused { by } => {
                let by_ms = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
                warn!(name: "lease.paused", key, by_ms);
            }
            Self::Lost { token, loss, reason } => {
                warn!(name: "lease.lost", key, token = token.0, loss = loss.as_str(), reason);
            }
            Self::Released { token } => info!(name: "lease.released", key, token = token.0),
            Self::ReleaseFailed { token, reason } => {
                warn!(name: "lease.release_failed", key, token = token.0, reason);
            }
        }
    }
}
