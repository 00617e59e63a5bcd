//! Readings of this host's clocks.

use leaseproof_model::clock::{BootNanos, MonoNanos, Stamp, WallNanos};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::time::Duration;

fn nanos(t: Timespec) -> i64 {
    t.tv_sec.saturating_mul(1_000_000_000).saturating_add(t.tv_nsec)
}

/// CLOCK_BOOTTIME now: the reference clock of everything live.
#[must_use]
pub fn boot_now() -> BootNanos {
    BootNanos(u64::try_from(nanos(clock_gettime(ClockId::Boottime))).unwrap_or(0))
}

/// The three clocks, boot first.
#[must_use]
pub fn stamp_now() -> Stamp {
    Stamp {
        boot: boot_now(),
        mono: MonoNanos(u64::try_from(nanos(clock_gettime(ClockId::Monotonic))).unwrap_or(0)),
        wall: WallNanos(nanos(clock_gettime(ClockId::Realtime))),
    }
}

/// Sleeps until `at` on CLOCK_BOOTTIME (in slices, so that a suspension in between is noticed).
pub fn sleep_until(at: BootNanos) {
    loop {
        let left = at.since(boot_now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(Duration::from_millis(100)));
    }
}
