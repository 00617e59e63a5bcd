//! What the owner's own host shows of its process.

use super::Shown;
use crate::name::ProcessId;
use crate::truth::Truth;
use serde::{Deserialize, Serialize};

/// A process at the begin and at the end of a span.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OwnerView {
    /// Which.
    pub process: ProcessId,
    /// The program's name, as the kernel has it.
    pub program: String,
    /// What it does now.
    pub state: OwnerState,
    /// In words, with what proves it.
    pub says: String,
    /// Its threads at the end of the span, by state letter: `S` sleeping, `R` running or wanting to, `D`
    /// waiting for a disk, `T` stopped by a signal, `t` by a tracer, `Z` ended.
    pub threads: Vec<ThreadView>,
    /// How many threads it has; the list above ends at 64.
    pub thread_count: u64,
    /// Its control group's freezer, in words.
    pub freezer: Shown<String>,
    /// How its control group was throttled.
    pub throttled: Shown<Throttled>,
    /// How much it waited for a CPU.
    pub pressure: Shown<Pressure>,
    /// CPU time within the span, in ms.
    pub ran_ms: Shown<f64>,
    /// Time within the span in which a thread could have run and had no CPU, in ms, all threads together.
    pub waited_for_cpu_ms: Shown<f64>,
    /// Its connections to the store.
    pub sockets: Shown<Vec<Socket>>,
    /// Whether it holds the lease, as far as the store and its connections tell; none where nobody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<Holds>,
    /// Connections that were reset in its network namespace within the span, whoever's they are.
    pub resets: Shown<u64>,
}

/// Whether a process holds the lease.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Holds {
    /// Whether it does.
    pub it_does: Truth,
    /// Whether something speaks against it, without being a proof.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hardly: bool,
    /// What speaks for it, or against it.
    pub says: String,
}

/// What a process does.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OwnerState {
    /// It runs, or sleeps as programs do.
    Running,
    /// Every thread is stopped by a signal or a tracer.
    Stopped,
    /// A part of its threads is stopped.
    PartlyStopped,
    /// Its control group is frozen.
    Frozen,
    /// Its control group has used up its share of the CPU in this span.
    Throttled,
    /// It has ended.
    Ended,
}

/// One thread.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ThreadView {
    /// Its id.
    pub tid: u32,
    /// Its state letter.
    pub state: char,
}

/// Throttling of a control group within the span.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Throttled {
    /// The control group.
    pub group: String,
    /// How often, within the span.
    pub times: u64,
    /// For how long, within the span, in µs.
    pub for_us: u64,
    /// How often since the group was made.
    pub times_ever: u64,
}

/// CPU pressure.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Pressure {
    /// Of what: a control group, or the whole machine.
    pub of: String,
    /// The share of the last ten seconds in which something waited for a CPU, in percent.
    pub some_10s_percent: f64,
}

/// A connection to the store, as the kernel of the owner's host has it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Socket {
    /// This end.
    pub local: String,
    /// The store's end.
    pub remote: String,
    /// `established`, `syn-sent`, `close-wait` …
    pub state: String,
    /// Bytes sent and not yet acknowledged by the store's host.
    pub unacknowledged_bytes: u64,
    /// Bytes that have come and the process has not read.
    pub unread_bytes: u64,
    /// Retransmissions of what is under way now.
    pub retransmits: u64,
    /// The timer that runs, and when it fires.
    pub timer: String,
    /// Retransmissions since it was opened.
    pub retransmits_ever: Shown<u64>,
    /// How long since data was last sent, in ms.
    pub last_sent_ms: Shown<u64>,
    /// How long since data last came, in ms.
    pub last_received_ms: Shown<u64>,
    /// The smoothed round trip, in ms.
    pub round_trip_ms: Shown<f64>,
}
