//! Renewals that hide in whole seconds, told by what the readings add up to.
//!
//! Where a store shows what is left of a TTL in whole seconds, the expiry of one reading may be that of the reading
//! before, and of the next, though the lease was renewed between all of them. But all readings since the last renewal
//! show *one* expiry: once the newest shows a later one than some earlier reading left room for, there was a renewal
//! after that reading.

use leaseproof_model::clock::BootNanos;
use leaseproof_model::moment::Moment;
use std::time::Duration;

/// An expiry that is known less closely than this may have moved unseen.
const COARSE: Duration = Duration::from_millis(100);

/// Servers round, and round trips differ.
const STILL: Duration = Duration::from_millis(5);

/// The latest expiry that the readings since the last renewal have room for. Compact: each lease has one.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Hidden {
    latest: BootNanos,
    /// The reading that leaves no more room was not before this.
    seen: BootNanos,
}

/// Whether renewals may hide in an expiry that is known like this.
pub(super) fn is_coarse(expires: Moment) -> bool {
    expires.uncertainty() > COARSE
}

impl Hidden {
    /// By the first reading of an expiry, within `looked`.
    pub(super) fn begin(expires: Moment, looked: Moment) -> Self {
        Self {
            latest: expires.latest,
            seen: looked.earliest,
        }
    }

    /// By one more, which may be of the same expiry.
    pub(super) fn and(self, expires: Moment, looked: Moment) -> Self {
        match expires.latest < self.latest {
            true => Self::begin(expires, looked),
            false => self,
        }
    }

    /// When it was renewed, where `expires` can't be the same expiry.
    pub(super) fn renewal(self, expires: Moment, looked: Moment) -> Option<Moment> {
        // Two clocks that are both slewed move apart by a thousandth at the most.
        let drift = looked.latest.since(self.seen) / 1000;
        let moved = expires.earliest > self.latest.plus(STILL + drift);
        moved.then(|| Moment::between(self.seen, looked.latest))
    }
}
