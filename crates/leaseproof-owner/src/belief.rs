//! What the holder believes, and how long: the arithmetic of validity.

use crate::deadline::{Deadline, wall_now_ns};
use crate::flaw::Flaw;
use crate::settings::Settings;
use leaseproof_model::clock::BootNanos;
use leaseproof_proc::clock::boot_now;
use leaseproof_store::Grant;
use std::time::Duration;

/// A lease that is believed to be held.
#[derive(Clone, Debug)]
pub struct Belief {
    /// The grant, as the store gave it.
    pub grant: Grant,
    /// When it was asked for.
    pub asked: BootNanos,
    /// Until when it is believed.
    pub until: Deadline,
    /// When it is to be renewed.
    pub due: Deadline,
    /// The store never gave it (a flaw).
    pub ghost: bool,
}

/// Both clocks before a request was sent: everything is counted from here, never from the answer.
#[derive(Copy, Clone, Debug)]
pub struct Sent {
    /// CLOCK_BOOTTIME.
    pub boot: BootNanos,
    /// The wall clock, in nanoseconds since 1970.
    pub wall: i64,
}

impl Sent {
    /// Now.
    #[must_use]
    pub fn now() -> Self {
        Self {
            boot: boot_now(),
            wall: wall_now_ns(),
        }
    }

    /// Until when a grant is believed that was asked for, or extended, by this request.
    #[must_use]
    pub fn until(self, settings: &Settings) -> Deadline {
        let Settings { ttl, drift, .. } = settings;
        match settings.flaw {
            Some(Flaw::SilentRetain | Flaw::NoDeadline | Flaw::NoTtl) => Deadline::Forever,
            Some(Flaw::LateNotice) => Deadline::Boot(self.boot.plus(*ttl * 2)),
            _ => self.after(settings, ttl.saturating_sub(*drift)),
        }
    }

    /// When the next renewal is due.
    #[must_use]
    pub fn due(self, settings: &Settings) -> Deadline {
        self.after(settings, settings.heartbeat)
    }

    /// The moment `span` later, on the clock that this owner goes by.
    #[must_use]
    pub fn after(self, settings: &Settings, span: Duration) -> Deadline {
        if settings.has(Flaw::WallClock) {
            let span = i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
            Deadline::Wall(self.wall.saturating_add(span))
        } else {
            Deadline::Boot(self.boot.plus(span))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn validity_is_counted_from_the_request_by_the_right_clock() {
        let sent = Sent {
            boot: BootNanos(1_000_000),
            wall: 7_000_000,
        };
        for (flaw, until) in [
            (None, Deadline::Boot(BootNanos(1_000_000 + 2_950_000_000))),
            (
                Some(Flaw::LateNotice),
                Deadline::Boot(BootNanos(1_000_000 + 6_000_000_000)),
            ),
            (Some(Flaw::WallClock), Deadline::Wall(7_000_000 + 2_950_000_000)),
            (Some(Flaw::NoDeadline), Deadline::Forever),
            // Its deadline is right; the worker does not heed it.
            (
                Some(Flaw::OrphanWorker),
                Deadline::Boot(BootNanos(1_000_000 + 2_950_000_000)),
            ),
        ] {
            let settings = Settings {
                flaw,
                ..Settings::example()
            };
            assert_eq!(sent.until(&settings), until, "{flaw:?}");
        }
    }
}
