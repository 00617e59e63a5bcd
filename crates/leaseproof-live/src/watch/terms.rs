//! What the leases are measured by: the plan's numbers, and what the store can show.

use leaseproof_model::budget::Budget;
use leaseproof_model::store::{StoreClock, StoreFacts};
use std::time::Duration;

/// What the leases are measured by.
#[derive(Clone, PartialEq, Debug)]
pub struct Terms {
    /// The plan's budget, with the store's slack in it.
    pub budget: Budget,
    /// How often each lease is read.
    pub interval: Duration,
    /// How long a worst value is remembered.
    pub window: Duration,
    /// The clock by which the store ends a lease.
    pub clock: StoreClock,
    /// Whether the store shows when a lease will expire.
    pub shows_expiry: bool,
    /// Whether the store shows renewals.
    pub shows_renewals: bool,
    /// The most that the store grants: a TTL that is shown as that may be any shorter one.
    pub most_granted: Option<Duration>,
}

impl Terms {
    /// These numbers on this store.
    #[must_use]
    pub fn new(budget: Budget, facts: &StoreFacts, interval: Duration, window: Duration) -> Self {
        Self {
            budget: Budget {
                early_slack: facts.early_slack,
                ..budget
            },
            interval,
            window,
            clock: facts.clock,
            shows_expiry: facts.shows_expiry,
            shows_renewals: facts.shows_renewals,
            most_granted: facts.ttl_ceiling,
        }
    }

    /// How old a belief may be: an owner that runs says something each heartbeat.
    #[must_use]
    pub fn belief_stale_after(&self) -> Duration {
        self.budget.heartbeat.max(self.interval) * 2 + self.budget.renew_timeout
    }

    /// Two readings that are further apart than this have a gap between them.
    #[must_use]
    pub fn gap(&self) -> Duration {
        self.interval * 5 / 2
    }

    /// How much of the margin a lease has used that was renewed so long ago.
    #[must_use]
    pub fn margin_used(&self, renewed_ago: Duration) -> f64 {
        let beyond = renewed_ago.saturating_sub(self.budget.heartbeat + self.budget.renew_timeout);
        let margin = self.budget.margin();
        if margin.is_zero() {
            return f64::from(u8::from(!beyond.is_zero()));
        }
        beyond.as_secs_f64() / margin.as_secs_f64()
    }
}
