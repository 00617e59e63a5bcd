//! When a command must be stopped, by the validity that stands. Pure: no clock is read here.

use leaseproof_model::budget::Budget;
use leaseproof_model::clock::BootNanos;
use std::time::Duration;

/// The most that SIGKILL is sent ahead of the end of validity.
const MOST_SLACK: Duration = Duration::from_millis(50);

/// How long before the end of validity a command is asked to end, and is killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// From SIGTERM to SIGKILL, when the lease ends.
    pub grace: Duration,
    /// From SIGKILL to the end of validity: what the kill itself may take.
    pub slack: Duration,
    /// From SIGTERM to SIGKILL, when somebody asks `hold` to end, or the command left processes behind.
    pub asked_grace: Duration,
}

impl Timing {
    /// What a kill may take under this budget.
    #[must_use]
    pub fn slack_of(budget: &Budget) -> Duration {
        (budget.ttl / 60).min(MOST_SLACK)
    }

    /// The longest grace with which a pause as long as the budget's worst, followed by a renewal, stops nothing.
    /// None: not even the slack fits.
    #[must_use]
    pub fn longest_grace(budget: &Budget) -> Option<Duration> {
        budget
            .margin()
            .checked_sub(budget.worst_pause)?
            .checked_sub(Self::slack_of(budget))
    }

    /// When SIGTERM is sent.
    #[must_use]
    pub fn term_at(&self, until: BootNanos) -> BootNanos {
        self.kill_at(until).minus(self.grace)
    }

    /// When SIGKILL is sent.
    #[must_use]
    pub fn kill_at(&self, until: BootNanos) -> BootNanos {
        until.minus(self.slack)
    }

    /// When the guardian's fuse blows: it should have killed by itself, and there is time still.
    #[must_use]
    pub fn fuse_at(&self, until: BootNanos) -> BootNanos {
        until.minus(self.slack / 2)
    }
}

/// What is to be done with the command now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Nothing before this moment.
    Wait(BootNanos),
    /// It is to be asked to end: said once.
    Term,
    /// It is to be killed: said each time from then on.
    Kill,
}

/// One command's way to its end.
#[derive(Clone, Debug)]
pub struct Stopper {
    timing: Timing,
    /// The kill that follows a SIGTERM, whatever the validity.
    after_term: Option<BootNanos>,
    termed: bool,
    killing: bool,
}

impl Stopper {
    /// Nothing was asked yet.
    #[must_use]
    pub fn new(timing: Timing) -> Self {
        Self {
            timing,
            after_term: None,
            termed: false,
            killing: false,
        }
    }

    /// What is to be done at `now`, with a validity until `until`; 0 means that there is none any more.
    pub fn next(&mut self, now: BootNanos, until: BootNanos) -> Step {
        let kill_at = self.timing.kill_at(until);
        let kill_at = self.after_term.map_or(kill_at, |asked| asked.min(kill_at));
        if self.killing || kill_at <= now {
            // What was killed once stays killed, though a renewal may come through meanwhile.
            self.killing = true;
            return Step::Kill;
        }
        if self.termed {
            return Step::Wait(kill_at);
        }
        let term_at = self.timing.term_at(until);
        if term_at <= now {
            self.termed = true;
            self.after_term = Some(now.plus(self.timing.grace));
            return Step::Term;
        }
        Step::Wait(term_at)
    }

    /// Somebody sent it a SIGTERM: the kill follows after the longer grace, and not after the validity.
    pub fn asked(&mut self, now: BootNanos) {
        self.termed = true;
        let kill_at = now.plus(self.timing.asked_grace);
        self.after_term = Some(self.after_term.map_or(kill_at, |before| before.min(kill_at)));
    }

    /// No grace.
    pub fn kill(&mut self) {
        self.killing = true;
    }

    /// Whether it was killed, or is to be.
    #[must_use]
    pub fn is_killing(&self) -> bool {
        self.killing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u64) -> BootNanos {
        BootNanos(ms * 1_000_000)
    }

    fn stopper() -> Stopper {
        Stopper::new(Timing {
            grace: 200 * MS,
            slack: 50 * MS,
            asked_grace: 5000 * MS,
        })
    }

    #[test]
    fn term_then_kill_before_the_end() {
        let mut it = stopper();
        assert_eq!(it.next(at(0), at(3000)), Step::Wait(at(2750)));
        assert_eq!(it.next(at(2750), at(3000)), Step::Term);
        assert_eq!(it.next(at(2750), at(3000)), Step::Wait(at(2950)));
        assert_eq!(it.next(at(2950), at(3000)), Step::Kill);
    }

    #[test]
    fn a_renewal_moves_both() {
        let mut it = stopper();
        assert_eq!(it.next(at(2700), at(4000)), Step::Wait(at(3750)));
    }

    #[test]
    fn a_late_wake_has_what_grace_is_left_and_none_past_the_end() {
        let mut it = stopper();
        assert_eq!(it.next(at(2900), at(3000)), Step::Term);
        assert_eq!(it.next(at(2900), at(3000)), Step::Wait(at(2950)));
        assert_eq!(stopper().next(at(2950), at(3000)), Step::Kill);
        assert_eq!(stopper().next(at(9000), at(3000)), Step::Kill);
        assert_eq!(stopper().next(at(9000), at(0)), Step::Kill, "lost");
    }

    #[test]
    fn a_renewal_after_the_term_spares_nobody() {
        let mut it = stopper();
        assert_eq!(it.next(at(2750), at(3000)), Step::Term);
        assert_eq!(it.next(at(2800), at(6000)), Step::Wait(at(2950)));
        assert_eq!(it.next(at(2950), at(6000)), Step::Kill);
        assert_eq!(it.next(at(2951), at(9000)), Step::Kill);
    }

    #[test]
    fn asked_from_outside_the_validity_still_bounds_it() {
        let mut it = stopper();
        it.asked(at(1000));
        assert_eq!(it.next(at(1000), at(3000)), Step::Wait(at(2950)));
        assert_eq!(it.next(at(1500), at(60_000)), Step::Wait(at(6000)));
        assert_eq!(it.next(at(6000), at(60_000)), Step::Kill);
    }

    #[test]
    fn grace_is_what_the_budget_leaves() {
        let standard = Budget::standard();
        assert_eq!(Timing::slack_of(&standard), 50 * MS);
        assert_eq!(Timing::longest_grace(&standard), Some(200 * MS));
        let tight = Budget {
            worst_pause: 1740 * MS,
            ..standard
        };
        assert_eq!(Timing::longest_grace(&tight), None);
    }
}
