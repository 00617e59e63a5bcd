//! Findings and premises → the verdict. Safety and availability apart; a repeat never erases a
//! violated cycle; what is not shown is "cannot tell".

use crate::Policy;
use crate::measures::measures;
use crate::premises::{Scene, Stage, premises};
use crate::rules::{Facts, findings};
use crate::timeline::{Cycle, End, EndKind, Timeline, answered_slowly};
use leaseproof_model::event::OwnerEvent;
use leaseproof_model::finding::Finding;
use leaseproof_model::rule::Class;
use leaseproof_model::scenario::{PremiseName, ScenarioId};
use leaseproof_model::truth::Truth;
use leaseproof_model::verdict::{Premise, ScenarioVerdict, Verdict};
use std::collections::BTreeSet;

/// Everything that one cycle came to.
struct CycleSeen {
    number: u32,
    premises: Vec<Premise>,
    /// The lease was kept, or freed at once, where that is asked; `None` where the cycle can't show it.
    kept: Option<Truth>,
    /// The lab drew it again, and said why.
    redrawn: bool,
    /// The store was watched throughout, and nothing of what was seen was dropped.
    watched: bool,
}

pub(crate) fn verdict(facts: &Facts<'_, '_>, policy: &Policy, twin: Option<ScenarioVerdict>) -> ScenarioVerdict {
    let timeline = facts.timeline;
    let ask = timeline.ask;
    let stage = Stage::new(timeline);
    let cycles: Vec<CycleSeen> = timeline
        .cycles
        .iter()
        .map(|cycle| look(timeline, &stage.scene(cycle), cycle, policy))
        .collect();
    let lost: Vec<u32> = cycles
        .iter()
        .filter(|cycle| cycle.kept == Some(Truth::No))
        .map(|cycle| cycle.number)
        .collect();
    let mut findings = findings(facts, &lost, policy);
    if timeline.cycles.is_empty() && timeline.grants.is_empty() {
        // Nobody ever held this key here: the owner acts on another lease, or in another store, which
        // nobody watched.
        findings.retain(|it| it.class != Class::Breach);
    }
    let breached: BTreeSet<u32> = findings
        .iter()
        .filter(|it| it.class == Class::Breach)
        .map(|it| it.cycle)
        .collect();
    let safe = |cycle: &CycleSeen| {
        cycle.watched
            && cycle.premises.iter().all(|premise| premise.holds.is_yes())
            && !breached.contains(&cycle.number)
    };
    let all = |cycle: &CycleSeen| safe(cycle) && !lost.contains(&cycle.number) && !cycle.redrawn;
    let held = cycles.iter().filter(|cycle| all(cycle)).count();
    let safety = safety(timeline, &cycles, &findings, safe);
    let availability = availability(timeline, &cycles, &findings, safety);
    let mut verdict = safety;
    if ask.availability {
        verdict = verdict.max(availability.unwrap_or(Verdict::CannotTell));
    }
    if let Some(twin) = &twin {
        verdict = verdict.max(twin.verdict);
    }
    ScenarioVerdict {
        id: ask.scenario,
        store: ask.store.kind.clone(),
        verdict,
        safety,
        availability,
        cycles_held: u32::try_from(held).unwrap_or(u32::MAX),
        cycles: u32::try_from(cycles.len()).unwrap_or(u32::MAX),
        took_ms: timeline.history.took_ms,
        premises: cycles.into_iter().flat_map(|cycle| cycle.premises).collect(),
        findings,
        measures: measures(&stage),
        twin: twin.map(Box::new),
    }
}

fn look<'t, 'h>(
    timeline: &'t Timeline<'h>,
    scene: &Scene<'_, 't, 'h>,
    cycle: &'t Cycle<'h>,
    policy: &Policy,
) -> CycleSeen {
    let premises = premises(scene, policy);
    let off = |name: PremiseName| policy.premises_off.contains(name.as_str());
    let too_long = premises
        .iter()
        .any(|premise| premise.name == PremiseName::BelowMargin && !premise.holds.is_yes());
    let late = cycle.rig_late.is_some() && !off(PremiseName::RigOnTime);
    let watched = timeline.watched(cycle);
    CycleSeen {
        number: cycle.number,
        // A cycle that the rig hurt, or did not watch, accuses nobody of losing the lease.
        kept: if too_long || late || !watched {
            None
        } else {
            kept(timeline, scene).filter(|kept| *kept != Truth::No || cycle.starved.is_none())
        },
        redrawn: too_long || late || cycle.writer_frozen.is_some(),
        watched,
        premises,
    }
}

