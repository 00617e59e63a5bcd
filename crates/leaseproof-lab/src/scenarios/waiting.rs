//! `pause-waiting`: a waiter is paused in the queue for longer than its own TTL.

use super::stage::{Part, Stage, Step};

/// Runs it: the lab holds, the owner waits.
pub fn run(stage: &mut Stage<'_>) -> Step {
    stage.cycles(|stage| {
        stage.lab_takes_long()?;
        let waiter = stage.start_waiter()?;
        stage.begin_with_lab(&waiter)?;
        stage.until_waiting(&waiter)?;
        let pause = stage.pause(&waiter, Part::Tree)?;
        let due = stage.until_length(&pause, stage.over_ttl())?;
        stage.thaw(pause, due)?;
        stage.observe(&waiter)?;
        stage.lab_frees()?;
        stage.until_holds_and_wrote(&waiter)?;
        stage.retire(&waiter)?;
        stage.end()
    })
}
