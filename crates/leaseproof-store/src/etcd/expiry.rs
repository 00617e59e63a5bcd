//! What whole seconds, looked at again and again, say of the moment at which a lease expires.
//!
//! The server shows the remaining TTL cut towards zero: a shown 4 is at least 4 s and less than 5 s.
//! One look places the expiry to a second. Two looks around the moment at which the shown second
//! changes place it to the time between them, as long as nothing renewed it in between. That can be
//! told: a renewal sets the expiry to its own moment plus the granted TTL, never to anything else, so
//! a look that shows less than any renewal since the last look would have left proves that there was
//! none, and one that shows more than was left proves that there was one, and brackets it.
//!
//! What stays open is the first second after a renewal, in which another would show the same number.

use leaseproof_model::clock::BootNanos;
use leaseproof_model::moment::Moment;
use std::time::Duration;

const SECOND: i128 = 1_000_000_000;

/// How far the server's steady clock and ours may run apart, in parts of a million: both may be slewed
/// by NTP, by 500 at most each, and one host's are one clock.
const DRIFT: i128 = 500;

/// One look at the remaining TTL of a lease.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Look {
    /// From before the question to after the answer.
    pub(super) at: Moment,
    /// The remaining TTL as the server shows it, in seconds. It can be negative: the lease is over
    /// and not yet revoked.
    pub(super) left: i64,
    /// The granted TTL, in seconds.
    pub(super) granted: i64,
}

impl Look {
    /// The expiry by this look alone.
    fn expiry(&self) -> Moment {
        let left = i128::from(self.left);
        let (least, most) = match self.left {
            0 => (-1, 1),
            1.. => (left, left + 1),
            _ => (left - 1, left),
        };
        span(self.at.earliest, least, self.at.latest, most)
    }
}

/// From `earliest` plus `least` seconds of the server's clock to `latest` plus `most`.
fn span(earliest: BootNanos, least: i128, latest: BootNanos, most: i128) -> Moment {
    let drift = |seconds: i128| seconds.abs() * SECOND / 1_000_000 * DRIFT;
    let at = |from: BootNanos, nanos: i128| {
        // A sum beyond the clock's range is as good as its end.
        BootNanos(u64::try_from((i128::from(from.0) + nanos).max(0)).unwrap_or(u64::MAX))
    };
    Moment {
        earliest: at(earliest, least * SECOND - drift(least)),
        latest: at(latest, most * SECOND + drift(most)),
    }
}

/// What two statements that both hold leave; the second alone where they contradict each other.
fn both(a: Moment, b: Moment) -> Moment {
    let both = Moment {
        earliest: a.earliest.max(b.earliest),
        latest: a.latest.min(b.latest),
    };
    if both.earliest <= both.latest { both } else { b }
}

/// What is known of one lease's expiry, within one epoch of the store.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Known {
    /// When it expires.
    pub(super) expiry: Moment,
    /// How often the expiry was seen to move.
    pub(super) moves: u64,
    last: Look,
}

impl Known {
    /// By the first look.
    pub(super) fn first(look: Look) -> Self {
        Self {
            expiry: look.expiry(),
            moves: 0,
            last: look,
        }
    }

    /// The TTL that the server granted; none for a lease that is over.
    pub(super) fn granted(&self) -> Option<Duration> {
        let seconds = u64::try_from(self.last.granted).ok().filter(|seconds| *seconds > 0);
        seconds.map(Duration::from_secs)
    }

    /// When it was looked at last.
    pub(super) fn looked(&self) -> Moment {
        self.last.at
    }

    /// Whether it is time for another look: a tenth of the TTL has passed since the last one, or a third of
    /// what was left then.
    pub(super) fn is_due(&self, now: BootNanos) -> bool {
        let granted = self.granted().unwrap_or_default();
        let left = self.expiry.earliest.since(self.last.at.latest);
        now.since(self.last.at.earliest) >= (granted / 10).min(left / 3)
    }

    /// By one look more.
    pub(super) fn then(self, look: Look) -> Self {
        let alone = look.expiry();
        let granted = i128::from(look.granted);
        // What a renewal between the two looks would have made of it.
        let renewed = span(self.last.at.earliest, granted, look.at.latest, granted);
        let more = look.left > self.last.left || alone.earliest > self.expiry.latest;
        // Less than was left, by more than the time that passed: no renewal does that, but for the first
        // after a change of leader, which had put the expiry further off than a full TTL.
        let less = alone.latest < self.expiry.earliest;
        let (expiry, moved) = if more || less {
            (both(renewed, alone), true)
        } else if alone.latest < renewed.earliest {
            (both(self.expiry, alone), false)
        } else {
            // It may have been renewed, or not.
            let either = Moment {
                earliest: self.expiry.earliest.min(renewed.earliest),
                latest: self.expiry.latest.max(renewed.latest),
            };
            (both(either, alone), false)
        };
        Self {
            expiry,
            moves: self.moves + u64::from(moved),
            last: look,
        }
    }
}

#[cfg(test)]
#[path = "expiry_tests.rs"]
mod tests;
