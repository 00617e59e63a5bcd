//! The scenarios as data: what each does, what must have held, what it needs.

use leaseproof_model::scenario::PremiseName as P;
use leaseproof_model::scenario::{PremiseName, ScenarioId, WitnessMode};

/// What a scenario is made of.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Which.
    pub id: ScenarioId,
    /// What is done, for `--list`.
    pub does: &'static str,
    /// What a sound owner does, for `--list`.
    pub sound: &'static str,
    /// The premises of each cycle.
    pub premises: &'static [PremiseName],
    /// Whether availability findings move the verdict.
    pub availability: bool,
    /// Whether a second copy of the owner waits for the key.
    pub contender: bool,
    /// How the witness treats writes.
    pub witness: WitnessMode,
    /// What it needs of host, store and owner.
    pub needs: &'static [Need],
}

/// What a scenario needs.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Need {
    /// A store that is reached by TCP, so that a relay can stand in between.
    Tcp,
    /// A store in which leaseproof itself can hold the lease.
    LabHolds,
    /// An owner of more than one process.
    Child,
    /// An owner into which the clock shim can be loaded.
    Shim,
    /// An owner that sends tokens (unless the plan requires them).
    Token,
    /// An owner that reads the value, and fills the cache with it.
    Fills,
    /// A store whose server leaseproof itself started: faults of a store meet no other.
    OwnServer,
    /// A store of several members, of which another can lead.
    Members,
    /// A store whose server ends leases by a clock that can be stepped through the shim.
    SteppableServer,
}

const RECORD: WitnessMode = WitnessMode::Record;

