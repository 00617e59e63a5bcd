//! An owner acts on a grant that the store never gave.
//!
//! An owner whose lease ended and that writes on is not meant: that is LP004. Nor is one whose grant the store
//! may have lost as it went on from another state: what was granted right before that shows in no look.

mod lost;

use super::{Facts, evidence, of};
use crate::timeline::{Act, By, Owner, Saying, Standing, Switch, Timeline};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{EventId, OwnerEvent, What};
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::Token;
use leaseproof_model::rule::LP021;
use leaseproof_model::truth::Truth;
use lost::Lost;
use std::collections::BTreeMap;

pub(super) fn judge(facts: &Facts<'_, '_>) -> Vec<Finding> {
    let timeline = facts.timeline;
    let counter = Counter::of(timeline);
    let switches = Switch::all(&timeline.readings, &timeline.faults, timeline.ask.store.keeps_grants());
    let mut found = Vec::new();
    for (place, owner) in timeline.owners.iter().enumerate() {
        let mut by_cycle: BTreeMap<u32, (String, Vec<EventId>)> = BTreeMap::new();
        let lost = Lost::of(timeline, owner, &switches);
        let mut may_be_lost: BTreeMap<u32, (Option<Token>, &Switch, Vec<EventId>)> = BTreeMap::new();
        for claim in tokens_claimed(owner) {
            if let Some(shown) = counter.below(claim.token, claim.at) {
                // From its first claim on the looks tell: it was not given before that either.
                let until = lost
                    .first_shown(claim.token)
                    .and_then(|first| counter.look_after(first));
                if let Some(switch) = lost.token(claim.token, until.map_or(claim.at, |it| it.at)) {
                    let seen = || (Some(claim.token), switch, vec![claim.event, switch.event, shown]);
                    may_be_lost.entry(claim.cycle).or_insert_with(seen);
                    continue;
                }
                by_cycle.entry(claim.cycle).or_insert_with(|| {
                    let says = format!(
                        "{} acted with token {}, which the store's counter had not reached",
                        owner.name, claim.token
                    );
                    (says, vec![claim.event, shown])
                });
            }
        }
        let mut absent: Option<&Act<'_>> = None;
        let mut open: BTreeMap<u32, EventId> = BTreeMap::new();
        let mut run: Option<&Act<'_>> = None;
        for act in &owner.acts {
            if act.standing != Standing::Ungranted {
                (absent, run) = (None, None);
                continue;
            }
            let run = *run.get_or_insert(act);
            if act.says_from.is_some() {
                open.entry(act.event.cycle).or_insert(act.event.id);
                continue;
            }
            if let Some(switch) = lost.act(act, run.at) {
                absent = None;
                let seen = || (act.token, switch, vec![act.event.id, switch.event]);
                may_be_lost.entry(act.event.cycle).or_insert_with(seen);
                continue;
            }
            let Some(view) = View::around(timeline, place, act.at) else {
                absent = None;
                let watched = timeline.store.covers(act.at.earliest, act.at.latest);
                if watched && !may_be_its_own(timeline, act.at) {
                    open.entry(act.event.cycle).or_insert(act.event.id);
                }
                continue;
            };
            let cycle = act.event.cycle;
            match view {
                // A token that the store had given to nobody that was seen: its grant hid between two looks.
                View::Another(grant) if may_have_been_given(timeline, grant, act) => {
                    open.entry(cycle).or_insert(act.event.id);
                }
                View::Another(grant) => {
                    by_cycle.entry(cycle).or_insert_with(|| {
                        let grant = &timeline.grants[grant];
                        let says = format!(
                            "{} acted as the holder while {} stood unchanged",
                            owner.name,
                            timeline.label(grant)
                        );
                        (says, vec![act.event.id, grant.first.id])
                    });
                }
                View::Absent => {
                    let first = *absent.get_or_insert(act);
                    if counter.stood_still(timeline, act.at) {
                        by_cycle.entry(cycle).or_insert_with(|| {
                            let says = format!(
                                "{} acted as the holder while the key was free, and the store's counter shows that it granted nothing",
                                owner.name
                            );
                            (says, vec![act.event.id])
                        });
                    } else {
                        open.entry(cycle).or_insert(act.event.id);
                    }
                    if act.at.earliest.since(first.at.latest) > timeline.store.longest_gap
                        && nothing_granted(timeline, first.at.earliest, act.at.latest)
                        && rest_on_one(timeline, owner, first.at, act.at)
                    {
                        by_cycle.entry(cycle).or_insert_with(|| {
                            let says = format!(
                                "{} acted as the holder while the key was free, for longer than a grant could hide between two readings",
                                owner.name
                            );
                            (says, vec![first.event.id, act.event.id])
                        });
                    }
                }
            }
        }
        for (cycle, (token, switch, ids)) in may_be_lost {
            open.remove(&cycle);
            if !by_cycle.contains_key(&cycle) {
                let says = lost::says(owner, token, switch);
                let ids = evidence(ids);
                let finding = Finding::new(&LP021, Subject::Store, Truth::CannotTell, cycle, says, ids);
                found.push(of(owner, finding));
            }
        }
        for (cycle, act) in open {
            if !by_cycle.contains_key(&cycle) {
                let says = format!(
                    "{} acted as the holder, and no grant of its was seen (possibly: one may hide between two readings)",
                    owner.name
                );
                let finding = Finding::new(&LP021, Subject::Owner, Truth::CannotTell, cycle, says, vec![act]);
                found.push(of(owner, finding));
            }
        }
        for (cycle, (says, ids)) in by_cycle {
            found.push(of(
                owner,
                Finding::new(&LP021, Subject::Owner, Truth::Yes, cycle, says, evidence(ids)),
            ));
        }
    }
    found
}

