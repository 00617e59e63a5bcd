//! Given up although no renewal had failed or was unknown, and the store still granted it.

use super::{Facts, evidence, of};
use crate::timeline::{EndKind, Grant, Owner, Saying, Timeline, answered_slowly};
use crate::words::ms;
use leaseproof_model::event::{Event, EventId, OwnerEvent};
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::moment::Moment;
use leaseproof_model::rule::{Class, LP016};
use leaseproof_model::scenario::ScenarioId;
use leaseproof_model::truth::Truth;
use std::time::Duration;

/// What a lock client may hold back of the TTL for rounding and its own slowness, beside the drift.
const PRUDENCE: Duration = Duration::from_millis(10);

pub(super) fn judge(facts: &Facts<'_, '_>) -> Vec<Finding> {
    let timeline = facts.timeline;
    let mut found = Vec::new();
    for (place, owner) in timeline.owners.iter().enumerate() {
        let (lost, doubt) = given_up(timeline, place);
        for saying in lost {
            let Some((left, ids)) = still_granted(timeline, place, saying.at, Some(saying.event)) else {
                continue;
            };
            let says = format!(
                "{} gave its lease up, no renewal had failed, and the store still granted it for {}",
                owner.name,
                ms(left),
            );
            let ids = evidence(ids.into_iter().chain([saying.event.id]));
            let cycle = saying.event.cycle;
            found.push(of(
                owner,
                Finding::new(&LP016, Subject::Owner, Truth::Yes, cycle, says, ids),
            ));
        }
        found.extend(left_held(timeline, place, owner, doubt));
    }
    found
}

/// Each `lost` that no failed or unanswered renewal explains, and whether there is such doubt at the end.
pub(super) fn given_up<'t, 'h>(timeline: &'t Timeline<'h>, place: usize) -> (Vec<&'t Saying<'h>>, bool) {
    let owner = &timeline.owners[place];
    let (mut doubt, mut waits) = (false, 0_u32);
    let mut lost = Vec::new();
    // One that was asked to end gives up what it has, whatever it calls that.
    let asked = |at: Moment| owner.terminated.iter().any(|event| event.at.earliest <= at.latest);
    for saying in &owner.said {
        match saying.said.event {
            OwnerEvent::Lost if asked(saying.at) => {}
            OwnerEvent::Acquired | OwnerEvent::Renewed => (doubt, waits) = (false, 0),
            OwnerEvent::RenewSent => waits += 1,
            OwnerEvent::RenewFailed | OwnerEvent::WriteRefused => doubt = true,
            OwnerEvent::Lost if !doubt && waits == 0 && !unanswered(timeline, place, saying.at) => lost.push(saying),
            _ => {}
        }
    }
    (lost, doubt || waits > 0)
}

/// A renewal was due and its time is over, by the owner's running time, and the store has applied none:
/// an owner that doesn't tell of each attempt had an unknown one.
fn unanswered(timeline: &Timeline<'_>, place: usize, at: Moment) -> bool {
    let Some(grant) = timeline.grant_at(place, at).map(|grant| &timeline.grants[grant]) else {
        return false;
    };
    let budget = &timeline.ask.budget;
    let later = grant
        .extensions
        .partition_point(|change| change.at.earliest <= at.latest);
    let applied = match later.checked_sub(1) {
        Some(last) => grant.extensions[last].at,
        None => told(timeline, place, grant, at).unwrap_or(grant.begin),
    };
    timeline.owners[place].ran_at_most(applied.earliest, at.latest) >= budget.heartbeat + budget.renew_timeout
}

/// When its owner last told of a renewal of this grant, or of the grant itself, before `at`: where the
/// store shows no renewals, its word is all there is.
fn told(timeline: &Timeline<'_>, owner: usize, grant: &Grant<'_>, at: Moment) -> Option<Moment> {
    grant.bound?;
    let said = &timeline.owners[owner].said;
    let until = said.partition_point(|saying| saying.at.latest <= at.latest);
    said[..until]
        .iter()
        .rev()
        .take_while(|saying| saying.at.latest >= grant.begin.earliest)
        .find(|saying| saying.is(OwnerEvent::Renewed) || saying.is(OwnerEvent::Acquired))
        .map(|saying| saying.at)
}