/// All of them, in the order of [`ScenarioId::ALL`].
pub const ALL: &[Spec] = &[
    Spec {
        id: ScenarioId::PauseOverTtl,
        does: "pauses the owner's whole tree until its lease expired and was taken over",
        sound: "does not act after the thaw; acquires anew with a greater token, or exits",
        premises: &[P::Exercised, P::Frozen, P::Expired, P::TakenOver, P::Thawed],
        availability: false,
        contender: true,
        witness: RECORD,
        needs: &[],
    },
    Spec {
        id: ScenarioId::PauseUncontested,
        does: "the same, and nobody else wants the key",
        sound: "knows that it lost the lease",
        premises: &[P::Exercised, P::Frozen, P::Expired, P::NoOtherGrant, P::Thawed],
        availability: false,
        contender: false,
        witness: RECORD,
        needs: &[],
    },
    Spec {
        id: ScenarioId::PauseAndGone,
        does: "the same, and a successor takes and frees the lease within the pause",
        sound: "does not revive its lease",
        premises: &[P::Exercised, P::Frozen, P::Expired, P::Taken, P::FreeAgain, P::Thawed],
        availability: false,
        contender: false,
        witness: RECORD,
        needs: &[Need::LabHolds],
    },
    Spec {
        id: ScenarioId::PauseWithinMargin,
        does: "pauses the tree for the plan's worst pause, which is less than the margin",
        sound: "keeps the lease and its token",
        premises: &[P::Exercised, P::Frozen, P::BelowMargin, P::Thawed],
        availability: true,
        contender: true,
        witness: RECORD,
        needs: &[],
    },
    Spec {
        id: ScenarioId::PauseInsideWrite,
        does: "holds a write in flight while its owner is paused, until a successor's was accepted",
        sound: "only the resource's fence can refuse the write, and it does",
        premises: &[
            P::Exercised,
            P::WriteHeld,
            P::Frozen,
            P::Expired,
            P::TakenOver,
            P::SuccessorWrote,
            P::Thawed,
            P::HeldWritePlaced,
        ],
        availability: false,
        contender: true,
        witness: WitnessMode::Enforce,
        needs: &[Need::Token],
    },
    Spec {
        id: ScenarioId::CacheFill,
        does: "pauses the owner between its read of a value and its fill of a cache, until a successor's write was accepted",
        sound: "sends the version that it read with the value: the stale one is refused; or drops it",
        premises: &[
            P::Exercised,
            P::ReadHeld,
            P::Frozen,
            P::Expired,
            P::TakenOver,
            P::SuccessorWrote,
            P::Thawed,
            P::FillSettled,
        ],
        availability: false,
        contender: true,
        witness: WitnessMode::Enforce,
        needs: &[Need::Fills],
    },
    Spec {
        id: ScenarioId::PauseWaiting,
        does: "pauses a waiter in the queue for longer than its own TTL, then frees the key",
        sound: "never acts on a grant that the store does not have",
        premises: &[
            P::Exercised,
            P::WaiterRan,
            P::FrozenWhileOtherHeld,
            P::Thawed,
            P::KeyFreed,
        ],
        availability: false,
        contender: false,
        witness: RECORD,
        needs: &[Need::LabHolds],
    },
    Spec {
        id: ScenarioId::PauseRenewing,
        does: "pauses the tree between sending a renewal and reading its answer, until it expired and was taken over",
        sound: "counts validity from the request: the answer that waits is worth nothing",
        premises: &[
            P::Exercised,
            P::AnswerUnread,
            P::Frozen,
            P::Expired,
            P::TakenOver,
            P::Thawed,
        ],
        availability: false,
        contender: true,
        witness: RECORD,
        needs: &[Need::Tcp],
    },
    Spec {
        id: ScenarioId::ParentOnly,
        does: "stops only the parent, which holds the lease, until it expired and was taken over",
        sound: "the child stops its work when the lease can't be held",
        premises: &[P::Exercised, P::Frozen, P::Expired, P::TakenOver, P::Thawed],
        availability: false,
        contender: true,
        witness: RECORD,
        needs: &[Need::Child],
    },
    Spec {
        id: ScenarioId::ChildOnly,
        does: "stops only the children for longer than the TTL",
        sound: "keeps the lease",
        premises: &[P::Exercised, P::Frozen, P::LeaseKept, P::Thawed],
        availability: false,
        contender: true,
        witness: RECORD,
        needs: &[Need::Child],
    },
    Spec {
        id: ScenarioId::Killed,
        does: "kills the whole tree with SIGKILL",
        sound: "the lease frees itself after the TTL, the next token is greater",
        premises: &[P::Exercised, P::Dead, P::Expired, P::TakenOver],
        availability: false,
        contender: true,
        witness: RECORD,
        needs: &[],
    },
    Spec {
        id: ScenarioId::Blackhole,
        does: "swallows everything between owner and store for longer than the TTL",
        sound: "stops by its own clock before the TTL ends, having heard nothing",
        premises: &[P::Exercised, P::Swallowed, P::Expired, P::TakenOver, P::Healed],
        availability: false,
        contender: true,
        witness: RECORD,
        needs: &[Need::Tcp],
    },
    Spec {
        id: ScenarioId::Reset,
        does: "resets the owner's connections to the store",
        sound: "connects again, checks that it still owns the lease, keeps it",
        premises: &[P::Exercised, P::WasReset, P::OwnerRan],
        availability: true,
        contender: true,
        witness: RECORD,
        needs: &[Need::Tcp],
    },
    Spec {
        id: ScenarioId::IdleDrop,
        does: "forgets the owner's connections in silence, as a firewall does; new ones work",
        sound: "notices within the heartbeat, connects again, keeps the lease",
        premises: &[P::Exercised, P::DroppedSilently, P::OwnerRan],
        availability: true,
        contender: true,
        witness: RECORD,
        needs: &[Need::Tcp],
    },
    Spec {
        id: ScenarioId::KeyDeleted,
        does: "removes the lease from the store",
        sound: "stops with the first refused renewal; neither renews nor revives it",
        premises: &[P::Exercised, P::EndedEarly, P::OwnerRan],
        availability: false,
        contender: false,
        witness: RECORD,
        needs: &[],
    },
    Spec {
        id: ScenarioId::KeyStolen,
        does: "gives the lease to a silent successor",
        sound: "stops with the first refused renewal; neither renews nor deletes the other's",
        premises: &[P::Exercised, P::EndedEarly, P::OwnerRan],
        availability: false,
        contender: false,
        witness: RECORD,
        needs: &[Need::LabHolds],
    },
    Spec {
        id: ScenarioId::CleanRelease,
        does: "asks the owner to release (SIGTERM)",
        sound: "the lease is free at once, the next token is greater, nothing renews afterwards",
        premises: &[P::Exercised, P::TermWhileHeld, P::KeyFree],
        availability: true,
        contender: false,
        witness: RECORD,
        needs: &[],
    },
    Spec {
        id: ScenarioId::ReleaseAfterLoss,
        does: "asks the owner to release after a silent successor took over in a pause",
        sound: "leaves the successor's lease alone",
        premises: &[P::Exercised, P::Frozen, P::Expired, P::Thawed, P::LabHeldThroughout],
        availability: false,
        contender: false,
        witness: RECORD,
        needs: &[Need::LabHolds],
    },
    Spec {
        id: ScenarioId::RenewAfterLoss,
        does: "lets the owner go on after a silent successor took over in a pause",
        sound: "leaves the successor's lease alone",
        premises: &[P::Exercised, P::Frozen, P::Expired, P::Thawed, P::LabHeldThroughout],
        availability: false,
        contender: false,
        witness: RECORD,
        needs: &[Need::LabHolds],
    },
    Spec {
        id: ScenarioId::ClockForward,
        does: "steps the owner's wall clock forward by an hour",
        sound: "no difference to the unstepped twin",
        premises: &[P::Exercised, P::ShimMapped, P::WallReadsCounted, P::OwnerRan],
        availability: true,
        contender: true,
        witness: RECORD,
        needs: &[Need::Shim],
    },
    Spec {
        id: ScenarioId::ClockBack,
        does: "steps the owner's wall clock back by an hour, then pauses it as in pause-over-ttl",
        sound: "no difference to the unstepped twin",
        premises: &[
            P::Exercised,
            P::ShimMapped,
            P::WallReadsCounted,
            P::Frozen,
            P::Expired,
            P::TakenOver,
            P::Thawed,
        ],
        availability: true,
        contender: true,
        witness: RECORD,
        needs: &[Need::Shim],
    },
    Spec {
        id: ScenarioId::StorePaused,
        does: "stops the store's server (of several members: the one that leads) for longer than the TTL",
        sound: "stops by its own clock, having heard nothing; goes on only with what the store then grants",
        premises: &[P::Exercised, P::StoreDown, P::StoreBack],
        availability: false,
        contender: true,
        witness: RECORD,
        needs: &[Need::OwnServer],
    },
    Spec {
        id: ScenarioId::StoreRestarted,
        does: "kills the store's server and starts it again on its data",
        sound: "keeps its lease where the store did, or acquires anew with a greater token",
        premises: &[P::Exercised, P::StoreDown, P::StoreBack],
        availability: false,
        contender: true,
        witness: RECORD,
        needs: &[Need::OwnServer],
    },
    Spec {
        id: ScenarioId::StoreEmptied,
        does: "the same, and the server's data is gone",
        sound: "can't save its tokens: only a store that keeps its data can (not among `all`)",
        premises: &[P::Exercised, P::StoreDown, P::StoreBack],
        availability: false,
        contender: true,
        witness: RECORD,
        needs: &[Need::OwnServer],
    },
    Spec {
        id: ScenarioId::StoreClock,
        does: "steps the wall clock of the store's server forward by an hour",
        sound: "stops with the first refused renewal; what the store did is the store's",
        premises: &[P::Exercised, P::StoreStepped, P::OwnerRan],
        availability: false,
        contender: true,
        witness: RECORD,
        needs: &[Need::OwnServer, Need::SteppableServer],
    },
    Spec {
        id: ScenarioId::StoreFailover,
        does: "stops the leader of a store of several members until another leads, then lets it go on",
        sound: "keeps its lease, or stops by its own clock; the leader's change is no renewal and no grant",
        premises: &[P::Exercised, P::LeaderStopped, P::AnotherLeads, P::StoreBack],
        availability: false,
        contender: true,
        witness: RECORD,
        needs: &[Need::OwnServer, Need::Members],
    },
    Spec {
        id: ScenarioId::StaleToken,
        does: "replays an old token at the witness after a successor's write, and after its restart",
        sound: "a self-check of leaseproof's own rig: rejected both times",
        premises: &[P::ReplayRejected],
        availability: false,
        contender: false,
        witness: WitnessMode::Enforce,
        needs: &[Need::LabHolds],
    },
];

/// What `all` stands for. A store that lost its data can't keep its tokens, whoever its owners are: that is
/// shown to whoever asks for it.
pub fn standard() -> impl Iterator<Item = ScenarioId> {
    ScenarioId::ALL
        .iter()
        .copied()
        .filter(|id| *id != ScenarioId::StoreEmptied)
}

/// The spec of a scenario.
#[must_use]
pub fn spec(id: ScenarioId) -> &'static Spec {
    // The table has one entry a scenario; the test below holds it to that.
    ALL.iter().find(|spec| spec.id == id).unwrap_or(&ALL[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_scenario_in_order() {
        let ids: Vec<_> = ALL.iter().map(|spec| spec.id).collect();
        assert_eq!(ids, ScenarioId::ALL);
        assert!(ScenarioId::ALL.iter().all(|&id| spec(id).id == id));
    }
}
