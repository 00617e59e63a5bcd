//! What an adapter states about its store, as data. Budget, scenarios and rules read it from here;
//! nothing else in the code asks which store it is.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The semantics of one store.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StoreFacts {
    /// `sqlite`, `redis` …
    pub kind: String,
    /// The server's version, as it says.
    pub version: String,
    /// How early, at most, the store may end a lease before its TTL is over.
    pub early_slack: Duration,
    /// From TTL to a takeover at worst, lock-delay included: how long to wait for a successor.
    pub late_bound: Duration,
    /// How many TTLs more than one the store may let pass before it ends a lease: these come on top of
    /// `late_bound`.
    #[serde(default)]
    pub late_ttls: u32,
    /// The smallest TTL that the store grants, if it has a floor.
    pub ttl_floor: Option<Duration>,
    /// The greatest TTL that the store grants, if it has a ceiling.
    #[serde(default)]
    pub ttl_ceiling: Option<Duration>,
    /// How long the store refuses the next holder after a loss.
    pub lock_delay: Duration,
    /// The clock by which the store ends a lease.
    pub clock: StoreClock,
    /// What *expired* means here, and how far it can be proven, in one sentence.
    pub expired_means: String,
    /// How expiry is proven.
    pub expiry_proof: ExpiryProof,
    /// Whether one reading gives holder, token and TTL together.
    pub consistent_reading: bool,
    /// Whether a reading shows the exact moments of grant and renewal (else they are bracketed by readings).
    pub exact_moments: bool,
    /// Whether a frozen owner can block the store for all others (SQLite's single writer).
    pub writer_can_block: bool,
    /// Whether a reading shows when the lease will expire. A lease that lives as long as a session
    /// has a TTL (`Held::bound`), and nobody but the server knows when it was last extended.
    #[serde(default = "shown")]
    pub shows_expiry: bool,
    /// Whether a renewal can be seen in the readings: by its moment, or by the expiry that moves.
    #[serde(default = "shown")]
    pub shows_renewals: bool,
    /// Two renewals closer than this can't be told from one by readings.
    #[serde(default)]
    pub renewals_apart: Duration,
    /// TTLs are granted in multiples of this, rounded up; zero where any TTL is granted as asked.
    #[serde(default)]
    pub ttl_step: Duration,
    /// Whether a grant counts only once a second step is done, while its TTL runs from the first.
    #[serde(default)]
    pub grants_in_steps: bool,
    /// Whether it may lose what it had granted and answered when it goes on from another state: another member
    /// leads, or its process starts anew on its data. `None`, as in a record from before this field: nobody says
    /// so, and it is taken to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_lose_grants: Option<bool>,
}

impl StoreFacts {
    /// A store of this kind that ends leases on the dot, by a steady clock of its server, and shows everything but exact
    /// moments: the ground on which one that differs is described. An adapter states all of its own.
    #[must_use]
    pub fn of(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            version: "1".to_owned(),
            early_slack: Duration::ZERO,
            late_bound: Duration::ZERO,
            late_ttls: 0,
            ttl_floor: None,
            ttl_ceiling: None,
            lock_delay: Duration::ZERO,
            clock: StoreClock::ServerSteady,
            expired_means: String::new(),
            expiry_proof: ExpiryProof::SeenGone,
            consistent_reading: true,
            exact_moments: false,
            writer_can_block: false,
            shows_expiry: true,
            shows_renewals: true,
            renewals_apart: Duration::ZERO,
            ttl_step: Duration::ZERO,
            grants_in_steps: false,
            may_lose_grants: None,
        }
    }

    /// Whether a bound that a reading shows is only the most that this store grants, since the lease's own TTL
    /// could not be learnt: then it says nothing of what was asked for.
    #[must_use]
    pub fn is_only_the_most(&self, bound: Duration) -> bool {
        self.ttl_ceiling.is_some_and(|ceiling| bound >= ceiling)
    }

    /// Whether what it granted and answered survives a change of its leader and a restart on its data, surely.
    #[must_use]
    pub fn keeps_grants(&self) -> bool {
        self.may_lose_grants == Some(false)
    }
}

/// What a record from before these fields says: its stores showed both.
fn shown() -> bool {
    true
}

/// The clock by which a store ends a lease.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoreClock {
    /// CLOCK_BOOTTIME of this host.
    Boot,
    /// The server's wall clock, which can step.
    ServerWall,
    /// The server's own clock, which cannot step but is not ours.
    ServerSteady,
}

/// How expiry is proven on a store.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExpiryProof {
    /// A write lock was obtained after the expiry, so that no writer was frozen before its commit.
    WriteLockAfterExpiry,
    /// The key is seen absent, or held by another.
    SeenGone,
}
