//! The lease ends early: removed, or given to a silent successor.

use super::stage::{Stage, Step};

/// `key-deleted`.
pub fn deleted(stage: &mut Stage<'_>) -> Step {
    stage.open_alone()?;
    stage.cycles(|stage| {
        let target = stage.sole_holder()?;
        stage.begin_with_lab(&target)?;
        stage.baseline(&target)?;
        stage.lab_deletes()?;
        stage.observe(&target)?;
        stage.end()
    })?;
    stage.until_back()
}

/// `key-stolen`.
pub fn stolen(stage: &mut Stage<'_>) -> Step {
    stage.open_alone()?;
    stage.cycles(|stage| {
        let target = stage.sole_holder()?;
        stage.begin_with_lab(&target)?;
        stage.baseline(&target)?;
        stage.lab_steals()?;
        stage.observe(&target)?;
        stage.lab_frees()?;
        stage.end()
    })?;
    stage.until_back()
}
