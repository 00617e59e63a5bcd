//! Time-outs in running time.
//!
//! A process that was paused for three seconds in the middle of a request has not waited for three
//! seconds: the answer may lie in its socket. A deadline on a clock calls that a time-out, and a
//! lock client then gives up a lease that was renewed. So waiting is done in short slices, and one in which the process was
//! away counts for no more than its own length. One that is merely late, as each is on a busy machine, counts as what it
//! took: else three seconds of time-out would be five.

use crate::clock::boot_now;
use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// Short enough that a pause costs little of the time-out, long enough to cost no CPU.
const SLICE: Duration = Duration::from_millis(10);

/// A slice later than this was no slice of running time: the process was paused in it.
const PAUSED: Duration = Duration::from_millis(50);

/// After a pause at the very end of a time-out, this much is left for an answer that waits: timers
/// may fire before the socket is looked at.
const GRACE: Duration = Duration::from_millis(30);

/// How often the grace is given, so that a starved machine does not wait for ever.
const GRACES: u8 = 8;

/// What is left of a time-out, in running time.
#[derive(Debug)]
pub(crate) struct Patience {
    whole: Duration,
    left: Duration,
    graces: u8,
}

impl Patience {
    pub(crate) fn new(timeout: Duration) -> Self {
        Self {
            whole: timeout,
            left: timeout,
            graces: GRACES,
        }
    }

    /// The time-out that it was made of.
    #[cfg_attr(not(feature = "zookeeper"), expect(dead_code, reason = "the adapter asks"))]
    pub(crate) fn whole(&self) -> Duration {
        self.whole
    }

    /// What is left.
    pub(crate) fn left(&self) -> Duration {
        self.left
    }

    /// How much of it is gone; nothing where the grace left more than there was.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "the adapter asks"))]
    pub(crate) fn spent(&self) -> Duration {
        self.whole.saturating_sub(self.left)
    }

    /// Half of what is left: for one of several members that can be asked in turn.
    #[cfg_attr(
        not(any(feature = "consul", feature = "etcd", feature = "zookeeper")),
        expect(dead_code, reason = "the stores that can have several members are optional ones")
    )]
    pub(crate) fn half(&self) -> Self {
        Self::new(self.left / 2)
    }

    /// Takes off what was spent elsewhere.
    pub(crate) fn take(&mut self, spent: Duration) {
        self.left = self.left.saturating_sub(spent);
    }

    /// Takes a slice of `asked` off, which took `took` by the boot clock.
    fn spend(&mut self, asked: Duration, took: Duration) {
        let paused = took > asked + PAUSED;
        self.left = self.left.saturating_sub(if paused { asked } else { took });
        if paused && self.graces > 0 {
            self.graces -= 1;
            self.left = self.left.max(GRACE);
        }
    }

    /// Waits for `work`; `None` when the patience is over first. The work stays with the caller.
    pub(crate) async fn wait<F: Future>(&mut self, mut work: Pin<&mut F>) -> Option<F::Output> {
        loop {
            let slice = self.left.min(SLICE);
            let began = boot_now();
            if let Ok(output) = tokio::time::timeout(slice, work.as_mut()).await {
                return Some(output);
            }
            self.spend(slice, boot_now().since(began));
            if self.left.is_zero() {
                return None;
            }
        }
    }

    /// Waits for what comes by a channel; `None` when the patience is over first, or nobody sends any more.
    pub(crate) fn receive<T>(&mut self, from: &Receiver<T>) -> Option<T> {
        loop {
            let slice = self.left.min(SLICE);
            let began = boot_now();
            match from.recv_timeout(slice) {
                Ok(received) => {
                    self.take(boot_now().since(began).min(slice));
                    return Some(received);
                }
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => self.spend(slice, boot_now().since(began)),
            }
            if self.left.is_zero() {
                return None;
            }
        }
    }

    /// Sleeps for `nap` at most; false when the patience was over before.
    pub(crate) fn nap(&mut self, nap: Duration) -> bool {
        if self.left.is_zero() {
            return false;
        }
        let nap = nap.min(self.left);
        let began = boot_now();
        std::thread::sleep(nap);
        self.spend(nap, boot_now().since(began));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_pause_costs_one_slice() {
        let mut patience = Patience::new(200 * MS);
        patience.spend(10 * MS, 3000 * MS);
        assert_eq!(patience.left(), 190 * MS);
    }

    #[test]
    fn a_pause_at_the_end_leaves_time_to_look() {
        let mut patience = Patience::new(10 * MS);
        patience.spend(10 * MS, 3000 * MS);
        assert_eq!(patience.left(), GRACE);
        assert_eq!(patience.spent(), Duration::ZERO);
    }

    #[test]
    fn without_a_pause_the_time_out_is_the_time_out() {
        let mut patience = Patience::new(20 * MS);
        patience.spend(10 * MS, 11 * MS);
        patience.spend(10 * MS, 11 * MS);
        assert_eq!(patience.left(), Duration::ZERO);
    }

    #[test]
    fn slices_that_are_late_count_as_long_as_they_took() {
        let mut patience = Patience::new(3000 * MS);
        let mut waited = Duration::ZERO;
        while !patience.left().is_zero() {
            patience.spend(10 * MS, 25 * MS);
            waited += 25 * MS;
        }
        assert_eq!(waited, 3000 * MS);
    }

    #[test]
    fn a_starved_machine_does_not_wait_for_ever() {
        let mut patience = Patience::new(10 * MS);
        for _ in 0..100 {
            patience.spend(10 * MS, 500 * MS);
        }
        assert_eq!(patience.left(), Duration::ZERO);
    }
}
