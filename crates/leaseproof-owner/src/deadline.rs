//! Until when a grant is believed.

use leaseproof_model::clock::BootNanos;
use leaseproof_proc::clock::boot_now;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The wall clock, through libc: a preloaded clock shim is seen here.
#[must_use]
pub fn wall_now_ns() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |ns| -ns),
    }
}

/// Until when a grant is believed. A sound owner uses CLOCK_BOOTTIME alone: it neither steps nor
/// stands still while the machine sleeps.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Deadline {
    /// Until this moment of CLOCK_BOOTTIME.
    Boot(BootNanos),
    /// Until this moment of the wall clock (a flaw).
    Wall(i64),
    /// For ever (a flaw).
    Forever,
}

impl Deadline {
    /// What is left of it now.
    #[must_use]
    pub fn left(self) -> Duration {
        match self {
            Self::Boot(until) => until.since(boot_now()),
            Self::Wall(until) => Duration::from_nanos(u64::try_from(until.saturating_sub(wall_now_ns())).unwrap_or(0)),
            Self::Forever => Duration::MAX,
        }
    }

    /// Whether it has passed.
    #[must_use]
    pub fn is_over(self) -> bool {
        self.left().is_zero()
    }

    /// The moment on CLOCK_BOOTTIME, if that is what it is.
    #[must_use]
    pub fn boot(self) -> Option<BootNanos> {
        match self {
            Self::Boot(until) => Some(until),
            Self::Wall(_) | Self::Forever => None,
        }
    }
}
