//! The owner is disturbed for less than the margin, and must keep its lease.

use super::stage::{Cycle, Part, Stage, Step};
use leaseproof_model::scenario::WitnessMode;

/// `pause-within-margin`.
pub fn within_margin(stage: &mut Stage<'_>) -> Step {
    stage.open_with_contender()?;
    stage.cycles(|stage| {
        let (target, successor) = stage.roles()?;
        stage.begin(&target, Some(&successor), WitnessMode::Record)?;
        stage.baseline(&target)?;
        let pause = stage.pause(&target, Part::Tree)?;
        let due = stage.until_length(&pause, stage.budget().worst_pause)?;
        let length = stage.thaw(pause, due)?;
        stage.observe(&target)?;
        let cycle = stage.end()?;
        // A thaw that came late made it another scenario: drawn again.
        Ok(if length >= stage.budget().margin() {
            Cycle::Redraw
        } else {
            cycle
        })
    })?;
    stage.hand_over()
}
