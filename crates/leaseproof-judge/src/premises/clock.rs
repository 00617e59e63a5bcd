//! Premises about the stepped wall clock.

use super::scene::{Scene, Seen};
use leaseproof_model::event::FaultKind;

pub(super) fn shim_mapped(scene: &Scene<'_, '_, '_>) -> Seen {
    let Some(owner) = scene.owner() else {
        return Seen::unknown("no owner is on record: run the scenario again", []);
    };
    let counts = owner.wall_in(scene.cycle.number);
    match counts.iter().find(|it| !it.mapped).or(counts.last()) {
        Some(count) if count.mapped => {
            Seen::yes("the clock shim is mapped in every process of the owner", [count.event])
        }
        Some(count) => Seen::no(
            "a process of the owner does not map the clock shim: link it dynamically",
            [count.event],
        ),
        None => Seen::unknown(
            "whether the clock shim is mapped was not recorded: run the scenario again",
            [],
        ),
    }
}

/// Wall reads through the shim were counted after the step (in the unstepped twin: at all).
pub(super) fn wall_reads_counted(scene: &Scene<'_, '_, '_>) -> Seen {
    let Some(owner) = scene.owner() else {
        return Seen::unknown("no owner is on record: run the scenario again", []);
    };
    let step = scene.fault(FaultKind::ClockStep).and_then(|fault| fault.began());
    let Some(from) = step.or(scene.timeline.ask.twin.then_some(scene.cycle.began.at)) else {
        return Seen::unknown("no step of the clock is on record: run the scenario again", []);
    };
    let counts = || {
        let all = owner.wall_in(scene.cycle.number).iter();
        all.filter(|it| from.earliest <= it.at.latest)
    };
    let (Some(first), Some(last)) = (counts().next(), counts().next_back()) else {
        return Seen::unknown("no wall reads were counted in this cycle: run the scenario again", []);
    };
    if first.count < last.count {
        let says = format!(
            "{} wall reads were counted after the step (offset {} ns)",
            last.count - first.count,
            last.offset_ns
        );
        return Seen::yes(says, [first.event, last.event]);
    }
    Seen::unknown(
        "the owner read no wall clock through libc after the step: leave this scenario out for it",
        [first.event, last.event],
    )
}
