//! The owner's wall clock steps. The stepped arm and its unstepped twin run the same script.

use super::pauses::over_ttl_cycle;
use super::stage::{Stage, Step};
use leaseproof_model::scenario::WitnessMode;

const HOUR_NS: i64 = 3_600_000_000_000;

/// `clock-forward`.
pub fn forward(stage: &mut Stage<'_>) -> Step {
    stage.set_clock_step(HOUR_NS);
    stage.open_with_contender()?;
    stage.cycles(|stage| {
        let (target, successor) = stage.roles()?;
        stage.begin(&target, Some(&successor), WitnessMode::Record)?;
        stage.baseline(&target)?;
        stage.step_clock(&target)?;
        stage.watch_heartbeats(1)?;
        stage.observe(&target)?;
        stage.end()
    })?;
    stage.hand_over()
}

/// `clock-back`.
pub fn back(stage: &mut Stage<'_>) -> Step {
    stage.set_clock_step(-HOUR_NS);
    stage.open_with_contender()?;
    stage.cycles(|stage| over_ttl_cycle(stage, WitnessMode::Record))?;
    stage.hand_over()
}
