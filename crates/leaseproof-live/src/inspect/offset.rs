//! The store's clock against this host's.

use super::sample::Sample;
use leaseproof_model::inspect::Shown;
use leaseproof_model::inspect::lease_view::ClockView;
use leaseproof_model::store::{StoreClock, StoreFacts};

/// How far the store's clock is ahead, by the reading with the shortest round trip.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "ns between two clocks, shown in ms")]
pub fn offset(samples: &[Sample], facts: &StoreFacts) -> Shown<ClockView> {
    match facts.clock {
        StoreClock::Boot => {
            return Shown::Is(ClockView {
                ahead_ms: 0.0,
                plus_minus_ms: 0.0,
                says: "the store's clock is this host's own (CLOCK_BOOTTIME)".to_owned(),
            });
        }
        StoreClock::ServerSteady => return Shown::NotByThisStore,
        StoreClock::ServerWall => {}
    }
    let best = samples
        .iter()
        .filter(|sample| sample.reading().is_some_and(|it| it.server_ns.is_some()))
        .min_by_key(|sample| sample.at.uncertainty());
    let Some((sample, server)) = best.and_then(|it| Some((it, it.reading()?.server_ns?))) else {
        return Shown::Withheld("no reading shows it".to_owned());
    };
    let wall = |boot: u64| i128::from(sample.stamp.wall.0) - i128::from(sample.stamp.boot.0) + i128::from(boot);
    let least = i128::from(server) - wall(sample.at.latest.0);
    // A server cuts its clock to the microsecond.
    let most = i128::from(server) + 1000 - wall(sample.at.earliest.0);
    let ahead_ms = (least + most) as f64 / 2e6;
    let plus_minus_ms = (most - least) as f64 / 2e6;
    let says = if ahead_ms.abs() <= plus_minus_ms {
        "the store's wall clock and this host's agree, as far as a round trip shows".to_owned()
    } else {
        format!(
            "the store's wall clock is {:.1} ms {} this host's",
            ahead_ms.abs(),
            if ahead_ms > 0.0 { "ahead of" } else { "behind" }
        )
    };
    Shown::Is(ClockView {
        ahead_ms,
        plus_minus_ms,
        says,
    })
}
