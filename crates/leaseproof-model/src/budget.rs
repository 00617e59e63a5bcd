//! The safety budget and its margin.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// TTL, heartbeat, worst pause, clock drift and renewal timeout: one artifact.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Budget {
    /// How long a grant lives without a renewal.
    pub ttl: Duration,
    /// How often the owner renews.
    pub heartbeat: Duration,
    /// The longest pause that the owner must survive without losing the lease.
    pub worst_pause: Duration,
    /// The most that owner's and store's clocks move apart within one TTL.
    pub max_clock_drift: Duration,
    /// How long a renewal may take before it has failed.
    pub renew_timeout: Duration,
    /// What the store may cut off the TTL.
    #[serde(default)]
    pub early_slack: Duration,
}

impl Budget {
    /// The default plan's budget.
    #[must_use]
    pub fn standard() -> Self {
        Self {
            ttl: Duration::from_secs(3),
            heartbeat: Duration::from_secs(1),
            worst_pause: Duration::from_millis(1500),
            max_clock_drift: Duration::from_millis(50),
            renew_timeout: Duration::from_millis(200),
            early_slack: Duration::ZERO,
        }
    }

    /// What must be taken off the TTL before a pause may begin.
    ///
    /// A whole heartbeat counts, since the pause can begin just before a heartbeat is due.
    #[must_use]
    pub fn reserved(&self) -> Duration {
        self.heartbeat + self.renew_timeout + self.max_clock_drift + self.early_slack
    }

    /// What is left of the TTL for a pause; zero if nothing is.
    #[must_use]
    pub fn margin(&self) -> Duration {
        self.ttl.saturating_sub(self.reserved())
    }

    /// The plain `ttl − heartbeat` that people compute first.
    #[must_use]
    pub fn plain_margin(&self) -> Duration {
        self.ttl.saturating_sub(self.heartbeat)
    }

    /// The margin is strictly greater than the worst pause.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.ttl > self.reserved() && self.margin() > self.worst_pause
    }

    /// The greatest heartbeat, in whole milliseconds, with which the budget would hold; `None` if no
    /// heartbeat of at least one millisecond does.
    #[must_use]
    pub fn heartbeat_that_holds(&self) -> Option<Duration> {
        let rest = self.renew_timeout + self.max_clock_drift + self.early_slack + self.worst_pause;
        let room = self.ttl.checked_sub(rest)?;
        let whole = u64::try_from(room.as_nanos().saturating_sub(1) / 1_000_000).ok()?;
        (whole > 0).then(|| Duration::from_millis(whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_margin_is_1750_ms() {
        let budget = Budget::standard();
        assert_eq!(budget.margin(), Duration::from_millis(1750));
        assert!(budget.holds());
    }

    #[test]
    fn a_margin_equal_to_the_worst_pause_does_not_hold() {
        let budget = Budget {
            worst_pause: Duration::from_millis(1750),
            ..Budget::standard()
        };
        assert!(!budget.holds());
        let heartbeat = budget.heartbeat_that_holds().expect("a smaller heartbeat holds");
        assert_eq!(heartbeat, Duration::from_millis(999));
        assert!(Budget { heartbeat, ..budget }.holds());
    }

    #[test]
    fn no_heartbeat_helps_a_ttl_that_is_too_short() {
        let budget = Budget {
            ttl: Duration::from_millis(1700),
            ..Budget::standard()
        };
        assert_eq!(budget.heartbeat_that_holds(), None);
    }
}
