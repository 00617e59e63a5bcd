//! Running time: what passes while this process runs. See `patience`, which has the same rules for one call.

use std::time::Duration;

/// A turn later than this was no turn of running time: the process was paused in it.
const PAUSED: Duration = Duration::from_millis(20);

/// After a pause so much is left to every time-out, for answers that wait.
const GRACE: Duration = Duration::from_millis(30);

/// How often that is given without an answer, so that a starved machine does not wait for ever.
const GRACES: u8 = 8;

/// The clock of time-outs.
#[derive(Debug)]
pub(super) struct Running {
    now: Duration,
    /// No time-out ends before.
    grace: Duration,
    graces: u8,
}

impl Default for Running {
    fn default() -> Self {
        Self {
            now: Duration::ZERO,
            grace: Duration::ZERO,
            graces: GRACES,
        }
    }
}

impl Running {
    pub(super) fn now(&self) -> Duration {
        self.now
    }

    /// A turn that was to take `planned` at most took `took`.
    pub(super) fn spend(&mut self, planned: Duration, took: Duration) {
        if took <= planned + PAUSED {
            self.now += took;
            return;
        }
        self.now += planned;
        if self.graces > 0 {
            self.graces -= 1;
            self.grace = self.now + GRACE;
        }
    }

    /// Something was answered.
    pub(super) fn answered(&mut self) {
        self.graces = GRACES;
    }

    /// Whether what had time until `deadline` has no more.
    pub(super) fn is_past(&self, deadline: Duration) -> bool {
        self.now >= deadline.max(self.grace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn time_outs_ok_across_a_pause() {
        let mut running = Running::default();
        running.spend(10 * MS, 9 * MS);
        assert_eq!(running.now(), 9 * MS);
        // A pause costs the turn that it was in, and leaves time to look at what waits.
        running.spend(10 * MS, 3000 * MS);
        assert_eq!(running.now(), 19 * MS);
        assert!(!running.is_past(15 * MS));
        running.spend(30 * MS, 30 * MS);
        assert!(running.is_past(15 * MS));
    }

    #[test]
    fn time_outs_bad_a_starved_machine_does_not_wait_for_ever() {
        let mut running = Running::default();
        for _ in 0..20 {
            running.spend(10 * MS, 500 * MS);
        }
        assert!(running.is_past(100 * MS));
        running.answered();
        running.spend(10 * MS, 500 * MS);
        assert!(!running.is_past(210 * MS), "an answer restores the grace");
    }
}
