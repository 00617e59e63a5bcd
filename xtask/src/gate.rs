//! `cargo xtask gate`: does the gate forget anything.

mod kills;
mod process;
#[path = "../../crates/leaseproof-gate/tests/http/resource.rs"]
#[expect(dead_code, reason = "shared with the crate's own tests")]
mod resource;

use clap::Subcommand;

/// What is done to the gate.
#[derive(Subcommand)]
pub enum GateTask {
    /// Kills it under load again and again: no mark that was answered for is lost, and nothing stale goes on.
    Kills(kills::KillsArgs),
}

/// Runs it; whether nothing was lost.
pub fn run(task: &GateTask) -> Result<bool, String> {
    match task {
        GateTask::Kills(args) => kills::run(args),
    }
}
