//! A failed renewal did not end the belief: a definite refusal, or any failure once validity had passed.

use super::{Facts, evidence, of};
use crate::timeline::{Act, Grant, Owner, Saying};
use crate::words::ms;
use leaseproof_model::event::OwnerEvent;
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::moment::Moment;
use leaseproof_model::rule::LP006;
use std::time::Duration;

pub(super) fn judge(facts: &Facts<'_, '_>) -> Vec<Finding> {
    let timeline = facts.timeline;
    let heartbeat = timeline.ask.budget.heartbeat;
    let mut found = Vec::new();
    for run in &facts.late {
        let owner = &timeline.owners[run.owner];
        let due = run.due(timeline);
        let grant = &timeline.grants[run.grant];
        let last = run.last(timeline).at.latest;
        let Some((failure, act)) = failures(owner, grant, due)
            .take_while(|failure| failure.at.earliest <= last)
            .find_map(|failure| {
                Some((
                    failure,
                    run.acts(timeline)
                        .find(|act| swallowed(owner, failure, act, heartbeat))?,
                ))
            })
        else {
            continue;
        };
        let what = if failure.is_definite_refusal() {
            "was refused"
        } else {
            "failed when its validity had passed"
        };
        let says = format!(
            "a renewal of {} {what} ({}), and it acted as the holder {} later",
            owner.name,
            failure.said.reason.as_deref().unwrap_or("no reason given"),
            ms(run.last(timeline).at.earliest.since(failure.at.latest)),
        );
        let mut ids = run.evidence(timeline);
        ids.extend([failure.event.id, act.event.id]);
        found.push(of(
            owner,
            Finding::new(&LP006, Subject::Owner, run.certainty, run.cycle, says, evidence(ids)),
        ));
    }
    found
}

/// Failures of this grant's renewal that had to end the belief.
fn failures<'t, 'h>(
    owner: &'t Owner<'h>,
    grant: &Grant<'h>,
    due: Moment,
) -> impl Iterator<Item = &'t Saying<'h>> + use<'t, 'h> {
    // A refusal right before the acquire was about the grant before.
    let begin = grant.begin;
    let acquired = grant.acquired.map(|event| event.seq);
    owner.said_since(begin.earliest).iter().filter(move |saying| {
        let about_it = match acquired {
            Some(acquired) => acquired < saying.event.seq,
            None => begin.latest < saying.at.earliest,
        };
        let failed_late = saying.is(OwnerEvent::RenewFailed) && due.latest < saying.at.earliest;
        about_it && (saying.is_definite_refusal() || failed_late)
    })
}

/// The act surely came after the failure was known to whoever acted.
fn swallowed(owner: &Owner<'_>, failure: &Saying<'_>, act: &Act<'_>, heartbeat: Duration) -> bool {
    let same_thread = act.thread.is_some() && act.thread == failure.said.thread.as_deref();
    let after = failure.at.latest < act.at.earliest;
    after && (same_thread || owner.ran_at_least(failure.at.latest, act.at.earliest) > heartbeat)
}
