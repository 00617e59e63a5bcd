//! `cache-fill`: the owner has read a value, and is paused before it fills a cache with it.

use super::stage::{Halt, Part, Stage, Step};
use leaseproof_model::scenario::WitnessMode;

/// Runs it.
pub fn run(stage: &mut Stage<'_>) -> Step {
    stage.open_with_contender()?;
    stage.cycles(|stage| {
        let (target, successor) = stage.roles()?;
        stage.begin(&target, Some(&successor), WitnessMode::Enforce)?;
        stage.baseline(&target)?;
        if !stage.fills(&target) {
            return Err(Halt::NotOffered(
                "the owner fills no cache: it made no PUT $LEASEPROOF_RESOURCE/cache while it held the lease"
                    .to_owned(),
            ));
        }
        if !stage.sends_tokens(&target) {
            return Err(Halt::NotOffered(
                "the owner's writes carry no fencing token, so that the values have no versions".to_owned(),
            ));
        }
        let held = stage.hold_read(&target)?;
        let pause = stage.pause(&target, Part::Tree)?;
        stage.until_taken_over(&pause)?;
        let due = stage.until_wrote(&successor)?;
        // The answer waits for the owner, as it does where the pause falls between the read and the fill.
        stage.let_go(held)?;
        stage.thaw(pause, due)?;
        stage.observe(&target)?;
        stage.end()
    })?;
    stage.hand_over()
}
