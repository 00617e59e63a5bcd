//! Two believers: the owner acted after its lease was due and after a successor's grant had begun.

use super::{Facts, evidence, of};
use crate::words::ms;
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::rule::LP001;

pub(super) fn judge(facts: &Facts<'_, '_>) -> Vec<Finding> {
    let timeline = facts.timeline;
    let mut found = Vec::new();
    for run in &facts.late {
        let Some((next, act, certainty)) = run.successor(timeline) else {
            continue;
        };
        let owner = &timeline.owners[run.owner];
        let successor = &timeline.grants[next];
        let after: Vec<_> = run
            .acts(timeline)
            .filter(|act| run.is_beside(timeline, next, act))
            .map(|act| act.event.id)
            .collect();
        let says = format!(
            "{} acted {} times as the holder after {} had begun, the first time {} after that began: both believed to hold the lease",
            owner.name,
            after.len(),
            timeline.label(successor),
            ms(act.at.earliest.since(successor.begin.latest)),
        );
        let mut ids = run.evidence(timeline);
        ids.push(successor.first.id);
        ids.extend(after.iter().take(3));
        found.push(of(
            owner,
            Finding::new(&LP001, Subject::Owner, certainty, run.cycle, says, evidence(ids)),
        ));
    }
    found
}
