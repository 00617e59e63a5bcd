//! What a scenario asks, as data: its premises and whether availability is asked about.

use crate::budget::Budget;
use crate::store::StoreFacts;
use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $text)] $variant),+
        }

        impl $name {
            /// All of them, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name that people type and read.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The one with this name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|it| it.as_str() == name)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

named!(
    /// The scenarios.
    ScenarioId {
        /// The whole process tree is paused until the lease expired and was taken over.
        PauseOverTtl = "pause-over-ttl",
        /// Same, and nobody else wants the key.
        PauseUncontested = "pause-uncontested",
        /// Same; a successor takes and frees the lease within the pause.
        PauseAndGone = "pause-and-gone",
        /// Paused for less than the margin.
        PauseWithinMargin = "pause-within-margin",
        /// A write is held in flight while its owner is paused, until a successor's was accepted.
        PauseInsideWrite = "pause-inside-write",
        /// The owner is paused between its read of a value and its fill of a cache with it.
        CacheFill = "cache-fill",
        /// A waiter is paused in the queue for longer than its own TTL.
        PauseWaiting = "pause-waiting",
        /// The tree is paused between sending a renewal and reading its answer.
        PauseRenewing = "pause-renewing",
        /// Only the parent, which holds, is stopped.
        ParentOnly = "parent-only",
        /// Only the child, which works, is stopped.
        ChildOnly = "child-only",
        /// SIGKILL of the whole tree.
        Killed = "killed",
        /// Packets to the store vanish for longer than the TTL.
        Blackhole = "blackhole",
        /// The connection is reset.
        Reset = "reset",
        /// An idle connection is forgotten in silence.
        IdleDrop = "idle-drop",
        /// The lease is removed.
        KeyDeleted = "key-deleted",
        /// The lease is given to a silent successor.
        KeyStolen = "key-stolen",
        /// The owner is asked to release.
        CleanRelease = "clean-release",
        /// The owner releases late, while a silent successor holds.
        ReleaseAfterLoss = "release-after-loss",
        /// The owner renews late, while a silent successor holds.
        RenewAfterLoss = "renew-after-loss",
        /// The owner's wall clock steps forward.
        ClockForward = "clock-forward",
        /// The owner's wall clock steps back, then the tree is paused.
        ClockBack = "clock-back",
        /// The store's server stops for longer than the TTL, and goes on.
        StorePaused = "store-paused",
        /// The store's server is killed and started again on its data.
        StoreRestarted = "store-restarted",
        /// The same, and its data is gone.
        StoreEmptied = "store-emptied",
        /// The wall clock of the store's server steps.
        StoreClock = "store-clock",
        /// The leader of a store of several members stops until another leads, and goes on.
        StoreFailover = "store-failover",
        /// An old token is replayed at the witness: a self-check of the rig.
        StaleToken = "stale-token",
    }
);

named!(
    /// What must have happened for "proven" to mean anything.
    PremiseName {
        /// The owner acted inside its grant before the fault, ran on or ended after it, and work of
        /// its own was seen alive in a later grant.
        Exercised = "exercised",
        /// Every thread of the target stopped, its CPU time flat, two looks at the tree agree.
        Frozen = "frozen",
        /// The grant expired, as the adapter defines and can prove it.
        Expired = "expired",
        /// Another holder has the lease.
        TakenOver = "taken-over",
        /// The target runs again, by the kernel's word.
        Thawed = "thawed",
        /// No other grant within coverage.
        NoOtherGrant = "no-other-grant",
        /// The lab took the lease during the pause.
        Taken = "taken",
        /// The lab freed it again during the pause.
        FreeAgain = "free-again",
        /// The real length of the pause stayed below the margin.
        BelowMargin = "below-margin",
        /// The witness held the owner's write in flight.
        WriteHeld = "write-held",
        /// A successor's write was accepted.
        SuccessorWrote = "successor-wrote",
        /// The held write was placed in the resource's order.
        HeldWritePlaced = "held-write-placed",
        /// The witness held back the answer to the owner's read.
        ReadHeld = "read-held",
        /// The value that was read before the pause was stored, refused, or dropped by its reader.
        FillSettled = "fill-settled",
        /// The waiter was seen waiting before the fault.
        WaiterRan = "waiter-ran",
        /// It was frozen while another held the lease, longer than its own TTL.
        FrozenWhileOtherHeld = "frozen-while-other-held",
        /// After the thaw the key was freed.
        KeyFreed = "key-freed",
        /// An answer of the store was on its way when the pause began, and waited for the owner when it ended.
        AnswerUnread = "answer-unread",
        /// The whole tree is dead.
        Dead = "dead",
        /// At least one request was swallowed by the relay.
        Swallowed = "swallowed",
        /// The relay passes bytes again.
        Healed = "healed",
        /// At least one connection was reset.
        WasReset = "was-reset",
        /// At least one request was swallowed after the silent drop.
        DroppedSilently = "dropped-silently",
        /// The lease was seen gone, or another's, before its expiry.
        EndedEarly = "ended-early",
        /// The owner ran throughout.
        OwnerRan = "owner-ran",
        /// SIGTERM was delivered while the owner held the lease.
        TermWhileHeld = "term-while-held",
        /// The key is free.
        KeyFree = "key-free",
        /// The lab held the lease throughout and never renewed it.
        LabHeldThroughout = "lab-held-throughout",
        /// The clock shim is mapped in every process of the owner.
        ShimMapped = "shim-mapped",
        /// Wall reads through the shim were counted after the step.
        WallReadsCounted = "wall-reads-counted",
        /// The lease went on under its holder while only the other part of the tree was stopped.
        LeaseKept = "lease-kept",
        /// The store's server stood still, or was dead, by the kernel's word.
        StoreDown = "store-down",
        /// The store answered again.
        StoreBack = "store-back",
        /// The member that led the store, by its own word, stood still, by the kernel's.
        LeaderStopped = "leader-stopped",
        /// Meanwhile another member led it, by its own word.
        AnotherLeads = "another-leads",
        /// The clock of the store's server moved against ours, by the store's own word.
        StoreStepped = "store-stepped",
        /// Every stale replay was rejected, before and after the witness was killed.
        ReplayRejected = "replay-rejected",
        /// The runner itself kept its times.
        RigOnTime = "rig-on-time",
    }
);

/// How the witness treats writes.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WitnessMode {
    /// Accepts all and never informs: it judges the owner.
    Record,
    /// Fences: it judges owner and fence together.
    Enforce,
}

/// What one scenario run asks of its history.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Ask {
    /// Which scenario.
    pub scenario: ScenarioId,
    /// The store's facts.
    pub store: StoreFacts,
    /// The budget in force (scaled to the store's floor).
    pub budget: Budget,
    /// The lease key of this run, as the store has it.
    pub key: String,
    /// How many cycles are wanted.
    pub cycles: u32,
    /// The premises of each cycle.
    pub premises: Vec<PremiseName>,
    /// Whether an availability finding moves the verdict.
    pub availability: bool,
    /// How the witness treats writes (a cycle may say otherwise).
    pub witness: WitnessMode,
    /// Whether writes must carry a token.
    pub require_token: bool,
    /// Whether the store reads of this key show a token at all.
    pub store_shows_token: bool,
    /// In a clock scenario: this arm is the unstepped twin of the scenario before it.
    #[serde(default)]
    pub twin: bool,
}