/// What the store showed before and after a moment, where it was watched and nothing changed.
enum View {
    Another(usize),
    Absent,
}

impl View {
    fn around(timeline: &Timeline<'_>, owner: usize, at: Moment) -> Option<Self> {
        let gap = timeline.store.longest_gap;
        let (from, until) = (at.earliest.minus(gap), at.latest.plus(gap));
        if !timeline.store.covers(from, until) {
            return None;
        }
        let Some(last) = timeline.last_begun(until) else {
            return Some(Self::Absent);
        };
        let grant = &timeline.grants[last];
        let window = Moment {
            earliest: from,
            latest: until,
        };
        if grant.surely_covers(window) {
            return timeline.is_not_of(last, owner).then_some(Self::Another(last));
        }
        nothing_granted(timeline, from, until).then_some(Self::Absent)
    }
}

/// The act carries a lesser token than the grant that stands, and no grant that was seen has it: the store may
/// have given it in between, and somebody took it away at once.
fn may_have_been_given(timeline: &Timeline<'_>, stands: usize, act: &Act<'_>) -> bool {
    let Some(token) = act.token else { return false };
    let skipped = timeline.grants[stands].token.is_some_and(|has| token < has);
    let from = stands.saturating_sub(NEARBY);
    skipped
        && timeline.grants[from..=stands]
            .iter()
            .all(|grant| grant.token != Some(token))
}

/// How many grants before the one that stands are looked through: an older token was somebody's long ago.
const NEARBY: usize = 64;

/// A grant of nobody known may have stood then.
fn may_be_its_own(timeline: &Timeline<'_>, at: Moment) -> bool {
    let last = timeline.last_begun(at.latest);
    last.is_some_and(|last| timeline.grants[last].by == By::Unknown && timeline.grants[last].may_cover(at))
}

/// No grant of anybody may have stood between two moments. Grants follow one another, so that the
/// last that had begun tells.
fn nothing_granted(timeline: &Timeline<'_>, from: BootNanos, until: BootNanos) -> bool {
    let Some(last) = timeline.last_begun(until) else {
        return true;
    };
    !timeline.grants[last].may_cover(Moment {
        earliest: from,
        latest: until,
    })
}

/// Whether two acts rest on one grant, if on any: its owner says so, or the store's counter stood still.
/// Else each may have had a short one of its own, hidden between two looks.
fn rest_on_one(timeline: &Timeline<'_>, owner: &Owner<'_>, first: Moment, last: Moment) -> bool {
    let acquired = || owner.said.iter().filter(|saying| saying.is(OwnerEvent::Acquired));
    let between = |saying: &Saying<'_>| first.earliest <= saying.at.latest && saying.at.earliest <= last.latest;
    let says_so = acquired().next().is_some() && !acquired().any(between);
    let counter = |place: usize| timeline.readings.get(place).and_then(|(_, reading)| reading.counter);
    let before = timeline
        .readings
        .partition_point(|(event, _)| event.at.latest <= first.earliest);
    let after = timeline
        .readings
        .partition_point(|(event, _)| event.at.earliest < last.latest);
    let before = before.checked_sub(1).and_then(counter);
    let stood_still = before.is_some() && before == counter(after) && gives_the_tokens(timeline);
    says_so || stood_still
}

