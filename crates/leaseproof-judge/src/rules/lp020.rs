//! What evidence is missing, and how to get it.

use super::{Facts, of};
use leaseproof_model::event::Source;
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::rule::LP020;
use leaseproof_model::truth::Truth;

pub(super) fn judge(facts: &Facts<'_, '_>) -> Vec<Finding> {
    let timeline = facts.timeline;
    let notice = |subject: Subject, says: String| Finding::new(&LP020, subject, Truth::Yes, 0, says, Vec::new());
    let mut found = Vec::new();
    if !timeline.history.complete {
        found.push(notice(
            Subject::Rig,
            "the record was cut before the scenario ended: run it again".to_owned(),
        ));
    }
    if let Some((event, why)) = timeline.abandoned {
        let mut it = notice(Subject::Rig, format!("the scenario ended early: {why}"));
        it.cycle = event.cycle;
        it.evidence = vec![event.id];
        found.push(it);
    }
    if timeline.store.is_empty() {
        found.push(notice(
            Subject::Rig,
            "nothing watched the store: without readings no grant is known".to_owned(),
        ));
    }
    for cycle in timeline
        .cycles
        .iter()
        .filter(|cycle| !timeline.store.is_empty() && !timeline.watched(cycle))
    {
        let says = "the store was not watched throughout, or some output was dropped: what nobody saw is not proven";
        let mut it = notice(Subject::Rig, says.to_owned());
        it.cycle = cycle.number;
        it.evidence = vec![cycle.began.id];
        found.push(it);
    }
    for coverage in timeline.coverage.iter().filter(|it| it.dropped > 0) {
        let whose = coverage
            .owner
            .as_ref()
            .map(|owner| format!(" of {owner}"))
            .unwrap_or_default();
        let what = match coverage.source {
            Source::Owner => "the output",
            Source::Store => "the readings",
            Source::Witness => "the writes",
            _ => "the events",
        };
        let says = format!(
            "{what}{whose} could not all be kept ({} dropped): what is missing is not judged",
            coverage.dropped
        );
        found.push(notice(Subject::Rig, says));
    }
    for owner in timeline.owners.iter().filter(|owner| owner.started.is_some()) {
        if owner.said.is_empty() && owner.writes.is_empty() {
            let says = format!(
                "{} said nothing and wrote nothing: let it print its lease events, or write to $LEASEPROOF_RESOURCE",
                owner.name
            );
            found.push(of(owner, notice(Subject::Owner, says)));
        }
    }
    found
}
