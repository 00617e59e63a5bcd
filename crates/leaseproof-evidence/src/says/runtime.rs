//! What a runtime says about its own stops. A stop from outside that falls into one is logged as one.

use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// What stopped the program's threads, by the runtime's word.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopKind {
    /// A safepoint: it holds the collection's pause, and is what counts.
    Safepoint,
    /// A collection's pause.
    Gc,
    /// One thread that waited for memory: the others ran.
    AllocationStall,
}

/// CPU time that a stop used: far less than its length means that it stood still.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CpuTime {
    /// In user mode.
    pub user: Duration,
    /// In the kernel.
    pub sys: Duration,
    /// By the wall.
    pub real: Duration,
}

/// What a runtime says.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuntimeSays {
    /// The program's threads stood still, by the runtime's word. The record's stamp says whether it is begin or end.
    Stop {
        /// For how long.
        took: Duration,
        /// What it was.
        kind: StopKind,
        /// The operation: `G1CollectFull`, `Pause Young (Normal) (G1 Evacuation Pause)`, `Scavenge`.
        operation: Arc<str>,
        /// The part of it that was spent waiting for threads to reach the safepoint.
        reaching: Option<Duration>,
        /// CPU time, where the line says.
        cpu: Option<CpuTime>,
        /// The heap in bytes: before, after.
        heap: Option<(u64, u64)>,
        /// The number of the collection, which joins its lines.
        id: Option<u64>,
    },
    /// CPU time of a collection whose pause is another line (joined by `id`).
    StopCpu {
        /// The number of the collection.
        id: u64,
        /// Its CPU time.
        cpu: CpuTime,
    },
    /// The runtime wrote that it ran on for this long since its last stop.
    Ran {
        /// For how long.
        lasted: Duration,
    },
    /// Threads took too long to reach a safepoint.
    SafepointTimeout {
        /// In its words.
        what: Arc<str>,
    },
    /// A beat with a fixed period: a missing one is a stop.
    Beat {
        /// The period, as the file shows it.
        period: Option<Duration>,
    },
    /// A pause monitor inside the process woke late.
    WokeLate {
        /// By how much, counted back from the stamp.
        by: Duration,
    },
    /// The file's chain of stamps and spans does not close: lines are missing there, and the hole is not "running".
    LinesLost {
        /// How long the hole is.
        hole: Duration,
    },
    /// A goroutine, thread or task that has been waiting, out of a dump.
    Waiting {
        /// Its state: `semacquire`, `IO wait`.
        state: Arc<str>,
        /// For at least this long.
        at_least: Duration,
    },
}

impl RuntimeSays {
    /// A short name for counts.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Stop { .. } => "runtime stop",
            Self::StopCpu { .. } => "runtime stop cpu",
            Self::Ran { .. } => "runtime ran",
            Self::SafepointTimeout { .. } => "runtime safepoint timeout",
            Self::Beat { .. } => "runtime beat",
            Self::WokeLate { .. } => "runtime woke late",
            Self::LinesLost { .. } => "runtime lines lost",
            Self::Waiting { .. } => "runtime waiting",
        }
    }
}