/// Availability asked that the lease be kept, it was not, and nothing else explains it.
pub(super) fn unexplained(facts: &Facts<'_, '_>, found: &[Finding], lost: &[u32]) -> Vec<Finding> {
    let says_why = |cycle: u32| {
        found
            .iter()
            .any(|it| it.cycle == cycle && matches!(it.class, Class::Availability | Class::Breach | Class::Cause))
    };
    lost.iter()
        .filter(|cycle| !says_why(**cycle))
        .map(|cycle| {
            let says =
                "the lease was not kept, or not freed at once, although nothing on record forced that".to_owned();
            let at = facts.timeline.cycles.iter().find(|it| it.number == *cycle);
            let ids = evidence(at.map(|it| it.began.id));
            Finding::new(&LP016, Subject::Owner, Truth::Yes, *cycle, says, ids)
        })
        .collect()
}

/// Whether the last `acquired` before this word can only be about this grant: the one before it was over.
fn acquired_before(timeline: &Timeline<'_>, owner: usize, place: usize, word: &Event) -> bool {
    let owner = &timeline.owners[owner];
    let before = owner.said.iter().rev().filter(|saying| saying.event.seq < word.seq);
    let Some(acquired) = before.into_iter().find(|saying| saying.is(OwnerEvent::Acquired)) else {
        return false;
    };
    let earlier = owner.grants.iter().rev().find(|index| **index < place);
    let over = |index: &usize| {
        timeline.grants[*index]
            .lasts_until()
            .is_some_and(|end| end.latest < acquired.at.earliest)
    };
    timeline.grants[place].begin.earliest <= acquired.at.latest && earlier.is_none_or(over)
}

/// The store surely granted the lease at that moment, with more time left than prudence explains.
///
/// What the owner said after its own `acquired` came after the store had granted it, however wide the
/// look is that first showed the grant: happens-before outranks the moments.
fn still_granted(
    timeline: &Timeline<'_>,
    owner: usize,
    at: Moment,
    word: Option<&Event>,
) -> Option<(Duration, Vec<EventId>)> {
    let place = timeline.grant_at(owner, at)?;
    let grant = &timeline.grants[place];
    let after_its_acquired = word.is_some_and(|word| acquired_before(timeline, owner, place, word));
    let lasts = grant.lasts_until().is_none_or(|end| at.latest <= end.earliest);
    let covers = grant.surely_covers(at) || (after_its_acquired && lasts);
    if !covers || !timeline.store.covers(at.earliest, at.latest) {
        return None;
    }
    // What was in force then: later extensions don't count.
    let later = grant
        .extensions
        .partition_point(|change| change.at.earliest <= at.latest);
    let expires = match later.checked_sub(1) {
        Some(last) => grant.extensions[last].expires,
        None if !grant.extensions.is_empty() => grant.first_expiry?,
        // The store got that request at most a time-out before its owner told of the answer.
        None => grant.expiry.or_else(|| {
            let told = told(timeline, owner, grant, at)?;
            let sent = told.earliest.minus(timeline.ask.budget.renew_timeout);
            Some(Moment::exact(sent.max(grant.begin.earliest).plus(grant.bound?)))
        })?,
    };
    let left = expires.earliest.since(at.latest);
    let budget = &timeline.ask.budget;
    let prudence = budget.max_clock_drift + budget.early_slack + timeline.ask.store.early_slack + PRUDENCE;
    let change = later.checked_sub(1).map(|last| grant.extensions[last].event);
    (left > prudence).then(|| (left, [Some(grant.first.id), change].into_iter().flatten().collect()))
}

/// Where availability is asked about: it ended by itself, or on request, and left a live lease behind.
fn left_held(timeline: &Timeline<'_>, place: usize, owner: &Owner<'_>, doubt: bool) -> Option<Finding> {
    if !timeline.ask.availability || doubt {
        return None;
    }
    let ended = owner.ended?;
    let asked = !owner.terminated.is_empty();
    if ended.by_lab && !(asked && timeline.ask.scenario == ScenarioId::CleanRelease) {
        return None;
    }
    // Its release may have gone unanswered, as our own looks nearly did.
    let since = owner.terminated.last().map(|event| event.at.earliest);
    let budget = &timeline.ask.budget;
    if since.is_some_and(|since| answered_slowly(&timeline.readings, since, ended.at.latest, budget)) {
        return None;
    }
    let (left, ids) = still_granted(timeline, place, ended.at, None)?;
    let grant = &timeline.grants[timeline.grant_at(place, ended.at)?];
    if !owner.knows(grant) || grant.end.is_none_or(|end| end.kind != EndKind::Expired) {
        return None;
    }
    let says = format!(
        "{} ended without releasing its lease, which the store granted for another {}",
        owner.name,
        ms(left),
    );
    let cycle = timeline.cycle_at(ended.at);
    let ids = evidence(ids.into_iter().chain([ended.event]));
    Some(of(
        owner,
        Finding::new(&LP016, Subject::Owner, Truth::Yes, cycle, says, ids),
    ))
}
