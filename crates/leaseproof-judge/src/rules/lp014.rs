//! Renewals after release, or after the working process ended.

use super::{Facts, evidence, of};
use crate::timeline::{Owner, Timeline};
use crate::words::{count, ms};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{EventId, OwnerEvent, WireSeen};
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::moment::Moment;
use leaseproof_model::rule::LP014;
use leaseproof_model::truth::Truth;
use std::collections::BTreeMap;

pub(super) fn judge(facts: &Facts<'_, '_>) -> Vec<Finding> {
    let timeline = facts.timeline;
    let mut found = Vec::new();
    // A request in flight at the release or the end may still be answered or applied, and two threads
    // print in either order; a renewer that lives on does it again.
    let in_flight = timeline.ask.budget.renew_timeout;
    for owner in &timeline.owners {
        let mut claims: BTreeMap<u32, (usize, Vec<EventId>)> = BTreeMap::new();
        let mut released: Option<(EventId, BootNanos)> = None;
        for saying in &owner.said {
            match saying.said.event {
                OwnerEvent::Released => released = Some((saying.event.id, saying.at.latest)),
                OwnerEvent::Acquired => released = None,
                OwnerEvent::Renewed => {
                    if let Some((release, at)) = released
                        && at.plus(in_flight) < saying.at.earliest
                    {
                        let (n, ids) = claims.entry(saying.event.cycle).or_insert_with(|| (0, vec![release]));
                        *n += 1;
                        ids.push(saying.event.id);
                    }
                }
                _ => {}
            }
        }
        for (cycle, (n, ids)) in claims {
            let says = format!("{} claimed {} after it had released", owner.name, count(n, "renewal"));
            found.push(of(
                owner,
                Finding::new(&LP014, Subject::Owner, Truth::Yes, cycle, says, evidence(ids)),
            ));
        }
        let Some(ended) = owner.ended else { continue };
        // What the network held back is delivered when it heals, also for a process that is gone by then.
        if owner
            .wires
            .iter()
            .any(|(_, wire)| wire.seen == WireSeen::RequestSwallowed)
        {
            continue;
        }
        for index in &owner.grants {
            let grant = &timeline.grants[*index];
            let after = grant
                .extensions
                .iter()
                .rev()
                .find(|change| ended.at.latest.plus(in_flight) < change.at.earliest)
                .filter(|change| !renewed_by_another(timeline, owner, change.at));
            if let Some(change) = after {
                let says = format!(
                    "the lease of {} was extended {} after its process had ended",
                    owner.name,
                    ms(change.at.earliest.since(ended.at.latest)),
                );
                let ids = evidence([ended.event, grant.first.id, change.event]);
                let cycle = grant.first.cycle;
                found.push(of(
                    owner,
                    Finding::new(&LP014, Subject::Owner, Truth::Yes, cycle, says, ids),
                ));
                break;
            }
        }
    }
    found
}

/// Whether another owner ran then: it may have renewed what is not its own, or stand under the same
/// holder, and this one is not to blame.
fn renewed_by_another(timeline: &Timeline<'_>, owner: &Owner<'_>, at: Moment) -> bool {
    let mut others = timeline.owners.iter().filter(|it| it.name != owner.name);
    others.any(|it| !it.surely_idle(at))
}
