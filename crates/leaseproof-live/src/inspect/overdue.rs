//! Whether renewals were overdue before the store fell silent: only those that were due while it did not answer may be
//! laid to it. Moments are compared, not lengths.

use super::sample::Sample;
use super::side::Evidence;
use crate::in_force::TOLERANCE;
use leaseproof_model::inspect::lease_view::{Change, LeaseView};
use leaseproof_model::inspect::ms;

/// So many renewals in a row that were due and did not come are the owner's, whatever the store did then.
const MISSED: f64 = 2.0;

/// An expiry that is known less closely than this may hide a renewal.
const SHARP_MS: f64 = 100.0;

/// For how many ms at least the lease had not been renewed at `when_ms`, where two renewals or more were overdue by then.
pub(super) fn overdue(seen: &Evidence<'_>, when_ms: f64) -> Option<f64> {
    let lease = seen.lease?;
    let heartbeat = match seen.budget {
        Some(budget) => ms(budget.heartbeat),
        None => lease.renewals.get()?.cadence?.at_most_ms?,
    };
    let age = unrenewed(lease, when_ms)?;
    (age >= MISSED * heartbeat + ms(TOLERANCE)).then_some(age)
}

/// For how many ms at least it had not been renewed by then.
fn unrenewed(lease: &LeaseView, when_ms: f64) -> Option<f64> {
    let renewals = lease.renewals.get()?;
    let before = lease.happened.iter().filter(|it| it.between_ms.0 < when_ms);
    // One that shortens the TTL does not show as one.
    if before.clone().any(|it| it.what == Change::Shortened) {
        return None;
    }
    let sharp =
        |it: &leaseproof_model::inspect::Range| it.at_most_ms.is_some_and(|most| most - it.at_least_ms < SHARP_MS);
    if !lease.at_first.left.iter().chain(&lease.at_last.left).all(sharp) {
        // Of whole seconds only the gap is known that was still open when the lease ran out.
        let ran_out = lease.happened.iter().rfind(|it| it.what == Change::Expired)?;
        let gap = renewals
            .worst_gap
            .as_ref()
            .filter(|gap| gap.length.at_most_ms.is_none())?;
        return (ran_out.between_ms.0 <= when_ms).then_some(gap.length.at_least_ms);
    }
    let placed = renewals.seen.iter().filter(|it| it.at_ms - it.plus_minus_ms < when_ms);
    let renewed = placed.map(|it| it.at_ms + it.plus_minus_ms);
    // A grant is as good as a renewal, and across a step or a restart none is inferred.
    let other = before
        .filter(|it| it.what.is_begin() || matches!(it.what, Change::EpochChanged | Change::ClockStepped))
        .map(|it| it.between_ms.1);
    // Before the first reading; where that is not known it may have been right before.
    let first = renewals.before_ms_ago.map_or(0.0, |ago| -ago.at_least_ms);
    let last = renewed.chain(other).fold(first, f64::max);
    Some(when_ms - last).filter(|age| *age > 0.0)
}

/// From when to when the slowest answer was waited for, in ms from the first reading.
pub fn slowest(samples: &[Sample]) -> Option<(f64, f64)> {
    let origin = samples.first()?.at.earliest;
    let answered = samples.iter().filter(|it| it.reading().is_some());
    let at = answered.max_by_key(|it| it.waited.uncertainty())?.waited;
    Some((ms(at.earliest.since(origin)), ms(at.latest.since(origin))))
}
