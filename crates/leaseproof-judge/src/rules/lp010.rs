//! A renewal that doesn't check the holder, or re-creates the key.

use super::{Facts, evidence, of};
use crate::timeline::{By, EndKind, Grant, Owner, Timeline};
use crate::words::ms;
use leaseproof_model::event::{EventId, OwnerEvent, WireSeen};
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::moment::Moment;
use leaseproof_model::rule::LP010;
use leaseproof_model::truth::Truth;

pub(super) fn judge(facts: &Facts<'_, '_>) -> Vec<Finding> {
    let timeline = facts.timeline;
    let mut found: Vec<Finding> = Vec::new();
    for (index, grant) in timeline.grants.iter().enumerate() {
        let finding = match grant.by {
            By::Lab => moved(timeline, grant).or_else(|| overwritten(timeline, index, grant)),
            By::Owner(owner) => renewed_for(timeline, grant, owner),
            _ => None,
        };
        found.extend(finding);
        found.extend(revived(timeline, grant));
    }
    found
}

/// The lab never renews: whoever moved the expiry of its grant is an owner that did not look.
fn moved(timeline: &Timeline<'_>, grant: &Grant<'_>) -> Option<Finding> {
    let (change, how) = match (grant.extensions.first(), grant.shrinks.first()) {
        (Some(change), None) => (change, "on"),
        (None, Some(change)) => (change, "back"),
        (Some(a), Some(b)) if a.at.latest <= b.at.latest => (a, "on"),
        (_, Some(change)) => (change, "back"),
        (None, None) => return None,
    };
    let says = format!(
        "the expiry of the lab's own lease moved {how}, and the lab never renews: a renewal did not check the holder"
    );
    let ids = evidence([grant.first.id, change.event]);
    Some(whose(
        timeline,
        change.at,
        Finding::new(&LP010, Subject::Owner, Truth::Yes, grant.first.cycle, says, ids),
    ))
}

/// The lease moved on while its holder's whole tree stood still: another, which runs, renews what is
/// not its own. A request that was in flight when the tree stopped is no such thing, nor is one that
/// the network had held back.
fn renewed_for(timeline: &Timeline<'_>, grant: &Grant<'_>, holder: usize) -> Option<Finding> {
    let owner = &timeline.owners[holder];
    if owner
        .wires
        .iter()
        .any(|(_, wire)| wire.seen == WireSeen::RequestSwallowed)
    {
        return None;
    }
    let in_flight = timeline.ask.budget.renew_timeout;
    let change = grant.extensions.iter().find(|change| {
        owner
            .frozen
            .contain(change.at.earliest.minus(in_flight), change.at.latest)
    })?;
    if held_back_by_us(timeline, owner, change.at) {
        return None;
    }
    let mut able = timeline
        .owners
        .iter()
        .enumerate()
        .filter(|(index, other)| *index != holder && !other.surely_idle(change.at));
    let (_, other) = able.next()?;
    let says = format!(
        "the lease of {} was extended while all of {} stood still: a renewal did not check the holder",
        owner.name, owner.name
    );
    let ids = evidence([grant.first.id, change.event]);
    let finding = Finding::new(&LP010, Subject::Owner, Truth::Yes, grant.first.cycle, says, ids);
    Some(if able.next().is_none() {
        of(other, finding)
    } else {
        finding
    })
}

/// Whether the rig may have passed a request of a stopped owner on late: it did so on record, or it was
/// late in that cycle.
fn held_back_by_us(timeline: &Timeline<'_>, owner: &Owner<'_>, at: Moment) -> bool {
    let passed_on = owner.wires.iter().any(|(event, wire)| {
        matches!(wire.seen, WireSeen::Request | WireSeen::Delivered)
            && owner.frozen.contain(event.at.earliest, event.at.latest)
            && event.at.earliest <= at.latest
    });
    let cycle = timeline.cycle_at(at);
    let late = timeline
        .cycles
        .iter()
        .any(|it| it.number == cycle && it.rig_late.is_some());
    passed_on || late
}

/// Another holder stands in the place of the lab's live lease, and nobody released on purpose or by mistake.
fn overwritten(timeline: &Timeline<'_>, index: usize, grant: &Grant<'_>) -> Option<Finding> {
    let end = grant.end.filter(|end| end.kind == EndKind::Overwritten)?;
    let next = timeline.grants.get(index + 1)?;
    // A revival is said below; a release just before explains the next grant, and LP011 says that.
    if next.revives.is_some() && !next.may_be_acquired {
        return None;
    }
    if timeline
        .owners
        .iter()
        .any(|owner| owner.released_around(end.seen, timeline))
    {
        return None;
    }
    let says = format!(
        "the lab's own lease was overwritten by {} before it ended",
        timeline.holder(next)
    );
    let ids = evidence([grant.first.id, end.event, next.first.id]);
    let finding = Finding::new(&LP010, Subject::Owner, Truth::Yes, grant.first.cycle, says, ids);
    Some(match next.by {
        By::Owner(owner) => of(&timeline.owners[owner], finding),
        _ => finding,
    })
}

/// A grant that had ended stands again, under the same holder and token, and nobody acquired it.
fn revived(timeline: &Timeline<'_>, grant: &Grant<'_>) -> Option<Finding> {
    let old = &timeline.grants[grant.revives?];
    if grant.may_be_acquired || grant.by == By::Lab {
        return None;
    }
    let ended = old.end?;
    // An owner that never says `acquired` may have acquired this one: then only an unchanged token tells.
    let certainty = if grant.is_revival() {
        Truth::Yes
    } else {
        Truth::CannotTell
    };
    let says = format!(
        "{} stood again {} after it had ended, without an acquire: a renewal re-created it",
        timeline.label(grant),
        ms(grant.begin.latest.since(ended.at.earliest)),
    );
    let ids = evidence([old.first.id, ended.event, grant.first.id]);
    let finding = Finding::new(&LP010, Subject::Owner, certainty, grant.first.cycle, says, ids);
    Some(match grant.by {
        By::Owner(owner) => of(&timeline.owners[owner], finding),
        _ => finding,
    })
}

/// Names the owner, if only one can have done it.
fn whose(timeline: &Timeline<'_>, at: Moment, finding: Finding) -> Finding {
    let mut able = timeline.owners.iter().filter(|owner| !owner.surely_idle(at));
    match (able.next(), able.next()) {
        (Some(owner), None) => of(owner, finding),
        _ => finding,
    }
}

impl Owner<'_> {
    /// Whether it said that it released, was asked to end, or ended, about when `seen` happened.
    pub(super) fn released_around(&self, seen: Moment, timeline: &Timeline<'_>) -> bool {
        self.release_around(seen, timeline).is_some()
    }

    /// The event that says so.
    pub(super) fn release_around(&self, seen: Moment, timeline: &Timeline<'_>) -> Option<EventId> {
        let reach = timeline.ask.budget.heartbeat + timeline.ask.budget.renew_timeout;
        let near = |at: Moment| at.earliest <= seen.latest.plus(reach) && seen.earliest <= at.latest.plus(reach);
        let said = self
            .said_since(seen.earliest.minus(reach))
            .iter()
            .take_while(|saying| saying.at.earliest <= seen.latest.plus(reach))
            .find(|saying| saying.is(OwnerEvent::Released))
            .map(|saying| saying.event.id);
        let ended = self.ended.filter(|ended| near(ended.at)).map(|ended| ended.event);
        let asked = self
            .terminated
            .iter()
            .find(|event| near(event.at))
            .map(|event| event.id);
        said.or(ended).or(asked)
    }
}
