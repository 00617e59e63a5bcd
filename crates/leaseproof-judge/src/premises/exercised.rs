//! *Exercised*: without work on both sides of the fault, silence proves nothing.

use super::scene::{Scene, Seen, Work};
use crate::timeline::{Owner, Standing, Timeline};
use crate::words::ms;
use leaseproof_model::event::EventId;
use leaseproof_model::moment::Moment;
use leaseproof_model::scenario::ScenarioId;

/// An act inside its grant before the fault; after it the owner ran for two heartbeats or ended by
/// itself, and a write in a later grant, by it or its restarted successor, showed its work alive.
/// Where the lease is kept, the later write may be in the same grant.
pub(super) fn exercised(scene: &Scene<'_, '_, '_>) -> Seen {
    let timeline = scene.timeline;
    let (Some(owner), Some(start), Some(end)) = (scene.owner(), scene.start, scene.end) else {
        return Seen::unknown(
            "no fault met the target, so nothing was exercised: run the scenario again",
            [],
        );
    };
    let mut ids = Vec::new();
    if timeline.ask.scenario != ScenarioId::PauseWaiting {
        let Some(held) = scene.held else {
            return Seen::unknown(
                format!(
                    "no grant of {} is known at the fault: let it print `acquired`, or use $LEASEPROOF_OWNER in its holder",
                    owner.name
                ),
                [],
            );
        };
        match act_before(owner, held, start) {
            Some(act) => ids.push(act),
            None => {
                return Seen::unknown(
                    format!(
                        "{} did nothing as the holder before the fault: let it write to $LEASEPROOF_RESOURCE",
                        owner.name
                    ),
                    [],
                );
            }
        }
    }
    let heartbeats = timeline.ask.budget.heartbeat * 2;
    let ended = owner.ended.filter(|ended| start.earliest <= ended.at.latest);
    let ran = owner.ran_at_least(end.latest, timeline.end);
    if ended.is_none() && ran < heartbeats {
        return Seen::unknown(
            format!(
                "{} ran for {} after the fault, two heartbeats are needed: let the cycle go on",
                owner.name,
                ms(ran)
            ),
            ids,
        );
    }
    ids.extend(ended.map(|ended| ended.event));
    match alive_after(scene, owner, start, end) {
        Some(write) => {
            ids.push(write);
            Seen::yes(
                format!(
                    "{} acted before the fault, and work of its own was alive after it",
                    owner.name
                ),
                ids,
            )
        }
        None => Seen::unknown(no_later_work(scene, owner, end), ids),
    }
}

/// The last act on this grant before the fault.
fn act_before(owner: &Owner<'_>, held: usize, start: Moment) -> Option<EventId> {
    let before = owner.acts.partition_point(|act| act.at.latest <= start.latest);
    owner.acts[..before]
        .iter()
        .rev()
        .take_while(|act| act.standing != Standing::Ungranted)
        .take(1000)
        .find(|act| act.standing == Standing::Granted(held))
        .map(|act| act.event.id)
}

/// A write after the fault, in the same grant where that was kept, else in a later one.
fn alive_after(scene: &Scene<'_, '_, '_>, owner: &Owner<'_>, start: Moment, end: Moment) -> Option<EventId> {
    let timeline = scene.timeline;
    let kept = scene
        .grant()
        .is_some_and(|grant| grant.lasts_until().is_none_or(|until| end.latest < until.earliest));
    if let Some(held) = scene.held.filter(|_| kept)
        && let Some(Work { last: (at, event), .. }) = scene.stage.work[held]
        && end.latest < at.earliest
    {
        return Some(event);
    }
    lineage(timeline, owner)
        .flat_map(|owner| later(timeline, owner, scene.held, start))
        .find_map(|grant| {
            let work = scene.stage.work[grant]?;
            (end.earliest < work.last.0.latest).then_some(work.last.1)
        })
}

/// Why no later work was seen, and what to change: one that never acquired anew is not one that acquired
/// and did nothing, and neither is one that gave no sign of life.
fn no_later_work(scene: &Scene<'_, '_, '_>, owner: &Owner<'_>, end: Moment) -> String {
    let timeline = scene.timeline;
    let kept = scene
        .grant()
        .is_some_and(|grant| grant.lasts_until().is_none_or(|until| end.latest < until.earliest));
    let again = lineage(timeline, owner)
        .find_map(|it| Some((it, later(timeline, it, scene.held, end).next()?)))
        .map(|(it, grant)| (&it.name, timeline.grants[grant].token));
    let since = |at: Moment| end.latest < at.earliest;
    let lives = || lineage(timeline, owner);
    let acts = lives().flat_map(|it| &it.acts).filter(|act| since(act.at)).count();
    let words = lives()
        .flat_map(|it| &it.said)
        .filter(|saying| since(saying.at))
        .count();
    match again {
        Some((name, token)) => format!(
            "{name} acquired the lease anew{} after the fault, and no write in it was seen: \
             let it write as soon as it holds the lease again, or let the cycle go on",
            token.map_or_else(String::new, |token| format!(" (token {token})"))
        ),
        None if kept => format!(
            "{} kept its lease, and no write in it was seen after the fault: let it write within two heartbeats",
            owner.name
        ),
        None if acts > 0 => format!(
            "{} acted {} after the fault, and neither it nor a restarted successor ever acquired the lease anew: \
             let it acquire again when it lost the lease, or exit so that it is started again",
            owner.name,
            times(acts),
        ),
        None if words > 0 => format!(
            "{} went on after the fault, and neither it nor a restarted successor acquired the lease anew: \
             let it acquire again, or use a contender that lets go",
            owner.name
        ),
        None => format!(
            "{} gave no sign of life after the fault, and nothing started in its place did: \
             see in its output whether it hung or died",
            owner.name
        ),
    }
}

fn times(n: usize) -> String {
    match n {
        1 => "once".to_owned(),
        n => format!("{n} times"),
    }
}

/// The owner and those that a supervisor started in its place.
fn lineage<'t, 'h>(timeline: &'t Timeline<'h>, owner: &'t Owner<'h>) -> impl Iterator<Item = &'t Owner<'h>> {
    timeline.owners.iter().filter(move |other| {
        other.name == owner.name
            || (owner.slot.is_some()
                && other.slot == owner.slot
                && other.started.map(|event| event.at.earliest) >= owner.started.map(|event| event.at.earliest))
    })
}

/// The grants of an owner after the one that it held, or begun after the fault where it held none.
fn later<'t>(
    timeline: &'t Timeline<'_>,
    owner: &'t Owner<'_>,
    held: Option<usize>,
    start: Moment,
) -> impl Iterator<Item = usize> + 't {
    let from = match held {
        Some(held) => owner.grants.partition_point(|grant| *grant <= held),
        None => owner
            .grants
            .partition_point(|grant| timeline.grants[*grant].begin.latest <= start.earliest),
    };
    owner.grants[from..].iter().copied()
}
