//! A release that doesn't check the holder: another's grant vanished before its expiry, without its
//! holder releasing it, while an owner released or exited.

use super::{Facts, evidence, of};
use crate::timeline::{By, EndKind, Owner, Timeline};
use leaseproof_model::event::{Deed, EventId, Outcome, OwnerEvent};
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::HolderId;
use leaseproof_model::rule::LP011;
use leaseproof_model::truth::Truth;
use std::collections::HashSet;

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
            // A renewal of its own that removes the key is LP005.
            let renewed = owner
                .said_since(end.seen.earliest)
                .iter()
                .take_while(|saying| saying.at.earliest <= end.seen.latest.plus(timeline.store.longest_gap))
                .any(|saying| saying.is(OwnerEvent::Renewed));
            // One that said that it has lost it cleans up after itself, whatever it calls that.
            let given_up = owner
                .said_since(grant.begin.earliest)
                .iter()
                .take_while(|saying| saying.at.earliest <= end.seen.latest)
                .any(|saying| saying.is(OwnerEvent::Lost));
            owner.said.is_empty() || renewed || given_up || owner.released_around(end.seen, timeline)
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
                    timeline.label(grant),
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
                    timeline.label(grant)
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
    found.extend(unseen(timeline));
    found
}

/// The lab's own lease, gone before any reading showed it: its acquire was applied, it released nothing,
/// and the next reading, well within the TTL, shows the key without it.
fn unseen(timeline: &Timeline<'_>) -> Vec<Finding> {
    let shown: HashSet<&HolderId> = timeline
        .grants
        .iter()
        .filter(|grant| grant.by == By::Lab)
        .map(|grant| grant.holder)
        .collect();
    let mut found = Vec::new();
    for (place, it) in timeline.deeds.iter().enumerate() {
        let took = matches!(it.deed.deed, Deed::Acquired | Deed::Stole) && it.deed.outcome == Outcome::Applied;
        let unseen = it.deed.holder.as_ref().is_some_and(|holder| !shown.contains(holder));
        if !took || !unseen {
            continue;
        }
        let next = timeline
            .readings
            .partition_point(|(event, _)| event.at.earliest <= it.event.at.latest);
        let Some((reading, _)) = timeline.readings.get(next) else {
            continue;
        };
        let seen = Moment {
            earliest: it.event.at.earliest,
            latest: reading.at.latest,
        };
        let freed = timeline.deeds[place + 1..]
            .iter()
            .take_while(|later| later.event.at.earliest <= seen.latest)
            .any(|later| later.deed.outcome != Outcome::NotApplied);
        if freed || seen.latest >= it.event.at.earliest.plus(timeline.ask.budget.ttl) {
            continue;
        }
        let says =
            "the lease that the lab had just taken was gone before its expiry, and the lab did not free it".to_owned();
        let ids = evidence([it.event.id, reading.id]);
        let able = able(timeline, seen);
        let certainty = if able.is_some() { Truth::Yes } else { Truth::CannotTell };
        let finding = Finding::new(&LP011, Subject::Owner, certainty, it.event.cycle, says, ids);
        found.push(match able {
            Some(owner) => of(owner, finding),
            None => finding,
        });
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
