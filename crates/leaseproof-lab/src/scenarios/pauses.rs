//! The whole tree stops, or dies, for longer than the TTL.

use super::stage::{Cycle, Part, Stage, Step};
use leaseproof_model::scenario::WitnessMode;

/// `pause-over-ttl`: and one cycle more with the witness's fence in force.
pub fn over_ttl(stage: &mut Stage<'_>) -> Step {
    stage.open_with_contender()?;
    stage.cycles(|stage| over_ttl_cycle(stage, WitnessMode::Record))?;
    stage.one_more(|stage| over_ttl_cycle(stage, WitnessMode::Enforce))?;
    stage.hand_over()
}

/// One cycle of it; `clock-back` and its twin use it, too.
pub fn over_ttl_cycle(stage: &mut Stage<'_>, witness: WitnessMode) -> Step<Cycle> {
    let (target, successor) = stage.roles()?;
    stage.begin(&target, Some(&successor), witness)?;
    stage.baseline(&target)?;
    stage.step_clock(&target)?;
    let pause = stage.pause(&target, Part::Tree)?;
    let due = stage.until_taken_over(&pause)?;
    stage.thaw(pause, due)?;
    stage.observe(&target)?;
    stage.until_wrote(&successor)?;
    stage.end()
}

/// `pause-uncontested`.
pub fn uncontested(stage: &mut Stage<'_>) -> Step {
    stage.open_alone()?;
    stage.cycles(|stage| {
        let target = stage.sole_holder()?;
        stage.begin(&target, None, WitnessMode::Record)?;
        stage.baseline(&target)?;
        let pause = stage.pause(&target, Part::Tree)?;
        let due = stage.until_expired(&pause)?;
        stage.thaw(pause, due)?;
        stage.observe(&target)?;
        stage.end()
    })?;
    stage.until_back()
}

/// `pause-and-gone`: the lab takes and frees the lease within the pause.
pub fn and_gone(stage: &mut Stage<'_>) -> Step {
    stage.open_alone()?;
    stage.cycles(|stage| {
        let target = stage.sole_holder()?;
        stage.begin_with_lab(&target)?;
        stage.baseline(&target)?;
        let pause = stage.pause(&target, Part::Tree)?;
        let due = stage.until_expired(&pause)?;
        if stage.blocked() {
            stage.thaw(pause, due)?;
            return stage.end();
        }
        stage.lab_takes(stage.budget().ttl)?;
        let due = stage.lab_frees()?;
        stage.thaw(pause, due)?;
        stage.observe(&target)?;
        stage.end()
    })?;
    stage.until_back()
}

/// `killed`.
pub fn killed(stage: &mut Stage<'_>) -> Step {
    stage.open_with_contender()?;
    stage.cycles(|stage| {
        let (target, successor) = stage.roles()?;
        stage.begin(&target, Some(&successor), WitnessMode::Record)?;
        stage.baseline(&target)?;
        let killed = stage.kill(&target)?;
        stage.until_taken_over_from(killed)?;
        stage.until_wrote(&successor)?;
        stage.start_again(&target)?;
        stage.end()
    })?;
    stage.hand_over()
}
