//! The owner releases or renews: cleanly, or after a silent successor took over in a pause.

use super::stage::{Part, Stage, Step};
use leaseproof_model::scenario::WitnessMode;

/// `clean-release`.
pub fn clean(stage: &mut Stage<'_>) -> Step {
    stage.open_alone()?;
    stage.cycles(|stage| {
        let target = stage.sole_holder()?;
        stage.begin(&target, None, WitnessMode::Record)?;
        stage.baseline(&target)?;
        stage.terminate(&target)?;
        stage.until_free()?;
        // What renews after the release does it within its next heartbeats.
        stage.watch_heartbeats(2)?;
        stage.start_again(&target)?;
        stage.until_back()?;
        stage.end()
    })
}

/// `release-after-loss`.
pub fn after_loss(stage: &mut Stage<'_>) -> Step {
    late(stage, true)
}

/// `renew-after-loss`.
pub fn renew_after_loss(stage: &mut Stage<'_>) -> Step {
    late(stage, false)
}

fn late(stage: &mut Stage<'_>, release: bool) -> Step {
    stage.open_alone()?;
    stage.cycles(|stage| {
        let target = stage.sole_holder()?;
        stage.begin_with_lab(&target)?;
        stage.baseline(&target)?;
        let pause = stage.pause(&target, if release { Part::TreeForSignals } else { Part::Tree })?;
        let due = stage.until_expired(&pause)?;
        if stage.blocked() {
            stage.thaw(pause, due)?;
            return stage.end();
        }
        let due = stage.lab_takes_long()?;
        if release {
            // Pending until the thaw: the first thing that the owner hears is the request to release.
            stage.terminate(&target)?;
        }
        stage.thaw(pause, due)?;
        stage.observe(&target)?;
        stage.lab_frees()?;
        if release {
            stage.start_again(&target)?;
        }
        stage.until_back()?;
        stage.end()
    })
}
