//! What is known about the store, and about the monitor itself.

use super::clock::StoreTime;
use super::worst::Worst;
use leaseproof_model::clock::{BootNanos, Stamp};
use std::sync::Arc;
use std::time::Duration;

/// What is known about the store.
#[derive(Clone, Debug, Default)]
pub struct StoreState {
    /// `redis`, `sqlite` …
    pub kind: String,
    /// Its version.
    pub version: String,
    /// Whether the last round was answered.
    pub up: bool,
    /// Its clock.
    pub time: StoreTime,
    /// Who answers.
    pub epoch: Option<Arc<str>>,
    /// How often another process or role answered.
    pub epoch_changes: u32,
    /// Rounds that were not answered, or refused.
    pub failures: u64,
    /// Those of them that were refused: it answers, and this user may not look.
    pub refusals: u64,
    /// Whether the last round was refused.
    pub refuses: bool,
    /// Whether what answers may be behind the store: a replica.
    pub may_be_behind: bool,
    /// Whether it ever was.
    pub was_behind: bool,
}

/// What is known about the monitor itself.
#[derive(Clone, Debug, Default)]
pub struct Own {
    /// How late it woke, the last time.
    pub lag: Duration,
    /// The worst of the last minutes.
    pub lag_worst: Worst,
    /// How long it did not run, all in all.
    pub blind: Duration,
    /// Rounds that were begun.
    pub rounds: u64,
    /// How much later than an interval after it was due rounds were over, all in all.
    pub behind: Duration,
    /// Rounds that were due in that time, and not begun.
    pub missed: u64,
    /// When that was told last.
    pub late_told: Option<BootNanos>,
    /// How long the last round took.
    pub round: Duration,
    /// When the last round was answered.
    pub last_round: Option<Stamp>,
    /// Leases below prefixes that were left out; of those beyond a listing's bound there is no count.
    pub left_out: u64,
    /// Bytes of logs that were passed over since they came too fast.
    pub log_dropped: u64,
    /// Findings so far: divergences, and tokens that went back.
    pub findings: u64,
}
