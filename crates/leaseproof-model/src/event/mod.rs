//! The record: everything that a run sees or does is one event.
//!
//! What is missing here can't be judged later. The judge sees events and the scenario's
//! [`Ask`](crate::scenario::Ask), and nothing else: not the owner's command line, not the fault that
//! was meant.

mod coverage;
mod deed;
mod fault;
mod fill;
mod reading;
mod roles;
mod said;
mod wire;
mod within;
mod write;

pub use coverage::Coverage;
pub use deed::{Deed, LabDeed, Outcome};
pub use fault::{FaultEvent, FaultKind, FaultPhase};
pub use fill::Fill;
pub use reading::{Held, Reading};
pub use roles::{MemberRole, Role, Roles};
pub use said::{OwnerEvent, Said};
pub use wire::{Wire, WireSeen};
pub use within::{Within, WithinSeen};
pub use write::Write;

use crate::clock::Stamp;
use crate::moment::Moment;
use crate::name::{OwnerName, ProcessId, Token};
use crate::scenario::WitnessMode;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// The number of an event, unique in a run; people read `e17`.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventId(pub u64);

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e{}", self.0)
    }
}

/// Where an event was seen. Events of one source (and owner, for those that have one each) carry
/// sequence numbers, and that order outranks their moments.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The runner: what it decided and did itself.
    Lab,
    /// Faults, confirmed by the kernel.
    Fault,
    /// Starts and ends of owner processes.
    Process,
    /// The observer's own connection to the store.
    Store,
    /// The protected resource, in its own serial order.
    Witness,
    /// What an owner says about itself (one source an owner).
    Owner,
    /// The network between an owner and the store (one source an owner).
    Relay,
    /// The clock shim inside an owner (one source an owner).
    Shim,
}

/// One event.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Event {
    /// Unique in the run.
    pub id: EventId,
    /// Where it was seen.
    pub source: Source,
    /// Its place in that source.
    pub seq: u64,
    /// When it happened, on CLOCK_BOOTTIME of the lab's host.
    pub at: Moment,
    /// The three clocks when it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp: Option<Stamp>,
    /// The cycle; 0 before the first.
    pub cycle: u32,
    /// The owner process that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<OwnerName>,
    /// What happened.
    pub what: What,
    /// The raw line, cut to 1 KiB, secrets redacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

/// What happened.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// Lab: a cycle begins; `target` is the owner that will meet the fault.
    CycleBegan {
        /// Who will meet the fault.
        target: OwnerName,
        /// Who is expected to take over (the lab itself where the successor is silent).
        successor: Option<OwnerName>,
        /// How the witness treats writes in this cycle.
        witness: WitnessMode,
    },
    /// Lab: the cycle's observation is over.
    CycleEnded,
    /// Lab: it used the store as an owner or as a fault.
    LabDid(LabDeed),
    /// Lab: what a source watched, and how well. "Nobody took the key" holds only inside coverage.
    Coverage(Coverage),
    /// Lab: it was late by this much where it matters (a sample, a thaw), beyond what the scenario bears.
    RigLate {
        /// By how much.
        by: Duration,
        /// At what.
        what: String,
    },
    /// Lab: ordinary threads of this machine woke late by this much; so may the owner's have, without
    /// any fault of its code.
    Starved {
        /// By how much.
        by: Duration,
    },
    /// Lab: the outcome that a writer was frozen inside its transaction and blocked the store.
    WriterFrozen,
    /// Lab: the scenario ended before its cycles did; the verdict can't be better than "cannot tell".
    Abandoned {
        /// What was missing, and what to change, in words for people.
        why: String,
    },
    /// Process: an owner process was started; its witness URL and its relay are its own.
    Started {
        /// The root process of its tree.
        process: ProcessId,
        /// `a` or `b`: a supervisor's restart keeps the slot and gets a new name.
        slot: String,
        /// Whether it replaces one that ended.
        restart: bool,
    },
    /// Process: the root process ended; its belief ends with it.
    Ended {
        /// The exit status, if it exited.
        status: Option<i32>,
        /// The signal, if one killed it.
        signal: Option<i32>,
        /// Whether the lab caused it (clean-up, SIGTERM of a scenario, SIGKILL of a scenario).
        by_lab: bool,
    },
    /// Process: a connection inside an owner's tree, to the part of it that stands still.
    Within(Within),
    /// Fault: one phase of one fault.
    Fault(FaultEvent),
    /// Store: a reading (changes, and one now and then; the gaps are in the coverage).
    Reading(Reading),
    /// Lab: what the members of a store that leaseproof started said of themselves when they were asked.
    Roles(Roles),
    /// Witness: a write, in serial order.
    Write(Write),
    /// Witness: a write arrived and is held in flight; it gets its [`Write`] when it is let go.
    WriteHeld {
        /// The connection that it came on.
        connection: u64,
        /// The token that it carries.
        token: Option<Token>,
    },
    /// Witness: the value was read, and the answer is held back.
    ReadHeld {
        /// The connection that it came on.
        connection: u64,
        /// The value: the serial number of the last accepted write; 0 before the first.
        value: u64,
        /// The value's version: that write's token.
        version: Option<Token>,
    },
    /// Witness: the cache beside the value was filled, in the order of the writes.
    Fill(Fill),
    /// Witness: it was killed (SIGKILL) and started again on its own journal.
    WitnessRestarted {
        /// The highest token that it knows after the restart.
        highest: Option<Token>,
    },
    /// Owner: what it says about itself.
    Said(Said),
    /// Owner: output that is no event line was seen (counted, not kept).
    Chatter {
        /// How many lines since the last such event.
        lines: u64,
    },
    /// Relay: something on the wire between this owner and the store.
    Wire(Wire),
    /// Shim: wall reads of this owner's processes since its start, and the offset in force.
    WallReads {
        /// How many reads of the wall clock went through the shim so far.
        count: u64,
        /// The offset in force.
        offset_ns: i64,
        /// Whether the shim is mapped in every process of the tree.
        mapped: bool,
    },
}
