//! A clock stepped that the lab did not step: the store's, or the wall clock of this host.

use super::{Facts, evidence};
use crate::timeline::clock_stepped;
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::rule::LP018;
use leaseproof_model::truth::Truth;
use std::time::Duration;

/// A wall clock that is slewed moves less than this between two events.
const STEP: Duration = Duration::from_millis(50);

pub(super) fn judge(facts: &Facts<'_, '_>) -> Vec<Finding> {
    let timeline = facts.timeline;
    let mut found = Vec::new();
    if let Some(pair) = timeline
        .readings
        .windows(2)
        .find(|pair| clock_stepped(pair[0], pair[1]))
    {
        let says = "the store's clock stepped against this host's between two readings".to_owned();
        let ids = evidence([pair[0].0.id, pair[1].0.id]);
        found.push(Finding::new(
            &LP018,
            Subject::Store,
            Truth::Yes,
            pair[1].0.cycle,
            says,
            ids,
        ));
    }
    let bound = i128::try_from(STEP.max(timeline.ask.budget.max_clock_drift).as_nanos()).unwrap_or(i128::MAX);
    let mut before: Option<i128> = None;
    for event in &timeline.history.events {
        let Some(stamp) = event.stamp else { continue };
        let offset = i128::from(stamp.wall.0) - i128::from(stamp.boot.0);
        if before.is_some_and(|before| (offset - before).abs() > bound) {
            let says = "the wall clock of this host stepped during the run".to_owned();
            found.push(Finding::new(
                &LP018,
                Subject::Rig,
                Truth::Yes,
                event.cycle,
                says,
                vec![event.id],
            ));
            break;
        }
        before = Some(offset);
    }
    found
}
