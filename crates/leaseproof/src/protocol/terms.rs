//! What a grant is held by: the budget, as the protocol needs it.

use leaseproof_model::budget::Budget;
use leaseproof_model::clock::BootNanos;
use std::time::Duration;

/// The least that a request is waited for: less would only make outcomes unknown.
pub(super) const LEAST: Duration = Duration::from_millis(10);

/// What an unknown outcome of a renewal does. Neither extends anything by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Policy {
    /// It ends the belief: nothing is permitted from then on. The store is asked again on a new connection, and only
    /// its word that this very grant holds, within the validity that is left, takes the lease up again.
    #[default]
    Strict,
    /// The validity that is left may be used, and the store is asked again meanwhile.
    Patient,
}

/// What a grant is held by.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Terms {
    /// How long the store grants it without a renewal.
    pub ttl: Duration,
    /// How long after a request was sent the next renewal is due.
    pub heartbeat: Duration,
    /// How long a renewal may take, in running time.
    pub renew_timeout: Duration,
    /// What is taken off the TTL: how far the clocks move apart within one, and what the store may cut off.
    pub reserve: Duration,
    /// What an unknown outcome does.
    pub policy: Policy,
    /// So long before the validity ends the driver must be free to say so.
    pub ahead: Duration,
}

impl Terms {
    /// The terms of a budget.
    #[must_use]
    pub fn of(budget: &Budget, policy: Policy, ahead: Duration) -> Self {
        Self {
            ttl: budget.ttl,
            heartbeat: budget.heartbeat,
            renew_timeout: budget.renew_timeout,
            reserve: budget.max_clock_drift + budget.early_slack,
            policy,
            ahead,
        }
    }

    /// Until when a grant is valid that was asked for, or extended, by a request sent at `sent`.
    #[must_use]
    pub fn valid_until(&self, sent: BootNanos) -> BootNanos {
        sent.plus(self.ttl.saturating_sub(self.reserve))
    }

    /// How soon the store is asked again after no for an answer, or none.
    #[must_use]
    pub fn again(&self) -> Duration {
        (self.heartbeat / 4).clamp(Duration::from_millis(5), Duration::from_millis(250))
    }
}
