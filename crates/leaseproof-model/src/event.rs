//! The record: everything that a run sees or does is one event.
//!
//! What is missing here can't be judged later. The judge sees events and the scenario's
//! [`Ask`](crate::scenario::Ask), and nothing else: not the owner's command line, not the fault that
//! was meant.

use crate::clock::{BootNanos, Stamp};
use crate::moment::Moment;
use crate::name::{HolderId, OwnerName, ProcessId, Token};
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
    /// Fault: one phase of one fault.
    Fault(FaultEvent),
    /// Store: a reading (changes, and one now and then; the gaps are in the coverage).
    Reading(Reading),
    /// Witness: a write, in serial order.
    Write(Write),
    /// Witness: a write arrived and is held in flight; it gets its [`Write`] when it is let go.
    WriteHeld {
        /// The connection that it came on.
        connection: u64,
        /// The token that it carries.
        token: Option<Token>,
    },
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

/// What the lab did with the store.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LabDeed {
    /// What.
    pub deed: Deed,
    /// The holder it acted as.
    pub holder: Option<HolderId>,
    /// The token it got.
    pub token: Option<Token>,
    /// Applied, not applied or unknown.
    pub outcome: Outcome,
}

/// A use of the store by the lab.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deed {
    /// It acquired the lease.
    Acquired,
    /// It released its own lease.
    Released,
    /// It removed an owner's lease (fault `key-deleted`).
    Deleted,
    /// It replaced an owner's lease by its own, with a greater token (fault `key-stolen`).
    Stole,
}

/// Every operation ends in one of these, and unknown stays possible for ever.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The store did it.
    Applied,
    /// The store refused it, definitely.
    NotApplied,
    /// Nobody knows.
    Unknown,
}

/// What a source watched, and how well.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Coverage {
    /// Which source.
    pub source: Source,
    /// The owner, for sources that have one each.
    pub owner: Option<OwnerName>,
    /// From when.
    pub from: BootNanos,
    /// Until when.
    pub until: BootNanos,
    /// The longest gap between two looks (zero for sources that miss nothing).
    pub longest_gap: Duration,
    /// How much was dropped: bytes of an owner's output, writes at the witness, events of other sources.
    /// Anything but zero ends the coverage.
    pub dropped: u64,
}

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
    /// The lease removed from the store.
    DeleteKey,
    /// The lease given to a silent successor.
    StealKey,
    /// Store traffic of the owner held back, so that a renewal or release comes late.
    DelayRequests,
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

/// One consistent reading of the lease from the store.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Reading {
    /// When the previous reading of this observer was asked, if that one showed another state: the
    /// change lies between that moment and this reading's `latest`.
    pub previous: Option<BootNanos>,
    /// Who holds the lease; `None` where the key is absent (or free).
    pub held: Option<Held>,
    /// The token counter's value, where the store has one apart from the holder.
    pub counter: Option<Token>,
    /// The server's clock in this reading, in nanoseconds of [`StoreFacts::clock`](crate::store::StoreFacts).
    pub server_ns: Option<i64>,
    /// The store's epoch: run id, term, role of the server that answered.
    pub epoch: Option<String>,
}

/// A lease as a reading shows it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Held {
    /// The holder.
    pub holder: HolderId,
    /// The fencing token, where the store keeps one with the lease.
    pub token: Option<Token>,
    /// When it will expire, on the lab's boot clock; `None`: it has no TTL (or `bound` is there).
    pub expires: Option<Moment>,
    /// Where the store does not show when the lease will expire: the TTL that it granted. `expires`
    /// is `None` then, and says nothing about a missing TTL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Duration>,
    /// Whether that moment has passed by the store's own clock in this very reading (SQLite keeps an
    /// expired row until the next grant).
    pub expired: bool,
    /// When it was granted, where the store shows it exactly.
    pub granted: Option<BootNanos>,
    /// When it was last renewed, where the store shows it exactly.
    pub renewed: Option<BootNanos>,
    /// Whether a write lock was obtained in this reading, so that no writer was in the middle of a
    /// transaction ([`ExpiryProof::WriteLockAfterExpiry`](crate::store::ExpiryProof)).
    pub write_lock: bool,
}

/// A write at the witness.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Write {
    /// Its place in the resource's own order, from 1.
    pub serial: u64,
    /// The connection that it came on.
    pub connection: u64,
    /// The token that it carries; `None`: unfenced.
    pub token: Option<Token>,
    /// The token's text, where it is no ordered number.
    pub bad_token: Option<String>,
    /// Whether it was accepted.
    pub accepted: bool,
    /// The highest token that the resource had accepted before it.
    pub highest: Option<Token>,
    /// How the witness treated it.
    pub mode: WitnessMode,
    /// The `Lease-Owner` header, if it differs from the URL's owner.
    pub claims_owner: Option<String>,
    /// When its first bytes arrived, where that was more than 20 ms before it was whole: it was begun
    /// then, and waited for its own client since. Without it the event's own moment (or `arrived`) holds
    /// both, the begin and the end of its arrival.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<Moment>,
    /// Only where it was held in flight: the moment at which it was whole; the event's own moment is then
    /// that of its decision. Of any other write the event's own moment is that at which it was whole.
    pub arrived: Option<Moment>,
    /// A replay by the lab itself (scenario `stale-token`): no act of the owner.
    pub replay: bool,
}

/// What an owner says about itself.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Said {
    /// What.
    pub event: OwnerEvent,
    /// The token that it claims.
    pub token: Option<Token>,
    /// The moment that it claims for it, on CLOCK_BOOTTIME.
    pub boot: Option<BootNanos>,
    /// Its wall clock at that moment, as it reads it (a stepped clock is seen here).
    pub wall_ns: Option<i64>,
    /// Until when it believes to hold the lease, on CLOCK_BOOTTIME.
    pub valid_until: Option<BootNanos>,
    /// The thread.
    pub thread: Option<String>,
    /// The grant, as it names it.
    pub grant: Option<String>,
    /// Joins *sent* and *answered* of one attempt.
    pub attempt: Option<u64>,
    /// Its reason (`lock not held`, `not the holder`, `timeout` …).
    pub reason: Option<String>,
    /// For `renew_failed`: whether the refusal was definite (not the holder, absent) as far as it says.
    pub definite: Option<bool>,
}

/// The events of the owner contract.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnerEvent {
    /// It waits for the lease.
    Waiting,
    /// It acquired the lease.
    Acquired,
    /// It sends a renewal (optional; joins with `renewed` by the attempt).
    RenewSent,
    /// A renewal succeeded.
    Renewed,
    /// A renewal failed.
    RenewFailed,
    /// It no longer holds the lease.
    Lost,
    /// It released the lease.
    Released,
    /// It wrote to the protected resource.
    Write,
    /// It refused to write since it does not hold the lease.
    WriteRefused,
}

/// Something on the wire between one owner and the store.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Wire {
    /// The connection's number in this relay, from 1.
    pub connection: u64,
    /// What.
    pub seen: WireSeen,
    /// Bytes that it is about.
    pub bytes: u64,
}

/// What the relay saw.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WireSeen {
    /// The owner connected.
    Opened,
    /// Bytes from the owner passed on to the store.
    Request,
    /// Bytes from the store passed on to the owner.
    Answer,
    /// Bytes from the owner swallowed (or held back).
    RequestSwallowed,
    /// Bytes from the store swallowed (or held back).
    AnswerSwallowed,
    /// Bytes held back were delivered.
    Delivered,
    /// The relay reset the connection.
    Reset,
    /// The relay forgot the connection in silence.
    Forgotten,
    /// One side closed it.
    Closed,
}
