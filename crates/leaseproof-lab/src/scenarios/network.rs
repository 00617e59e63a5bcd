//! The network between owner and store fails.

use super::stage::{Part, Stage, Step, WireFault};
use leaseproof_model::scenario::WitnessMode;
use leaseproof_proc::clock::boot_now;

/// `blackhole`.
pub fn blackhole(stage: &mut Stage<'_>) -> Step {
    stage.open_with_contender()?;
    stage.cycles(|stage| {
        let (target, successor) = stage.roles()?;
        stage.begin(&target, Some(&successor), WitnessMode::Record)?;
        stage.baseline(&target)?;
        let cut = stage.cut(&target, WireFault::Blackhole)?;
        stage.until_taken_over_from(cut.confirmed())?;
        // An owner that trusts the silence writes on now, beside its successor.
        let due = stage.watch_heartbeats(2)?;
        stage.heal(cut, due)?;
        stage.observe(&target)?;
        stage.until_wrote(&successor)?;
        stage.end()
    })?;
    stage.hand_over()
}

/// `pause-renewing`: the answer to a renewal is on its way as the pause begins, and waits in the owner's socket as
/// it ends.
pub fn renewing(stage: &mut Stage<'_>) -> Step {
    stage.open_with_contender()?;
    stage.cycles(|stage| {
        let (target, successor) = stage.roles()?;
        stage.begin(&target, Some(&successor), WitnessMode::Record)?;
        stage.baseline(&target)?;
        // What is answered next is a renewal then.
        stage.until_idle()?;
        let unread = stage.cut(&target, WireFault::DelayAnswers)?;
        stage.until_answered(&target)?;
        let pause = stage.pause(&target, Part::Tree)?;
        stage.heal(unread, boot_now())?;
        let due = stage.until_taken_over(&pause)?;
        stage.thaw(pause, due)?;
        stage.observe(&target)?;
        stage.until_wrote(&successor)?;
        stage.end()
    })?;
    stage.hand_over()
}

/// `reset`.
pub fn reset(stage: &mut Stage<'_>) -> Step {
    disturbed(stage, WireFault::Reset)
}

/// `idle-drop`.
pub fn idle_drop(stage: &mut Stage<'_>) -> Step {
    disturbed(stage, WireFault::IdleDrop)
}

/// The connections that there are end, one way or the other; new ones work.
fn disturbed(stage: &mut Stage<'_>, fault: WireFault) -> Step {
    stage.open_with_contender()?;
    stage.cycles(|stage| {
        let (target, successor) = stage.roles()?;
        stage.begin(&target, Some(&successor), WitnessMode::Record)?;
        stage.baseline(&target)?;
        if fault == WireFault::IdleDrop {
            stage.until_idle()?;
        }
        let cut = stage.cut(&target, fault)?;
        let due = stage.until_renewed_or_over(cut.confirmed())?;
        stage.heal(cut, due)?;
        stage.observe(&target)?;
        stage.end()
    })?;
    stage.hand_over()
}
