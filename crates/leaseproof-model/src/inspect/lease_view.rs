//! What the readings of a span show of a lease.

use super::{Range, Shown};
use serde::{Deserialize, Serialize};

/// A lease, watched for a span.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LeaseView {
    /// How it was watched.
    pub watched: Watched,
    /// As the first reading shows it.
    pub at_first: LeaseNow,
    /// As the last reading shows it.
    pub at_last: LeaseNow,
    /// The TTL that was granted, or that renewals set; known between two bounds.
    pub granted_ttl: Shown<Range>,
    /// Whether renewals set different TTLs; the range above then spans them all.
    pub ttl_varies: bool,
    /// The renewals that were inferred, or why there can be none.
    pub renewals: Shown<Renewals>,
    /// What else happened, in order.
    pub happened: Vec<Happened>,
    /// The store's clock against this host's.
    pub clock: Shown<ClockView>,
}

/// How a lease was watched. "Nobody renewed it" holds only inside this.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Watched {
    /// For how long, in ms.
    pub span_ms: f64,
    /// Readings that came to something.
    pub readings: u64,
    /// Readings that failed.
    pub failed: u64,
    /// What the last failure said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The longest time between two readings, or between one and either end of the span, in ms.
    pub longest_hole_ms: f64,
    /// How old the last reading was when the span ended, in ms: what the store shows "now" is older by this.
    #[serde(default)]
    pub unseen_at_end_ms: f64,
    /// The middle reading's round trip, in ms.
    pub round_trip_ms: f64,
    /// The longest round trip, in ms.
    pub longest_round_trip_ms: f64,
    /// How late this process itself woke for a reading, at worst, in ms: what it can't see is then its
    /// own fault.
    pub own_lag_ms: f64,
    /// Whether it ended before its time.
    pub cut: bool,
}

/// A lease at one reading.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LeaseNow {
    /// Whether anybody holds it.
    pub held: bool,
    /// The holder, secrets as a hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// The fencing token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<u64>,
    /// The token counter, where the store has one apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter: Option<u64>,
    /// What is left of the TTL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Range>,
    /// What the store shows as the TTL, and what that means, in words.
    pub ttl_words: String,
    /// The store's epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<String>,
}

/// The renewals of a span. Each is by *someone*: the store does not say by whom.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Renewals {
    /// Those inside the span, in order, at most 10,000.
    pub seen: Vec<Renewal>,
    /// The one before the span, by the expiry that it left, where the TTL is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_ms_ago: Option<Range>,
    /// The middle gap between two renewals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cadence: Option<Range>,
    /// The gap that was certainly the worst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_gap: Option<Gap>,
    /// How long another may have been at the most, in ms, where what is not known of it leaves room for more than that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perhaps_gap_ms: Option<f64>,
}

/// A renewal: the expiry jumped forward within one epoch of the store, on a steady clock, for one holder.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Renewal {
    /// From the first reading, in ms: the middle of what is known.
    pub at_ms: f64,
    /// Half of what is not known about it.
    pub plus_minus_ms: f64,
    /// The same moment in ms of this host's wall clock since 1970.
    pub unix_ms: f64,
    /// What was left of the TTL just before.
    pub left_before: Option<Range>,
}

/// A gap between two renewals.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Gap {
    /// Its length. Without an upper bound it was still open at the last reading.
    pub length: Range,
    /// Where it began, in ms from the first reading (negative: before it).
    pub from_ms: f64,
    /// What was left of the TTL at its end.
    pub left_at_end: Option<Range>,
}

/// Something else that happened to the lease.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Happened {
    /// In ms from the first reading: not before, not after.
    pub between_ms: (f64, f64),
    /// What.
    pub what: Change,
    /// In words.
    pub says: String,
}

/// What can happen to a lease beside a renewal.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Another grant holds it.
    Taken,
    /// It is free, and its TTL had run out.
    Expired,
    /// It is free, surely before its TTL had run out: released, deleted, evicted or lost.
    EndedEarly,
    /// It is free, and the store does not show whether its TTL (that of its session) ran out or it was given back.
    Ended,
    /// It was free and is held.
    Granted,
    /// The TTL was shortened.
    Shortened,
    /// The expiry was taken off.
    ExpiryRemoved,
    /// Another process of the store answers, or in another role.
    EpochChanged,
    /// The store's clock stepped against this host's.
    ClockStepped,
    /// The store did not answer.
    Silent,
    /// It answered, and refused to show the lease to this user.
    Refused,
}

impl Change {
    /// Whether nobody holds the lease from here on.
    #[must_use]
    pub fn is_end(self) -> bool {
        matches!(self, Self::Expired | Self::EndedEarly | Self::Ended)
    }

    /// Whether another grant holds it from here on.
    #[must_use]
    pub fn is_begin(self) -> bool {
        matches!(self, Self::Taken | Self::Granted)
    }
}

/// The store's clock against this host's wall clock.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ClockView {
    /// The store's clock is ahead by this, in ms (negative: behind).
    pub ahead_ms: f64,
    /// Half of what is not known about it, in ms.
    pub plus_minus_ms: f64,
    /// In words.
    pub says: String,
}
