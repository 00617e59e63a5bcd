//! What owners say.

use crate::clock::BootNanos;
use crate::name::Token;
use serde::{Deserialize, Serialize};

/// What an owner says about itself.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Said {
    /// What.
    pub event: OwnerEvent,
    /// The token that it claims.
    pub token: Option<Token>,
    /// The moment that it claims for it, on CLOCK_BOOTTIME.
    pub boot: Option<BootNanos>,
    /// Its wall clock at that moment, as it reads it (a stepped clock is seen here).
    pub wall_ns: Option<i64>,
    /// Until when it believes to hold the lease, on CLOCK_BOOTTIME.
    pub valid_until: Option<BootNanos>,
    /// The thread.
    pub thread: Option<String>,
    /// The grant, as it names it.
    pub grant: Option<String>,
    /// Joins *sent* and *answered* of one attempt.
    pub attempt: Option<u64>,
    /// Its reason (`lock not held`, `not the holder`, `timeout` …).
    pub reason: Option<String>,
    /// For `renew_failed`: whether the refusal was definite (not the holder, absent) as far as it says.
    pub definite: Option<bool>,
}

/// The events of the owner contract.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnerEvent {
    /// It waits for the lease.
    Waiting,
    /// It acquired the lease.
    Acquired,
    /// It sends a renewal (optional; joins with `renewed` by the attempt).
    RenewSent,
    /// A renewal succeeded.
    Renewed,
    /// A renewal failed.
    RenewFailed,
    /// It no longer holds the lease.
    Lost,
    /// It released the lease.
    Released,
    /// It wrote to the protected resource.
    Write,
    /// It refused to write since it does not hold the lease.
    WriteRefused,
}
