//! A release that doesn't check the holder: another's grant vanished before its expiry, without its
//! holder releasing it, while an owner released or exited.

use super::{Facts, evidence, of};
use crate::timeline::{By, EndKind, Owner, Timeline};
use leaseproof_model::event::EventId;
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::moment::Moment;
use leaseproof_model::rule::LP011;
use leaseproof_model::truth::Truth;

pub(super) fn judge(facts: &Facts<'_, '_>) -> Vec<Finding> {
    let timeline = facts.timeline;
    let mut found = Vec::new();
    for grant in &timeline.grants {
        let Some(end) = grant
            .end
            .filter(|end| matches!(end.kind, EndKind::Vanished | EndKind::Overwritten))
        else {
            continue;
        };
        let holder = match grant.by {
            By::Owner(owner) => Some(owner),
            By::Lab => None,
            By::Unknown => continue,
        };
        // An owner that says nothing may have released its own: then nothing follows.
        if holder.is_some_and(|owner| {
            let owner = &timeline.owners[owner];
            owner.said.is_empty() || owner.released_around(end.seen, timeline)
        }) {
            continue;
        }
        let released = timeline.owners.iter().enumerate().find_map(|(place, owner)| {
            let release = owner.release_around(end.seen, timeline)?;
            (Some(place) != holder).then_some((owner, release))
        });
        let cycle = cycle_of(timeline, end.event).unwrap_or(grant.first.cycle);
        match released {
            Some((owner, release)) => {
                let says = format!(
                    "{} was gone before its expiry when {} released or ended, and its own holder had not released it",
                    grant.label(),
                    owner.name,
                );
                let ids = evidence([grant.first.id, end.event, release]);
                found.push(of(
                    owner,
                    Finding::new(&LP011, Subject::Owner, Truth::Yes, cycle, says, ids),
                ));
            }
            None if grant.by == By::Lab && end.kind == EndKind::Vanished => {
                let able = able(timeline, end.seen);
                let says = format!(
                    "{} was gone before its expiry, and the lab did not free it: a release did not check the holder",
                    grant.label()
                );
                let ids = evidence([grant.first.id, end.event]);
                let certainty = if able.is_some() { Truth::Yes } else { Truth::CannotTell };
                let finding = Finding::new(&LP011, Subject::Owner, certainty, cycle, says, ids);
                found.push(match able {
                    Some(owner) => of(owner, finding),
                    None => finding,
                });
            }
            None => {}
        }
    }
    found
}

/// The only owner that can have done something then.
fn able<'t, 'h>(timeline: &'t Timeline<'h>, seen: Moment) -> Option<&'t Owner<'h>> {
    let mut able = timeline.owners.iter().filter(|owner| !owner.surely_idle(seen));
    able.next().filter(|_| able.next().is_none())
}

fn cycle_of(timeline: &Timeline<'_>, reading: EventId) -> Option<u32> {
    let place = timeline.readings.partition_point(|(event, _)| event.id < reading);
    timeline
        .readings
        .get(place)
        .filter(|(event, _)| event.id == reading)
        .map(|(event, _)| event.cycle)
}
