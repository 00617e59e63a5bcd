//! What is said about processes and machines from outside them.

use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// A counter of the kernel. Only differences of two looks say anything, and a smaller one is a restart.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CounterKind {
    /// CPU used, nanoseconds.
    CpuUsage,
    /// Periods of the quota.
    Periods,
    /// Periods in which it was throttled.
    Throttled,
    /// Time throttled, nanoseconds, summed over the CPUs.
    ThrottledTime,
    /// Time frozen, nanoseconds.
    FrozenTime,
    /// Processes killed for want of memory.
    OomKills,
    /// Stolen by the hypervisor, ticks.
    Steal,
    /// Pressure: time in which some task waited, nanoseconds.
    PressureSome,
    /// Pressure: time in which all tasks waited, nanoseconds.
    PressureFull,
}

/// Something about a process (or the control group or container that it is in).
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessSays {
    /// It stands still: paused, stopped, frozen.
    Paused {
        /// How: `docker pause`, `cgroup frozen`, `containerd paused`, `state T`.
        how: Arc<str>,
    },
    /// It runs on.
    Resumed {
        /// How.
        how: Arc<str>,
    },
    /// A pause whose whole length the source measured, counted back from the stamp.
    PausedFor {
        /// How.
        how: Arc<str>,
        /// For how long.
        took: Duration,
    },
    /// Seen not paused: bounds a pause from outside.
    NotPaused,
    /// It was killed.
    Killed {
        /// The signal, where known.
        signal: Option<i32>,
        /// In the source's words.
        why: Arc<str>,
    },
    /// It was killed for want of memory.
    OutOfMemory {
        /// The command's name, cut at 15 characters.
        command: Option<Arc<str>>,
        /// The control group's own limit (or the whole machine's memory).
        own_limit: Option<bool>,
        /// Its control group.
        cgroup: Option<Arc<str>>,
    },
    /// It started.
    Started,
    /// It ended.
    Exited {
        /// With this status, where known.
        status: Option<i32>,
    },
    /// A probe of it failed.
    Unhealthy {
        /// In the source's words.
        why: Arc<str>,
    },
    /// A counter at this moment.
    Counter {
        /// Which.
        kind: CounterKind,
        /// Its value.
        value: u64,
    },
}

/// Something about a whole machine.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MachineSays {
    /// It goes to sleep. The kernel's own clock stands still from here on.
    SuspendEntry,
    /// It woke.
    SuspendExit,
    /// A CPU was stuck, counted back from the stamp.
    SoftLockup {
        /// For about this long.
        lasted: Duration,
        /// The CPU.
        cpu: Option<u32>,
        /// The task was the idle one: the virtual CPU itself was not run.
        idle: bool,
    },
    /// A CPU was stuck, by its own RCU's word.
    RcuStall {
        /// For this many ticks, of unknown length.
        jiffies: Option<u64>,
    },
    /// The kernel's timers did not run: the machine stood still.
    TimersLate {
        /// For this long, counted back from the stamp.
        lasted: Duration,
        /// What the second counter made of it; far from `lasted` where a hypervisor kept one clock.
        other: Option<Duration>,
    },
    /// A clock source was given up.
    ClockUnstable {
        /// In its words.
        what: Arc<str>,
    },
    /// A task was blocked in the kernel.
    TaskBlocked {
        /// For more than this.
        more_than: Duration,
        /// The task.
        task: Arc<str>,
    },
    /// The node was late or unwell, by its orchestrator's word.
    NodeUnwell {
        /// For this long, where the line says, counted back from the stamp.
        lasted: Option<Duration>,
        /// In its words.
        what: Arc<str>,
    },
    /// It booted.
    Booted,
    /// A counter of the machine at this moment.
    Counter {
        /// Which.
        kind: CounterKind,
        /// Its value.
        value: u64,
    },
}

impl ProcessSays {
    /// A short name for counts.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Paused { .. } => "process paused",
            Self::Resumed { .. } => "process resumed",
            Self::PausedFor { .. } => "process paused for",
            Self::NotPaused => "process not paused",
            Self::Killed { .. } => "process killed",
            Self::OutOfMemory { .. } => "process out of memory",
            Self::Started => "process started",
            Self::Exited { .. } => "process exited",
            Self::Unhealthy { .. } => "process unhealthy",
            Self::Counter { .. } => "process counter",
        }
    }
}

impl MachineSays {
    /// A short name for counts.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::SuspendEntry => "machine suspend entry",
            Self::SuspendExit => "machine suspend exit",
            Self::SoftLockup { .. } => "machine soft lockup",
            Self::RcuStall { .. } => "machine rcu stall",
            Self::TimersLate { .. } => "machine timers late",
            Self::ClockUnstable { .. } => "machine clock unstable",
            Self::TaskBlocked { .. } => "machine task blocked",
            Self::NodeUnwell { .. } => "machine node unwell",
            Self::Booted => "machine booted",
            Self::Counter { .. } => "machine counter",
        }
    }
}
