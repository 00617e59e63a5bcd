//! The store's clock against ours, and its steps.

use leaseproof_model::clock::Stamp;
use leaseproof_model::moment::Moment;
use leaseproof_model::store::StoreClock;
use std::time::Duration;

/// Clocks that drift apart faster than this between two looks have stepped.
const STEP_NS: i128 = 20_000_000;

/// What is known about the store's clock.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub struct StoreTime {
    /// Server time less boot time, as an interval in nanoseconds.
    against_boot: Option<(i128, i128)>,
    /// Server time less this host's wall time, in seconds, and half of what is not known about it.
    pub offset: Option<(f64, f64)>,
    /// How often it was seen to step.
    pub steps: u32,
}

impl StoreTime {
    /// Takes in the server's time in a reading; whether it has stepped since the one before.
    pub fn saw(&mut self, at: Moment, server_ns: Option<i64>, clock: StoreClock, stamp: Stamp) -> bool {
        let Some(server_ns) = server_ns.map(i128::from) else {
            return false;
        };
        if clock == StoreClock::Boot {
            self.offset = Some((0.0, 0.0));
            return false;
        }
        let against_boot = (
            server_ns - i128::from(at.latest.0),
            server_ns - i128::from(at.earliest.0),
        );
        let stepped = self
            .against_boot
            .is_some_and(|(least, most)| against_boot.0 > most + STEP_NS || against_boot.1 + STEP_NS < least);
        self.against_boot = Some(against_boot);
        self.steps += u32::from(stepped);
        self.offset = (clock == StoreClock::ServerWall).then(|| {
            let wall_less_boot = i128::from(stamp.wall.0) - i128::from(stamp.boot.0);
            let middle = (against_boot.0 + against_boot.1) / 2 - wall_less_boot;
            (seconds(middle), seconds(against_boot.1 - against_boot.0) / 2.0)
        });
        stepped
    }
}

#[expect(clippy::cast_precision_loss, reason = "a clock is shown to the microsecond")]
fn seconds(nanos: i128) -> f64 {
    nanos as f64 / 1e9
}

/// How late something may be before it counts as a pause of our own.
#[must_use]
pub fn blind_from(interval: Duration) -> Duration {
    interval.max(Duration::from_millis(500))
}
