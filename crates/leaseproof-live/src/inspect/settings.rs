//! What to look at, and for how long.

use leaseproof_model::budget::Budget;
use leaseproof_store::StoreUrl;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The span without a plan.
pub const STANDARD_SPAN: Duration = Duration::from_secs(10);

/// No span is longer: a look is not a watch.
pub const LONGEST_SPAN: Duration = Duration::from_secs(3600);

/// MONITOR ends after so many commands, whatever its time.
pub const MONITOR_LINES: u64 = 100_000;

/// The longest that MONITOR may be asked for: it costs the server up to half of its throughput.
pub const LONGEST_MONITOR: Duration = Duration::from_secs(60);

/// A plan's numbers.
#[derive(Clone, Debug)]
pub struct PlanGiven {
    /// Its file.
    pub path: String,
    /// Its budget.
    pub budget: Budget,
}

/// One look.
pub struct Settings {
    /// The store.
    pub url: StoreUrl,
    /// The key, as the store has it.
    pub key: Vec<u8>,
    /// How long to take readings for.
    pub span: Duration,
    /// How long the store may take for one answer.
    pub timeout: Duration,
    /// The plan to compare with.
    pub plan: Option<PlanGiven>,
    /// The processes on this host that may be the owner's.
    pub owner_pids: Vec<u32>,
    /// For how long to watch what passes at the server.
    pub monitor: Option<Duration>,
    /// The folder that keeps the evidence.
    pub save: Option<PathBuf>,
    /// Set to end the span early.
    pub stop: Arc<AtomicBool>,
    /// Told what is being done.
    pub progress: Box<dyn Fn(&Progress)>,
}

/// What is being done.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Progress {
    /// The server is watched for this long.
    Monitoring(Duration),
    /// Readings are taken.
    Reading {
        /// For so long by now.
        passed: Duration,
        /// Of this.
        span: Duration,
        /// So many readings.
        readings: u64,
        /// So many renewals among them.
        renewals: u64,
    },
}

/// Two heartbeats of the plan; ten seconds without a plan.
#[must_use]
pub fn standard_span(plan: Option<&PlanGiven>) -> Duration {
    // A little more than two, or the second renewal falls on the very end.
    plan.map_or(STANDARD_SPAN, |plan| {
        plan.budget.heartbeat * 2 + plan.budget.heartbeat / 2 + plan.budget.renew_timeout
    })
}
