//! A moment is a closed interval on the reference clock, never a bare number.

use crate::clock::BootNanos;
use crate::truth::Truth;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// When something happened: not before `earliest`, not after `latest`.
///
/// Both ends belong to the interval. With half-open ends two events stamped by the same clock tick
/// would be ordered by nothing but our choice of bracket: a write that arrives in the very
/// nanosecond in which the grant ends could be called late or in time, and "violated" must not hang
/// on that. So equal ends overlap, and overlapping moments have no order.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
pub struct Moment {
    /// It did not happen before this.
    pub earliest: BootNanos,
    /// It had happened by this.
    pub latest: BootNanos,
}

impl Moment {
    /// A moment known to the nanosecond.
    #[must_use]
    pub fn exact(at: BootNanos) -> Self {
        Self {
            earliest: at,
            latest: at,
        }
    }

    /// A moment between two readings, in either order.
    #[must_use]
    pub fn between(a: BootNanos, b: BootNanos) -> Self {
        Self {
            earliest: a.min(b),
            latest: a.max(b),
        }
    }

    /// How much is not known about it.
    #[must_use]
    pub fn uncertainty(self) -> Duration {
        self.latest.since(self.earliest)
    }

    /// Whether this happened before `other`, strictly.
    #[must_use]
    pub fn before(self, other: Self) -> Truth {
        if self.latest < other.earliest {
            Truth::Yes
        } else if other.latest <= self.earliest {
            Truth::No
        } else {
            Truth::CannotTell
        }
    }

    /// Whether this happened after `other`, strictly.
    #[must_use]
    pub fn after(self, other: Self) -> Truth {
        other.before(self)
    }

    /// The same moment, `span` later.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self {
            earliest: self.earliest.plus(span),
            latest: self.latest.plus(span),
        }
    }

    /// The earlier of two moments.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self {
            earliest: self.earliest.min(other.earliest),
            latest: self.latest.min(other.latest),
        }
    }

    /// The later of two moments.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            earliest: self.earliest.max(other.earliest),
            latest: self.latest.max(other.latest),
        }
    }
}
