//! Loss noticed late, or never told to the work: measured from the grant's end to the last act.

use super::{Facts, evidence, of};
use crate::words::ms;
use leaseproof_model::event::OwnerEvent;
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::rule::LP015;

pub(super) fn judge(facts: &Facts<'_, '_>) -> Vec<Finding> {
    let timeline = facts.timeline;
    let mut found = Vec::new();
    for run in facts.late.iter().filter(|run| run.certainty.is_yes()) {
        let owner = &timeline.owners[run.owner];
        let grant = &timeline.grants[run.grant];
        let end = grant.lasts_until().unwrap_or(run.due(timeline));
        let last = run.last(timeline);
        let told = owner
            .said_since(end.earliest)
            .iter()
            .take_while(|saying| !saying.is(OwnerEvent::Acquired))
            .find(|saying| matches!(saying.said.event, OwnerEvent::Lost | OwnerEvent::WriteRefused));
        let notice = match told {
            Some(saying) if saying.at.latest < last.at.earliest => format!(
                "it said so after {}, and the work went on",
                ms(saying.at.latest.since(end.earliest))
            ),
            Some(saying) => format!("it noticed after {}", ms(saying.at.latest.since(end.earliest))),
            None => "it never said that it noticed".to_owned(),
        };
        let says = format!(
            "the last act of {} came {} after its grant had ended; {notice}",
            owner.name,
            ms(last.at.earliest.since(end.latest)),
        );
        let mut ids = run.evidence(timeline);
        ids.extend(told.map(|saying| saying.event.id));
        found.push(of(
            owner,
            Finding::new(&LP015, Subject::Owner, run.certainty, run.cycle, says, evidence(ids)),
        ));
    }
    found
}
