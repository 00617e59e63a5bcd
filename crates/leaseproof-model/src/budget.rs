//! The safety budget and its margin: the inequality that everything else reads from here.

use serde::{Deserialize, Serialize};
use std::fmt;
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

/// One number that is taken off the TTL, and why.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Term {
    /// Its name in a plan.
    pub name: &'static str,
    /// How much.
    pub span: Duration,
    /// Why it counts.
    pub why: &'static str,
}

/// A budget that does not hold (LP019); its text says by how much, and what to change. Its `Debug` is the same text: that
/// is what Rust shows of an error that `main` returns.
#[derive(Copy, Clone, PartialEq, Eq)]
pub struct Shortfall(Budget);

impl Budget {
    /// A shorter heartbeat is no advice: the timers of a busy process are not that exact.
    pub const LEAST_HEARTBEAT: Duration = Duration::from_millis(10);

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

    /// What must be taken off the TTL before a pause may begin, one by one.
    #[must_use]
    pub fn terms(&self) -> [Term; 4] {
        [
            Term {
                name: "heartbeat",
                span: self.heartbeat,
                why: "the pause can begin just before a renewal is due",
            },
            Term {
                name: "renew_timeout",
                span: self.renew_timeout,
                why: "the renewal after the pause may take as long as this",
            },
            Term {
                name: "max_clock_drift",
                span: self.max_clock_drift,
                why: "the store's clock may run ahead of the owner's",
            },
            Term {
                name: "early_slack",
                span: self.early_slack,
                why: "the store itself may end a lease this much early",
            },
        ]
    }

    /// The sum of the [terms](Self::terms).
    #[must_use]
    pub fn reserved(&self) -> Duration {
        self.terms().iter().map(|term| term.span).sum()
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

    /// The same, as a result that a program can refuse to start with.
    ///
    /// # Errors
    /// When the margin is not greater than the worst pause.
    pub fn assert(&self) -> Result<(), Shortfall> {
        if self.holds() { Ok(()) } else { Err(Shortfall(*self)) }
    }

    /// How many renewals in a row may fail, without any pause, before the lease is gone; `None` where not
    /// even the first is in time.
    #[must_use]
    pub fn renewals_that_may_fail(&self) -> Option<u32> {
        // Attempt n is sent at n heartbeats, and must be applied while the lease lives.
        let rest = self.reserved() - self.heartbeat;
        let room = self.ttl.checked_sub(rest)?;
        let in_time = room.as_nanos().checked_div(self.heartbeat.as_nanos())?;
        u32::try_from(in_time).unwrap_or(u32::MAX).checked_sub(1)
    }

    /// The greatest heartbeat, in whole milliseconds, with which the budget would hold; `None` if none of
    /// at least [`Self::LEAST_HEARTBEAT`] does.
    #[must_use]
    pub fn heartbeat_that_holds(&self) -> Option<Duration> {
        let rest = self.reserved() - self.heartbeat + self.worst_pause;
        let heartbeat = below(self.ttl.checked_sub(rest)?, Duration::from_millis(1));
        (heartbeat >= Self::LEAST_HEARTBEAT).then_some(heartbeat)
    }
}

/// The greatest multiple of `step` that is strictly below `span`; zero where there is none.
#[must_use]
pub fn below(span: Duration, step: Duration) -> Duration {
    let step = u64::try_from(step.as_nanos()).unwrap_or(u64::MAX).max(1);
    let whole = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    Duration::from_nanos(whole.saturating_sub(1) / step * step)
}

/// The least multiple of `step` that is strictly above `span`.
#[must_use]
pub fn above(span: Duration, step: Duration) -> Duration {
    let step = u64::try_from(step.as_nanos()).unwrap_or(u64::MAX).max(1);
    let whole = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    Duration::from_nanos((whole / step + 1).saturating_mul(step))
}

impl fmt::Display for Shortfall {
    /// A greater TTL is never the advice: it widens the window in which two owners can act.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let budget = &self.0;
        write!(
            out,
            "LP019 budget-invalid: the margin is {:?} (ttl {:?}",
            budget.margin(),
            budget.ttl
        )?;
        for term in budget.terms() {
            if term.name != "early_slack" || !term.span.is_zero() {
                write!(out, " - {} {:?}", term.name, term.span)?;
            }
        }
        write!(
            out,
            "), and it must be greater than the worst pause of {:?}\n  ",
            budget.worst_pause
        )?;
        match budget.heartbeat_that_holds() {
            Some(heartbeat) => write!(
                out,
                "the smallest change that passes: heartbeat = \"{}ms\"",
                heartbeat.as_millis()
            ),
            None => out.write_str(
                "no heartbeat would be short enough: the worst pause itself must get shorter (a longer TTL would widen \
                 the window in which two owners can act)",
            ),
        }
    }
}

impl fmt::Debug for Shortfall {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl std::error::Error for Shortfall {}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn the_standard_margin_is_1750_ms() {
        let budget = Budget::standard();
        assert_eq!(budget.margin(), ms(1750));
        assert!(budget.holds());
        assert_eq!(budget.assert(), Ok(()));
    }

    #[test]
    fn a_margin_equal_to_the_worst_pause_does_not_hold() {
        let budget = Budget {
            worst_pause: ms(1750),
            ..Budget::standard()
        };
        assert!(!budget.holds());
        let shortfall = budget.assert().expect_err("it does not hold");
        let says = shortfall.to_string();
        assert_eq!(format!("{shortfall:?}"), says, "what an error from main() shows");
        assert!(says.contains("heartbeat = \"999ms\""), "{says}");
        let heartbeat = budget.heartbeat_that_holds().expect("a smaller heartbeat holds");
        assert_eq!(heartbeat, ms(999));
        assert!(Budget { heartbeat, ..budget }.holds());
    }

    #[test]
    fn no_heartbeat_helps_a_ttl_that_is_too_short() {
        for ttl in [1700, 1750, 1760] {
            let budget = Budget {
                ttl: ms(ttl),
                ..Budget::standard()
            };
            assert_eq!(budget.heartbeat_that_holds(), None);
        }
        let budget = Budget {
            ttl: ms(1761),
            ..Budget::standard()
        };
        assert_eq!(budget.heartbeat_that_holds(), Some(Budget::LEAST_HEARTBEAT));
    }

    #[test]
    fn renewals_may_fail() {
        for (ttl, may) in [
            (1249, None),
            (1250, Some(0)),
            (2249, Some(0)),
            (2250, Some(1)),
            (3000, Some(1)),
            (3250, Some(2)),
        ] {
            let budget = Budget {
                ttl: ms(ttl),
                ..Budget::standard()
            };
            assert_eq!(budget.renewals_that_may_fail(), may, "{ttl}");
        }
    }

    #[test]
    fn steps_are_strict() {
        for (span, step, down, up) in [
            (10, 5, 5, 15),
            (11, 5, 10, 15),
            (5, 5, 0, 10),
            (0, 5, 0, 5),
            (4, 5, 0, 5),
        ] {
            assert_eq!(
                (below(ms(span), ms(step)), above(ms(span), ms(step))),
                (ms(down), ms(up))
            );
        }
    }
}
