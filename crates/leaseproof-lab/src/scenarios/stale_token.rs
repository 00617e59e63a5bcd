//! `stale-token`: a self-check of the rig. The lab itself holds twice, writes as each holder, and
//! replays the first token: it must be rejected, also after the witness was killed and restarted.

use super::stage::{Stage, Step};

/// Runs it.
pub fn run(stage: &mut Stage<'_>) -> Step {
    stage.cycles(|stage| {
        stage.begin_self_check()?;
        let first = stage.lab_token()?;
        stage.lab_writes(first)?;
        let second = stage.lab_token()?;
        stage.lab_writes(second)?;
        stage.replay(first)?;
        stage.restart_witness()?;
        stage.replay(first)?;
        stage.end()
    })
}
