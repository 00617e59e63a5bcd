//! One part of the tree stops: the part that holds, or the part that works.

use super::stage::{Halt, Part, Stage, Step};
use leaseproof_model::scenario::WitnessMode;

/// `parent-only`.
pub fn parent_only(stage: &mut Stage<'_>) -> Step {
    stage.open_with_contender()?;
    stage.cycles(|stage| {
        let (target, successor) = stage.roles()?;
        stage.begin(&target, Some(&successor), WitnessMode::Record)?;
        stage.baseline(&target)?;
        stage.needs_child(&target)?;
        let pause = stage.pause(&target, Part::Parent)?;
        let within = stage.watch_within(&target)?;
        let due = stage.until_taken_over(&pause)?;
        if stage.renewed_during(&pause) {
            stage.thaw(pause, due)?;
            return Err(Halt::NotOffered(
                "the lease was renewed while the parent was stopped: another process of the tree holds it, so this asks nothing new".to_owned(),
            ));
        }
        // The child may still run beside the successor: seen before the parent wakes, or never.
        let due = stage.watch_heartbeats(2)?;
        drop(within);
        stage.thaw(pause, due)?;
        stage.observe(&target)?;
        stage.until_wrote(&successor)?;
        stage.end()
    })?;
    stage.hand_over()
}

/// `child-only`.
pub fn child_only(stage: &mut Stage<'_>) -> Step {
    stage.open_with_contender()?;
    stage.cycles(|stage| {
        let (target, successor) = stage.roles()?;
        stage.begin(&target, Some(&successor), WitnessMode::Record)?;
        stage.baseline(&target)?;
        stage.needs_child(&target)?;
        let pause = stage.pause(&target, Part::Child)?;
        let due = stage.until_length(&pause, stage.over_ttl())?;
        let renewed = stage.renewed_during(&pause);
        stage.thaw(pause, due)?;
        if !renewed {
            return Err(Halt::NotOffered(
                "the lease was not renewed while the children were stopped: a child holds it, and that is what pause-over-ttl asks".to_owned(),
            ));
        }
        stage.observe(&target)?;
        stage.end()
    })?;
    stage.hand_over()
}