/// A token that an owner acted with, or said that it acquired.
struct Claim {
    token: Token,
    at: Moment,
    event: EventId,
    cycle: u32,
}

fn tokens_claimed<'t>(owner: &'t Owner<'_>) -> impl Iterator<Item = Claim> + 't {
    let acts = owner
        .acts
        .iter()
        .filter(|act| act.says_from.is_none())
        .filter_map(|act| Some((act.token?, act.at, act.event)));
    let said = owner
        .said
        .iter()
        .filter(|saying| saying.is(OwnerEvent::Acquired))
        .filter_map(|saying| Some((saying.said.token?, saying.at, saying.event)));
    acts.chain(said).map(|(token, at, event)| Claim {
        token,
        at,
        event: event.id,
        cycle: event.cycle,
    })
}

/// Whether the owners' tokens come from what the store shows: of some grant it had given the token that its
/// owner names when it was first seen. An owner may count elsewhere, and then only the lab counts here.
pub(super) fn gives_the_tokens(timeline: &Timeline<'_>) -> bool {
    let given = |index: usize, token: Token| {
        let grant = &timeline.grants[index];
        let counter = match &grant.first.what {
            What::Reading(reading) => reading.counter,
            _ => None,
        };
        grant.token.max(counter) >= Some(token)
    };
    timeline.owners.iter().any(|owner| {
        let mut said = owner
            .grants
            .iter()
            .filter_map(|index| Some((*index, timeline.grants[*index].said_token?.0)));
        let mut acted = owner.acts.iter().filter_map(|act| match act.standing {
            // A straddling write of the grant before is none of this one's.
            Standing::Granted(index) => {
                let said = timeline.grants[index].said_token.map(|(token, _)| token);
                let token = act.token?;
                (said.is_none() || said == Some(token)).then_some((index, token))
            }
            _ => None,
        });
        said.any(|(index, token)| given(index, token)) || acted.any(|(index, token)| given(index, token))
    })
}

/// What a reading told of tokens.
struct Shown {
    at: Moment,
    here: Token,
    /// The greatest up to it: a store that lost its data counts anew.
    greatest: Token,
    id: EventId,
}

/// The tokens that the store had shown by each reading.
struct Counter {
    shown: Vec<Shown>,
}

impl Counter {
    /// Empty where the store's tokens of this key aren't the owner's: then nothing follows.
    fn of(timeline: &Timeline<'_>) -> Self {
        let mut shown: Vec<Shown> = Vec::new();
        if timeline.ask.store_shows_token && gives_the_tokens(timeline) {
            for (event, reading) in &timeline.readings {
                // A reading of a free key without a counter says nothing about tokens.
                if let Some(here) = reading.counter.max(reading.held.as_ref().and_then(|held| held.token)) {
                    shown.push(Shown {
                        at: event.at,
                        here,
                        greatest: shown.last().map_or(here, |before| before.greatest.max(here)),
                        id: event.id,
                    });
                }
            }
        }
        Self { shown }
    }

    /// The counter was the same at the reading that ended before the moment and at the one that began after:
    /// each grant raises it, so that none hides between them.
    fn stood_still(&self, timeline: &Timeline<'_>, at: Moment) -> bool {
        let gap = timeline.store.longest_gap;
        let before = self.shown.partition_point(|it| it.at.latest <= at.earliest);
        let after = self.shown.partition_point(|it| it.at.earliest < at.latest);
        let before = before.checked_sub(1).and_then(|place| self.shown.get(place));
        match (before, self.shown.get(after)) {
            (Some(before), Some(after)) => {
                let near = at.earliest.since(before.at.earliest) <= gap && after.at.earliest.since(at.latest) <= gap;
                before.here == after.here && near
            }
            _ => false,
        }
    }

    /// The first reading that was taken after the moment.
    fn look_after(&self, at: Moment) -> Option<&Shown> {
        self.shown
            .get(self.shown.partition_point(|it| it.at.earliest < at.latest))
    }

    /// The reading, after the moment, by which the store had still not given this token.
    fn below(&self, token: Token, at: Moment) -> Option<EventId> {
        let after = self.look_after(at)?;
        (after.greatest < token).then_some(after.id)
    }
}
