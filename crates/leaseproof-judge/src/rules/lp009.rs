//! Expiry by a clock that can step: shown by contrast with the unstepped twin.

use super::lp016::given_up;
use super::{Facts, evidence};
use crate::timeline::{Standing, Timeline};
use leaseproof_model::event::{EventId, FaultKind};
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::rule::LP009;
use leaseproof_model::truth::Truth;
use std::collections::{BTreeMap, BTreeSet};

/// From how many cycles on it is asked whether something happens in each with the step and in none without.
const CYCLES: usize = 3;

/// From how many cycles on a single act after *due* in each is no accident. One alone may straddle: with
/// three and three cycles chance does it once in 64 times, with six and six once in 4096.
const NO_ACCIDENT: usize = 6;

pub(super) fn judge(facts: &Facts<'_, '_>) -> Vec<Finding> {
    let (Some(twin), timeline) = (facts.twin, facts.timeline) else {
        return Vec::new();
    };
    let steps: Vec<EventId> = timeline
        .faults
        .iter()
        .filter(|fault| fault.kind == FaultKind::ClockStep)
        .filter_map(|fault| fault.confirmed.map(|(event, _)| event.id))
        .collect();
    if steps.is_empty() {
        return Vec::new();
    }
    let finding = |cycle: u32, says: String, ids: Vec<EventId>| {
        let ids = evidence(steps.iter().copied().take(3).chain(ids));
        Finding::new(&LP009, Subject::Owner, Truth::Yes, cycle, says, ids)
    };
    // A twin that the rig hurt, or that did nothing, shows no contrast.
    let unstepped =
        twin.timeline.owners.iter().any(|owner| !owner.acts.is_empty()) && !cycles(twin.timeline).is_empty();
    if !unstepped {
        return Vec::new();
    }
    let mut found = Vec::new();
    if let Some(run) = facts.late.iter().find(|run| run.certainty.is_yes())
        && twin.late.is_empty()
    {
        let owner = &timeline.owners[run.owner];
        let says = format!(
            "with its wall clock stepped {} {}; its unstepped twin did not",
            owner.name,
            run.says(timeline),
        );
        let mut it = finding(run.cycle, says, run.evidence(timeline));
        it.owner = Some(owner.name.as_str().to_owned());
        found.push(it);
    } else if let Some((cycle, ids)) = in_each_cycle(after_due(timeline), cycles(timeline), cycles(twin.timeline))
        && after_due(twin.timeline).is_empty()
    {
        let says = "in each cycle with its wall clock stepped the owner acted after its lease was due, \
                    and in none without the step"
            .to_owned();
        let mut it = finding(cycle, says, ids);
        if cycles(timeline).len().min(cycles(twin.timeline).len()) < NO_ACCIDENT {
            it.certainty = Truth::CannotTell;
        }
        found.push(it);
    }
    if let Some((cycle, ids)) = in_each_cycle(losses(timeline), cycles(timeline), cycles(twin.timeline))
        && losses(twin.timeline).is_empty()
        && found.is_empty()
    {
        let says = "in each cycle with its wall clock stepped the owner gave up a lease that the store still granted, \
                    and in none without the step"
            .to_owned();
        found.push(finding(cycle, says, ids));
    }
    found
}

/// Those that nothing of ours has hurt: in another one an act, and the lack of one, tells nothing of a clock.
fn cycles(timeline: &Timeline<'_>) -> BTreeSet<u32> {
    timeline
        .cycles
        .iter()
        .filter(|cycle| cycle.redrawn().is_none() && timeline.watched(cycle))
        .map(|cycle| cycle.number)
        .collect()
}

/// The first of the cycles and all events, if every one of enough cycles has some.
fn in_each_cycle(
    seen: BTreeMap<u32, Vec<EventId>>,
    stepped: BTreeSet<u32>,
    unstepped: BTreeSet<u32>,
) -> Option<(u32, Vec<EventId>)> {
    let all = stepped.len() >= CYCLES && unstepped.len() >= CYCLES && stepped.iter().all(|it| seen.contains_key(it));
    all.then(|| {
        (
            seen.keys().next().copied().unwrap_or(0),
            seen.into_values().flatten().collect(),
        )
    })
}

/// Acts after *due*, straddling ones too, by cycle.
fn after_due(timeline: &Timeline<'_>) -> BTreeMap<u32, Vec<EventId>> {
    let mut seen: BTreeMap<u32, Vec<EventId>> = BTreeMap::new();
    for owner in &timeline.owners {
        for act in &owner.acts {
            if matches!(
                act.standing,
                Standing::Late(_) | Standing::MayBeLate(_) | Standing::Straddling(_)
            ) {
                seen.entry(act.event.cycle).or_default().push(act.event.id);
            }
        }
    }
    seen
}

/// `lost` said without a cause while the store surely still granted the lease, by cycle.
fn losses(timeline: &Timeline<'_>) -> BTreeMap<u32, Vec<EventId>> {
    let mut seen: BTreeMap<u32, Vec<EventId>> = BTreeMap::new();
    for place in 0..timeline.owners.len() {
        for saying in given_up(timeline, place).0 {
            let held = timeline
                .grant_at(place, saying.at)
                .is_some_and(|it| timeline.grants[it].surely_covers(saying.at));
            if held {
                seen.entry(saying.event.cycle).or_default().push(saying.event.id);
            }
        }
    }
    seen
}
