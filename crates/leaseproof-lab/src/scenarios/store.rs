//! The store itself fails, and it is one of our own.

use super::stage::{Stage, Step};
use leaseproof_model::scenario::WitnessMode;

/// How far the store's clock is stepped: all leases are over then, whatever their TTL.
const HOUR_NS: i64 = 3_600_000_000_000;

/// `store-paused`: for longer than the TTL. Of several members the one that leads.
pub fn paused(stage: &mut Stage<'_>) -> Step {
    stage.open_with_contender()?;
    stage.cycles(|stage| {
        let (target, successor) = stage.roles()?;
        stage.begin(&target, Some(&successor), WitnessMode::Record)?;
        stage.baseline(&target)?;
        let paused = stage.pause_store()?;
        let from = paused.confirmed();
        if paused.others_go_on() {
            stage.until_another_leads(&paused)?;
        }
        let due = stage.until_over_ttl(from)?;
        stage.thaw_store(paused, due)?;
        stage.observe(&target)?;
        stage.until_back()?;
        stage.end()
    })?;
    stage.hand_over()
}

/// `store-failover`: until another member leads.
pub fn failover(stage: &mut Stage<'_>) -> Step {
    stage.open_with_contender()?;
    stage.cycles(|stage| {
        let (target, successor) = stage.roles()?;
        stage.begin(&target, Some(&successor), WitnessMode::Record)?;
        stage.baseline(&target)?;
        let paused = stage.pause_store()?;
        let due = stage.until_another_leads(&paused)?;
        stage.thaw_store(paused, due)?;
        stage.observe(&target)?;
        stage.until_back()?;
        stage.end()
    })?;
    stage.hand_over()
}

/// `store-restarted` and `store-emptied`.
pub fn restarted(stage: &mut Stage<'_>, with_data: bool) -> Step {
    stage.open_with_contender()?;
    stage.cycles(|stage| {
        let (target, successor) = stage.roles()?;
        stage.begin(&target, Some(&successor), WitnessMode::Record)?;
        stage.baseline(&target)?;
        stage.restart_store(with_data)?;
        stage.observe(&target)?;
        stage.until_back()?;
        stage.end()
    })?;
    stage.hand_over()
}

/// `store-clock`.
pub fn clock(stage: &mut Stage<'_>) -> Step {
    stage.open_with_contender()?;
    stage.cycles(|stage| {
        let (target, successor) = stage.roles()?;
        stage.begin(&target, Some(&successor), WitnessMode::Record)?;
        stage.baseline(&target)?;
        stage.step_store_clock(HOUR_NS)?;
        stage.observe(&target)?;
        stage.until_back()?;
        stage.end()
    })?;
    stage.hand_over()
}
