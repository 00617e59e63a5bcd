//! Developer commands: is the tool itself right (`truth`), are the owners that it offers (`proven`), does a store that
//! fails ever contradict it (`soak`), does it clean up (`torture`), what does its monitor cost and bear (`watch`), does
//! the gate forget anything (`gate`), does the library's protocol hold (`simulate`), and how often does `diagnose` name
//! the cause (`incidents`, `accuracy`).

mod accuracy;
mod build;
#[path = "../../crates/leaseproof-store/tests/consul_server/mod.rs"]
mod consul_server;
#[path = "../../crates/leaseproof-store/tests/etcd_server/mod.rs"]
mod etcd_server;
mod gate;
mod incidents;
mod matrix;
mod plan;
#[path = "../../crates/leaseproof-store/tests/postgres_server/mod.rs"]
mod postgres_server;
mod proven;
#[path = "../../crates/leaseproof-store/tests/redis_server/mod.rs"]
mod redis_server;
mod runs;
mod server;
mod simulate;
mod soak;
mod torture;
mod truth;
mod watch;
#[path = "../../crates/leaseproof-store/tests/zookeeper_server/mod.rs"]
mod zookeeper_server;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "xtask", about)]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Runs every flaw in the scenario that demands it, and the sound owner through whole suites;
    /// prints the confusion matrix and N.
    Truth(truth::TruthArgs),
    /// Runs the library's owner, `hold` and a worker behind the gate through suites on every store, and sums up.
    Proven(proven::ProvenArgs),
    /// Becomes an owner whose resource stands behind a gate; for `proven`.
    #[command(hide = true)]
    Behind(proven::BehindArgs),
    /// Lets stores fail again and again, and compares what was made of it with the store's own words.
    Soak(soak::SoakArgs),
    /// Kills, stops and hangs runs at random instants and at each named point, and looks for what is left.
    Torture(torture::TortureArgs),
    /// Kills the gate under load, and looks for what it forgot.
    #[command(subcommand)]
    Gate(gate::GateTask),
    /// Runs the library's protocol through seeded schedules of losses, delays, pauses, drifts and crashes.
    Simulate(simulate::SimulateArgs),
    /// Makes incidents whose truth is known, to measure `diagnose` by.
    Incidents(incidents::IncidentArgs),
    /// How often `diagnose` names the cause of such incidents; fails where it was certain and wrong.
    Accuracy(accuracy::AccuracyArgs),
    /// The monitor: what many leases cost it, and whether its alert ever fires for a sound owner.
    #[command(subcommand)]
    Watch(watch::WatchTask),
}

fn main() -> ExitCode {
    // The hidden roles of whoever starts owners in a warden's care.
    let mut words = std::env::args_os().skip(1);
    match words.next().as_deref().and_then(std::ffi::OsStr::to_str) {
        Some(leaseproof_fault::warden::WORD) => return leaseproof_fault::warden::main(words),
        Some(leaseproof_fault::launch::STUB_WORD) => return leaseproof_fault::launch::stub_main(words),
        _ => {}
    }
    let done = match Args::parse().task {
        Task::Truth(args) => truth::run(&args),
        Task::Proven(args) => proven::run(&args),
        Task::Behind(args) => proven::behind(&args),
        Task::Soak(args) => soak::run(&args),
        Task::Torture(args) => torture::run(&args),
        Task::Gate(task) => gate::run(&task),
        Task::Simulate(args) => simulate::run_all(&args),
        Task::Incidents(args) => incidents::run(&args),
        Task::Accuracy(args) => accuracy::run(&args),
        Task::Watch(task) => watch::run(&task),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(says) => {
            eprintln!("error: {says}");
            ExitCode::from(2)
        }
    }
}
