//! Faults and their phases.

use crate::name::ProcessId;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The kind of a fault.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The whole tree stopped.
    PauseTree,
    /// Only the root process stopped.
    PauseParent,
    /// Only the children stopped.
    PauseChild,
    /// SIGKILL of the whole tree.
    KillTree,
    /// SIGTERM to the root process: the request to release.
    Terminate,
    /// The owner's wall clock stepped by `amount` nanoseconds (in the details).
    ClockStep,
    /// Bytes between owner and store vanish.
    Blackhole,
    /// Connections between owner and store reset.
    Reset,
    /// The connections that exist are forgotten in silence; new ones work.
    IdleDrop,
    /// A write is held in flight by the witness.
    HoldWrite,
    /// The answer to a read of the value is held back by the witness.
    HoldRead,
    /// The lease removed from the store.
    DeleteKey,
    /// The lease given to a silent successor.
    StealKey,
    /// Store traffic of the owner held back, so that a renewal or release comes late.
    DelayRequests,
    /// The store's answers to the owner held back, so that one is on its way when something else happens.
    DelayAnswers,
    /// Every process of the store's server stopped.
    PauseStore,
    /// The member that leads a store of several stopped; the others go on.
    PauseLeader,
    /// The store's server killed, and started again on the same data: confirmed when it is dead, undone
    /// when it answers again.
    RestartStore,
    /// The same, and its data is gone.
    EmptyStore,
    /// The wall clock of the store's server stepped.
    StepStoreClock,
}

/// A phase of a fault.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultPhase {
    /// About to be applied: before the first system call.
    Asked,
    /// In force, by the kernel's word (or the relay's).
    Confirmed,
    /// It was due to end: the event that ended it was received, or its time was over.
    Due,
    /// Undone, by the kernel's word.
    Undone,
    /// It could not be applied, or its confirmation failed; it was undone.
    Failed,
}

/// One phase of one fault.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FaultEvent {
    /// Joins the phases of one fault.
    pub fault: u64,
    /// What kind.
    pub kind: FaultKind,
    /// Which phase.
    pub phase: FaultPhase,
    /// `sigstop`, `cgroup-v2`, `relay` …
    pub method: String,
    /// The processes that it stopped (empty for faults of the network and the store).
    pub processes: Vec<ProcessId>,
    /// How many threads were confirmed stopped, of how many.
    pub threads: Option<(u32, u32)>,
    /// Whether the tree's CPU time stood still from confirmed to undone (known at `undone`).
    pub cpu_flat: Option<bool>,
    /// Whether two looks at the tree agreed.
    pub looks_agree: Option<bool>,
    /// The kernel's own measure of the pause (`frozen_usec`), where there is one.
    pub kernel_witness: Option<Duration>,
    /// Anything else that people want to read.
    pub note: Option<String>,
}
