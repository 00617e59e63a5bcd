//! The TTL of the grant in force, as one renewal after the other bounds it.
//!
//! A renewal lies between two readings, and the expiry that it left is known: so is the TTL that it set, but for the time
//! between the two. The next one lies elsewhere between its readings. What all of them leave room for gets narrow.

use leaseproof_model::inspect::Range;
use leaseproof_model::moment::Moment;
use std::time::Duration;

/// Whole milliseconds of a store, and the microsecond to which it cuts its clock.
const ROUNDING: Duration = Duration::from_millis(1);

/// What is known of the TTL in force. Compact: each lease has one.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Granted {
    least: Duration,
    most: Option<Duration>,
}

impl Granted {
    /// The store shows it.
    pub(super) fn exactly(ttl: Duration) -> Self {
        Self {
            least: ttl,
            most: Some(ttl),
        }
    }

    /// By an expiry that a renewal or an acquisition within `since` left.
    pub(super) fn by(expires: Moment, since: Moment) -> Self {
        Self {
            least: expires.earliest.since(since.latest),
            most: Some(expires.latest.since(since.earliest)),
        }
    }

    /// By what is left of it at the first look: it may have been renewed at any time before.
    pub(super) fn by_rest(expires: Moment, looked: Moment) -> Self {
        Self {
            least: expires.earliest.since(looked.latest),
            most: None,
        }
    }

    /// With what the newest renewal shows: the part that both leave room for; none is left where it set another TTL.
    pub(super) fn and(self, newest: Self) -> Self {
        let least = self.least.max(newest.least);
        let most = self.most.into_iter().chain(newest.most).min();
        if most.is_some_and(|most| least > most + ROUNDING) {
            return newest;
        }
        Self {
            least: most.map_or(least, |most| least.min(most)),
            most,
        }
    }

    /// As a range; none while nothing is known.
    #[must_use]
    pub fn range(self) -> Option<Range> {
        match self.most {
            Some(most) => Some(Range::between(self.least, most)),
            None if self.least.is_zero() => None,
            None => Some(Range::at_least(self.least)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leaseproof_model::clock::BootNanos;

    fn at(from: u64, to: u64) -> Moment {
        Moment::between(BootNanos(from * 1_000_000), BootNanos(to * 1_000_000))
    }

    #[test]
    fn renewals_leave_room_for_less_and_less() {
        assert_eq!(Granted::default().range(), None);
        let first = Granted::by_rest(at(2_000, 2_001), at(900, 901));
        assert_eq!(first.range(), Some(Range::at_least(Duration::from_millis(1099))));
        // Within a second, and then within another part of one.
        let known = first
            .and(Granted::by(at(4_000, 4_001), at(900, 1_900)))
            .and(Granted::by(at(5_100, 5_101), at(1_900, 2_150)));
        let (least, most) = (Duration::from_millis(2950), Duration::from_millis(3101));
        assert_eq!(known.range(), Some(Range::between(least, most)));
        // Another TTL: what was known is over.
        let other = Granted::by(at(13_000, 13_001), at(2_900, 3_150));
        assert_eq!(known.and(other), other);
    }
}
