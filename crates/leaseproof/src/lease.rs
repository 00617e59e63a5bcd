//! The guard: one grant, from its acquisition to its end.

use crate::asynchronous::{Lost, Releasing, Run};
use crate::budget::Sound;
use crate::error::{AcquireError, LockNotHeld, ReleaseError};
use crate::options::Options;
use crate::permit::Permit;
use crate::protocol::Loss;
use crate::shared::{Phase, Shared, Wish};
use crate::store::Store;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::name::Token;
use leaseproof_store::boot_now;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// One grant of a lease. It is renewed by a thread of its own as long as this guard is there.
///
/// What is lost stays lost: a later grant is another guard, with a greater token. Dropping it releases the lease
/// without waiting for the outcome; [`Lease::release`] waits.
#[must_use = "the lease is released when its guard is dropped"]
pub struct Lease {
    pub(crate) shared: Arc<Shared>,
    pub(crate) key: String,
    pub(crate) ahead: Duration,
}

impl Lease {
    /// Waits until `store` grants the lease `key`. For a bound on the wait, a name and more see [`Options`].
    ///
    /// # Errors
    /// When the store can't be used, or its slack breaks the budget.
    pub fn acquire(store: &Store, key: &str, budget: &Sound) -> Result<Self, AcquireError> {
        Options::new(store, key, budget).acquire()
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The right to begin one protected act now, or "lock not held".
    ///
    /// It compares the boot clock with the validity, here and now: there is no window in which a timer has not yet
    /// fired. It costs one reading of the clock.
    ///
    /// # Errors
    /// When the lease is not held now.
    #[inline]
    pub fn permit(&self) -> Result<Permit, LockNotHeld> {
        match self.shared.permit() {
            Some(permit) => Ok(permit),
            None => Err(self.not_held()),
        }
    }

    #[cold]
    fn not_held(&self) -> LockNotHeld {
        let usual = if self.is_doubted() {
            Loss::Unknown
        } else {
            Loss::Expired
        };
        LockNotHeld {
            loss: self.shared.loss().unwrap_or(usual),
        }
    }

    /// Whether the work is to stand still, since the store may say yet that the lease holds.
    pub(crate) fn is_doubted(&self) -> bool {
        let left = self.shared.until().since(boot_now());
        self.shared.is_doubted() && left > self.ahead
    }

    /// The fencing token of this grant.
    #[must_use]
    pub fn token(&self) -> Token {
        self.shared.token()
    }

    /// Until when it is valid, as of the last renewal; zero once it is over.
    #[must_use]
    pub fn valid_until(&self) -> BootNanos {
        self.shared.until()
    }

    /// A sign of life of work that needs no permit for long; see [`Options::work_limit`].
    pub fn working(&self) {
        self.shared.work(boot_now());
    }

    /// Says that the resource refused `permit`'s token as stale: another has written since. Nothing is permitted
    /// any more.
    pub fn fenced(&self, permit: &Permit) {
        if permit.token() == self.token() {
            self.shared.forbid();
            self.shared.ask(Wish::End(Loss::Fenced));
        }
    }

    /// Completes once the lease is over, with the reason.
    pub fn lost(&self) -> Lost {
        Lost::new(Arc::clone(&self.shared))
    }

    /// Waits for the loss, for `span` at most; none: it is held still.
    #[must_use]
    pub fn wait_lost(&self, span: Duration) -> Option<Loss> {
        let until = boot_now().plus(span);
        loop {
            let loss = self.shared.loss();
            if loss.is_some() || until <= boot_now() {
                return loss;
            }
            let over = |phase: &Phase, _| matches!(phase, Phase::Over(_) | Phase::Released(_));
            self.shared.wait(until, over);
        }
    }

    /// Runs `work` as long as the lease is valid: it is never polled once it is not, and dropped before the
    /// validity ends (see [`Options::cancel_ahead`]). What it does between two awaits can't be cut short.
    ///
    /// # Errors
    /// When the lease is lost first, or was before: then `work` is not even begun.
    pub fn run<W, F>(&self, work: W) -> Run<'_, W, F>
    where
        W: FnOnce(Permit) -> F,
        F: Future,
    {
        Run::new(self, work)
    }

    /// Ends the permits at once, releases the lease and waits for what comes of it, for a few renewal time-outs at
    /// most.
    ///
    /// # Errors
    /// When it had been lost, or the release is not known to be applied: then it ends by its TTL.
    pub fn release(self) -> Result<(), ReleaseError> {
        self.give_up();
        loop {
            if let Some(outcome) = self.outcome() {
                return outcome;
            }
            let until = boot_now().plus(Duration::from_secs(1));
            self.shared.wait(until, |phase, _| self.outcome_in(phase).is_some());
        }
    }

    /// The same as a future.
    ///
    /// # Errors
    /// As [`Self::release`], when polled.
    pub fn release_async(self) -> Releasing {
        self.give_up();
        Releasing::new(self)
    }

    fn give_up(&self) {
        self.shared.forbid();
        self.shared.ask(Wish::End(Loss::Released));
    }

    /// What came of the release, once that is known.
    pub(crate) fn outcome(&self) -> Option<Result<(), ReleaseError>> {
        self.outcome_in(&self.shared.phase())
    }

    fn outcome_in(&self, phase: &Phase) -> Option<Result<(), ReleaseError>> {
        match phase {
            Phase::Released(Ok(())) => Some(Ok(())),
            Phase::Released(Err(reason)) => Some(Err(ReleaseError::Unknown { reason: reason.clone() })),
            // What was refused is another's: nothing is given back.
            Phase::Over(loss) if self.shared.by_guard && loss.gives_back() => None,
            Phase::Over(loss) => Some(Err(ReleaseError::Lost { loss: *loss })),
            Phase::Waiting(_) | Phase::Refused(_) | Phase::Held => None,
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("key", &self.key)
            .field("token", &self.token().0)
            .field("valid_until", &self.valid_until().0)
            .finish_non_exhaustive()
    }
}
