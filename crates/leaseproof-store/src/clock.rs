//! The clock of every deadline and reading here.

use leaseproof_model::clock::BootNanos;
use rustix::time::{ClockId, clock_gettime};

/// CLOCK_BOOTTIME now.
pub(crate) fn boot_now() -> BootNanos {
    let now = clock_gettime(ClockId::Boottime);
    let nanos = now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec);
    BootNanos(u64::try_from(nanos).unwrap_or(0))
}
