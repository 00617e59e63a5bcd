//! `cargo xtask watch bench` and `cargo xtask watch soak`.

mod bench;
mod http;
mod load;
mod soak;

use clap::Subcommand;

/// What to find out about the monitor.
#[derive(Subcommand)]
pub enum WatchTask {
    /// What 1,000, 10,000 and 100,000 leases cost it, at one reading a second, on Redis or on etcd.
    Bench(bench::BenchArgs),
    /// A sound owner is paused again and again under a real Prometheus: the alert must never fire; then a
    /// flawed one is, and it must.
    Soak(soak::SoakArgs),
}

/// Runs it.
pub fn run(task: &WatchTask) -> Result<bool, String> {
    match task {
        WatchTask::Bench(args) => bench::run(args),
        WatchTask::Soak(args) => soak::run(args),
    }
}