/// What availability asks of a cycle of this scenario.
fn kept(timeline: &Timeline<'_>, scene: &Scene<'_, '_, '_>) -> Option<Truth> {
    if !timeline.ask.availability {
        return None;
    }
    // A cycle that was cut short can't show it: what ended the lease may be the end of the run.
    scene.cycle.ended?;
    let grant = scene
        .grant()
        .filter(|grant| scene.owner().is_some_and(|owner| owner.knows(grant)))?;
    match timeline.ask.scenario {
        ScenarioId::PauseWithinMargin | ScenarioId::Reset | ScenarioId::IdleDrop | ScenarioId::ClockForward => {
            let over = scene.over();
            // Gone before its expiry and nobody on record for it: its owner may have let go without a word.
            let unexplained = grant.end.is_some_and(|end| end.kind == EndKind::Vanished);
            Some(match grant.lasts_until() {
                Some(end) if end.latest < over && unexplained => Truth::CannotTell,
                Some(end) if end.latest < over => Truth::No,
                Some(end) if end.earliest <= over => Truth::CannotTell,
                _ => Truth::Yes,
            })
            .filter(|kept| *kept != Truth::No || !grant.end.is_some_and(|end| no_loss_of_its_own(scene, end)))
            .filter(|kept| *kept != Truth::No || !store_was_slow(timeline, scene))
        }
        // Free at once: released, and not left to its expiry.
        ScenarioId::CleanRelease => Some(match grant.end {
            Some(end) if end.kind == EndKind::Released => Truth::Yes,
            // One that is still at it was asked to let go and is slow: only a process that is gone kept it.
            Some(end)
                if scene
                    .owner()
                    .and_then(|owner| owner.ended)
                    .is_some_and(|gone| gone.at.latest < end.at.earliest) =>
            {
                Truth::No
            }
            _ => Truth::CannotTell,
        })
        .filter(|kept| *kept != Truth::No || !store_was_slow(timeline, scene)),
        _ => None,
    }
}

/// The store lost it, the lab took it away, or its owner let go of its own will: nobody failed to keep it.
fn no_loss_of_its_own(scene: &Scene<'_, '_, '_>, end: End) -> bool {
    let (Some(owner), Some(start)) = (scene.owner(), scene.start) else {
        return false;
    };
    let mut since = owner
        .said_since(start.earliest)
        .iter()
        .filter(|saying| matches!(saying.said.event, OwnerEvent::Lost | OwnerEvent::Released));
    match end.kind {
        EndKind::LostByStore | EndKind::ByLab => true,
        EndKind::Released => since.next().is_some_and(|saying| saying.is(OwnerEvent::Released)),
        EndKind::Expired | EndKind::Overwritten | EndKind::Vanished => false,
    }
}

/// Whether the store answered slowly without any fault of ours between them: the owner's renewals went
/// unanswered before the fault already, or the observer's own looks took as long.
fn store_was_slow(timeline: &Timeline<'_>, scene: &Scene<'_, '_, '_>) -> bool {
    let budget = &timeline.ask.budget;
    let (Some(owner), Some(start)) = (scene.owner(), scene.start) else {
        return false;
    };
    let unanswered = owner
        .said_since(scene.cycle.began.at.earliest.minus(budget.ttl))
        .iter()
        .take_while(|saying| saying.at.earliest <= start.earliest)
        .any(|saying| saying.is(OwnerEvent::RenewFailed) && !saying.is_definite_refusal());
    unanswered || answered_slowly(&timeline.readings, start.earliest, scene.over(), budget)
}

fn safety(
    timeline: &Timeline<'_>,
    cycles: &[CycleSeen],
    findings: &[Finding],
    safe: impl Fn(&CycleSeen) -> bool,
) -> Verdict {
    let breaches = || findings.iter().filter(|it| it.class == Class::Breach);
    if breaches().any(|it| it.certainty.is_yes()) {
        return Verdict::Violated;
    }
    let wanted = usize::try_from(timeline.ask.cycles.max(1)).unwrap_or(usize::MAX);
    let shown = cycles.iter().filter(|cycle| safe(cycle) && !cycle.redrawn).count();
    let all_explained = cycles.iter().all(|cycle| cycle.redrawn || safe(cycle));
    let whole = timeline.history.complete && timeline.abandoned.is_none();
    if whole && breaches().next().is_none() && shown >= wanted && all_explained {
        Verdict::Proven
    } else {
        Verdict::CannotTell
    }
}

fn availability(
    timeline: &Timeline<'_>,
    cycles: &[CycleSeen],
    findings: &[Finding],
    safety: Verdict,
) -> Option<Verdict> {
    let given_up = findings
        .iter()
        .any(|it| it.class == Class::Availability && it.certainty.is_yes());
    let kept = || cycles.iter().filter_map(|cycle| cycle.kept);
    if given_up || kept().any(|it| it == Truth::No) {
        return Some(Verdict::Violated);
    }
    if !timeline.ask.availability {
        return None;
    }
    if kept().any(|it| it == Truth::CannotTell) {
        return Some(Verdict::CannotTell);
    }
    match timeline.ask.scenario {
        // Asked is that the step makes no difference: what safety shows, shows this.
        ScenarioId::ClockBack => (safety == Verdict::Proven).then_some(Verdict::Proven),
        _ => kept().next().map(|_| Verdict::Proven),
    }
}
