//! Premises about the stepped wall clock.

use super::scene::{Scene, Seen};
use leaseproof_model::event::FaultKind;

pub(super) fn shim_mapped(scene: &Scene<'_, '_, '_>) -> Seen {
    let Some(owner) = scene.owner() else {
        return Seen::unknown("no owner is on record", []);
    };
    let of_cycle = owner.wall.iter().rev().find(|it| it.at.earliest <= scene.over());
    match of_cycle {
        Some(count) if count.mapped => {
            Seen::yes("the clock shim is mapped in every process of the owner", [count.event])
        }
        Some(count) => Seen::no(
            "a process of the owner does not map the clock shim (a static program?)",
            [count.event],
        ),
        None => Seen::unknown("whether the clock shim is mapped was not recorded", []),
    }
}

/// Wall reads through the shim were counted after the step (in the unstepped twin: at all).
pub(super) fn wall_reads_counted(scene: &Scene<'_, '_, '_>) -> Seen {
    let Some(owner) = scene.owner() else {
        return Seen::unknown("no owner is on record", []);
    };
    let step = scene.fault(FaultKind::ClockStep).and_then(|fault| fault.began());
    let Some(from) = step.or(scene.timeline.ask.twin.then_some(scene.cycle.began.at)) else {
        return Seen::unknown("no step of the clock is on record", []);
    };
    let place = owner.wall.partition_point(|it| it.at.latest <= from.latest);
    let before = place.checked_sub(1).map_or(0, |last| owner.wall[last].count);
    let after = owner.wall[place..].iter().find(|it| it.count > before);
    match after {
        Some(count) => Seen::yes(
            format!(
                "{} wall reads were counted after the step (offset {} ns)",
                count.count - before,
                count.offset_ns
            ),
            [count.event],
        ),
        None => Seen::unknown(
            "the owner read no wall clock through libc after the step: the scenario does not apply to it",
            [],
        ),
    }
}
