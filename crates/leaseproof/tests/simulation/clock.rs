//! What a party's clock shows at an instant of true time.

use leaseproof::BootNanos;

const MILLION: u64 = 1_000_000;

/// A clock that runs at a rate of its own.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// What it shows at the beginning.
    pub offset: u64,
    /// By how many millionths it is fast; negative: slow.
    pub fast: i64,
}

impl Clock {
    pub fn read(self, instant: u64) -> BootNanos {
        BootNanos(self.offset + instant * self.rate() / MILLION)
    }

    /// The first instant at which it shows `reading`, or more.
    pub fn when(self, reading: BootNanos) -> u64 {
        let span = reading.0.saturating_sub(self.offset);
        let mut instant = span * MILLION / self.rate();
        while self.read(instant) < reading {
            instant += 1;
        }
        instant
    }

    fn rate(self) -> u64 {
        MILLION.saturating_add_signed(self.fast)
    }
}
