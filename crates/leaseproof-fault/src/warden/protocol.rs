//! What run and warden say to each other: JSON lines, one answer for each request.

use super::traces::Traces;
use super::wards::Healed;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::ProcessId;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The first line of a journal, and the first that the warden hears.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    pub schema: String,
    pub boot_id: String,
    pub run: ProcessId,
    pub warden: ProcessId,
    pub mark: String,
}

pub(crate) const JOURNAL_SCHEMA: &str = "leaseproof.journal/1";

/// What the run asks of the warden.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Request {
    /// The first: who the run is.
    Hello { run: ProcessId, mark: String },
    /// A control group is about to be made.
    Cgroup { path: PathBuf },
    /// An owner is about to become its command.
    Owner { root: ProcessId, cgroup: Option<PathBuf> },
    /// An owner and all of its tree have ended.
    OwnerGone { root: ProcessId },
    /// A fault is about to be applied.
    Fault(Ward),
    /// More processes belong to a fault.
    Extend { fault: u64, processes: Vec<ProcessId> },
    /// A fault is undone.
    Clear { fault: u64 },
    /// The run is about to make something in a store.
    Made(Traces),
    /// What it made for this key is gone from the store.
    Swept { key: String },
    /// A folder is about to be made that nobody needs once the run is over.
    Folder { path: PathBuf },
    /// Undo every fault.
    UndoAll,
    /// Undo every fault and end every owner.
    EndAll,
    /// A sign of life, and the question for one.
    Ping,
}

/// A fault, as the warden has to know it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Ward {
    pub fault: u64,
    pub deadline: BootNanos,
    pub undo: Undo,
}

/// How a fault is undone.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Undo {
    /// Let these go on, and (unless `only` they were meant) whatever else of the root's tree stands.
    Resume {
        root: ProcessId,
        processes: Vec<ProcessId>,
        only: bool,
    },
    /// Thaw this control group.
    Thaw { cgroup: PathBuf },
    /// Set the offset in this clock page to 0.
    ResetClock { page: PathBuf },
}

/// What the warden answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reply {
    /// To `Hello`: it is up.
    Ready { warden: ProcessId, journal: PathBuf },
    /// It knows, and the journal has it.
    Known,
    /// To `Clear`: whether the deadline came first, and when it was undone then.
    Cleared { fired: Option<Moment> },
    /// To `UndoAll` and `EndAll`.
    Healed { healed: Vec<Healed> },
    /// It doesn't.
    Refused { why: String },
}
