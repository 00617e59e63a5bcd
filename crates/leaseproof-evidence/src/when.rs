//! When a line says that something was: an interval on a named clock.

use leaseproof_model::truth::Truth;
use serde::Serialize;
use std::time::Duration;

/// The clock that a stamp was read from. Two domains are compared only through an anchor.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Domain {
    /// CLOCK_REALTIME of a host: nanoseconds since 1970, UTC. It steps.
    Wall,
    /// CLOCK_MONOTONIC of a host: nanoseconds since its boot, suspension left out.
    Mono,
    /// CLOCK_BOOTTIME of a host: nanoseconds since its boot, suspension included.
    Boot,
    /// The kernel log's own clock: close to `Mono`, and drifts from it a little.
    Printk,
    /// Nanoseconds since a process (or its isolate, or its trace) began.
    Proc,
    /// The store's clock: a deadline that the store keeps, never the owner's time.
    Store,
    /// An order without time: a revision, a term, a zxid, an index.
    Index,
}

/// From `earliest` to `latest`, both ends included, in nanoseconds (in numbers, for [`Domain::Index`]).
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct Interval {
    /// Not before this.
    pub earliest: i64,
    /// Not after this.
    pub latest: i64,
}

impl Interval {
    /// A moment that is known exactly.
    #[must_use]
    pub fn exact(at: i64) -> Self {
        Self {
            earliest: at,
            latest: at,
        }
    }

    /// A stamp that was cut to whole units: the moment lies in the unit that begins with it.
    #[must_use]
    pub fn cut(at: i64, resolution: Duration) -> Self {
        Self {
            earliest: at,
            latest: at.saturating_add(nanos(resolution).saturating_sub(1).max(0)),
        }
    }

    /// Both moments moved by `by` nanoseconds.
    #[must_use]
    pub fn shifted(self, by: i64) -> Self {
        Self {
            earliest: self.earliest.saturating_add(by),
            latest: self.latest.saturating_add(by),
        }
    }

    /// Wider by `by` on either side.
    #[must_use]
    pub fn widened(self, by: Duration) -> Self {
        Self {
            earliest: self.earliest.saturating_sub(nanos(by)),
            latest: self.latest.saturating_add(nanos(by)),
        }
    }

    /// How much is not known about it.
    #[must_use]
    pub fn uncertainty(self) -> Duration {
        Duration::from_nanos(self.latest.saturating_sub(self.earliest).max(0).unsigned_abs())
    }

    /// The middle of it: for drawing, never for judging.
    #[must_use]
    pub fn middle(self) -> i64 {
        self.earliest
            .saturating_add(self.latest.saturating_sub(self.earliest) / 2)
    }

    /// The least interval that holds both.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        Self {
            earliest: self.earliest.min(other.earliest),
            latest: self.latest.max(other.latest),
        }
    }

    /// Whether this was before `other`, strictly. Intervals that meet have no order.
    #[must_use]
    pub fn before(self, other: Self) -> Truth {
        if self.latest < other.earliest {
            Truth::Yes
        } else if other.latest < self.earliest {
            Truth::No
        } else {
            Truth::CannotTell
        }
    }
}

/// A span in signed nanoseconds, at most the end of the range.
#[must_use]
pub fn nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

/// A stamp as it was written.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
pub struct When {
    /// The clock that it was read from.
    pub domain: Domain,
    /// The moment, with what the writing cut off. A missing zone or year was filled in as the file's
    /// [`Clock`](crate::clock::FileClock) says.
    pub span: Interval,
    /// The unit of its last digit.
    #[serde(serialize_with = "ns")]
    pub resolution: Duration,
}

/// What a stamp means for the thing that its line tells of.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StampMeans {
    /// It began then.
    Start,
    /// It was over then; a duration in the line counts backwards from it.
    End,
    /// The line was written then, about something that had just happened.
    Emitted,
    /// Somebody looked then; it may have been so for long.
    Observed,
}

fn ns<S: serde::Serializer>(span: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}
