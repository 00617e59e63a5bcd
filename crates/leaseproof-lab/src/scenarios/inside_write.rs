//! `pause-inside-write`: a write is held in flight by the witness while its owner is paused.

use super::stage::{Halt, Part, Stage, Step};
use leaseproof_model::scenario::WitnessMode;

/// Runs it.
pub fn run(stage: &mut Stage<'_>) -> Step {
    stage.open_with_contender()?;
    stage.cycles(|stage| {
        let (target, successor) = stage.roles()?;
        stage.begin(&target, Some(&successor), WitnessMode::Enforce)?;
        stage.baseline(&target)?;
        if !stage.sends_tokens(&target) && !stage.requires_token() {
            return Err(Halt::NotOffered(
                "the owner's writes carry no fencing token, so no resource could refuse the held one (require_token = true runs it anyway)".to_owned(),
            ));
        }
        let held = stage.hold_write(&target)?;
        let pause = stage.pause(&target, Part::Tree)?;
        stage.until_taken_over(&pause)?;
        let due = stage.until_wrote(&successor)?;
        stage.thaw(pause, due)?;
        stage.let_go(held)?;
        stage.observe(&target)?;
        stage.end()
    })?;
    stage.hand_over()
}
