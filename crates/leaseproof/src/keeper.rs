//! The thread that asks the store: acquires, renews, notices the loss, releases.
//!
//! It is a thread of its own, so that a busy executor or a long computation starves no renewal; and it renews only
//! as long as somebody works: the guard is there, and the work has shown a sign of life within the agreed time.

use crate::duty::{Duty, RELEASE_TRIES, Tenure, abandon};
use crate::protocol::{Answer, Loss, Protocol, Step};
use crate::shared::{Phase, SLICE, Shared, Wish};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::Outcome;
use leaseproof_store::boot_now;
use leaseproof_store::{Grant, Lease};
use std::sync::Arc;
use std::time::Duration;

/// A turn later than this by more than it meant to be is worth a word.
pub(crate) const LATE: Duration = Duration::from_millis(50);

/// See the module.
pub(crate) struct Keeper {
    pub(crate) store: Box<dyn Lease>,
    pub(crate) duty: Duty,
}

/// Says at the thread's end that it is over.
struct Ended(Arc<Shared>);

impl Drop for Ended {
    fn drop(&mut self) {
        abandon(&self.0);
    }
}

impl Keeper {
    /// Until the lease is over, and released.
    pub(crate) fn run(mut self) {
        // Should this thread panic, nobody waits for it for ever.
        let _ended = Ended(Arc::clone(&self.duty.shared));
        let mut protocol = Protocol::new(self.duty.terms.clone(), boot_now());
        let Some(mut tenure) = self.acquire(&mut protocol) else {
            return;
        };
        let loss = self.hold(&mut protocol, &mut tenure);
        if !self.duty.over(&tenure, loss) {
            return;
        }
        while self.duty.waits_for_guard() {
            let shared = &self.duty.shared;
            shared.wait(BootNanos(u64::MAX), |_, wish| wish != Wish::Hold);
        }
        #[cfg(feature = "flaws")]
        self.renew_after_drop(&mut tenure);
        let outcome = self.release(&tenure.grant);
        self.duty.given_back(tenure.grant.token, loss, outcome);
    }

    /// Waits for the grant; none when nobody wants it any more.
    fn acquire(&mut self, protocol: &mut Protocol) -> Option<Tenure> {
        let mut said = None;
        loop {
            let shared = &self.duty.shared;
            if shared.wish() != Wish::Hold {
                shared.enter(Phase::Released(Ok(())));
                return None;
            }
            match protocol.next(boot_now()) {
                Step::Sleep(until) => shared.wait(until, |_, wish| wish != Wish::Hold),
                _ => {
                    let sent = boot_now();
                    let Duty { key, owner, terms, .. } = &self.duty;
                    let timeout = terms.renew_timeout;
                    let mut done = self.store.acquire(key, owner, terms.ttl, timeout);
                    if let Some(grant) = done.value.take() {
                        match self.duty.granted(protocol, sent, grant) {
                            Ok(tenure) => return Some(tenure),
                            // A pause used its TTL up: it is nobody's, and given back.
                            Err(grant) => {
                                let _ = self.store.release(&grant, timeout);
                                continue;
                            }
                        }
                    }
                    if done.outcome == Outcome::Unknown {
                        // If it was applied after all, that grant is nobody's and ends by its TTL.
                        self.store.reconnect();
                    }
                    if done.needs_mending {
                        self.duty.refused(done.reason);
                        return None;
                    }
                    self.duty.not_granted(protocol, done, &mut said);
                }
            }
        }
    }

    /// Holds it until it is over, and says why.
    fn hold(&mut self, protocol: &mut Protocol, tenure: &mut Tenure) -> Loss {
        loop {
            if let Wish::End(loss) = self.duty.shared.wish() {
                protocol.end(loss);
            }
            let now = boot_now();
            match protocol.next(now) {
                Step::Over(loss) => return loss,
                Step::Renew if self.duty.is_idle(now) => {
                    protocol.end(Loss::WorkStopped);
                }
                Step::Renew => self.renew(protocol, tenure),
                Step::Acquire => return Loss::Expired,
                Step::Sleep(until) => self.sleep(until, tenure),
            }
        }
    }

    fn sleep(&self, until: BootNanos, tenure: &mut Tenure) {
        let began = boot_now();
        let warning = self.duty.warn(tenure, began);
        let until = warning.map_or(until, |warning| until.min(warning));
        let planned = until.since(began).min(SLICE);
        self.duty.shared.wait(until, |_, wish| wish != Wish::Hold);
        let by = boot_now().since(began).saturating_sub(planned);
        if by > LATE {
            self.duty.paused(by);
        }
    }

    /// Asks the store to extend the grant.
    fn renew(&mut self, protocol: &mut Protocol, tenure: &mut Tenure) {
        let sent = self.duty.renewal(tenure);
        let ttl = self.duty.terms.ttl;
        let done = self.store.renew(&tenure.grant, ttl, protocol.patience(sent));
        if self.duty.renewed(protocol, tenure, sent, done) == Answer::Unknown {
            // The connection may be one that the network has forgotten; the next one asks who holds the lease.
            self.store.reconnect();
        }
    }

    /// What a zombie does.
    #[cfg(feature = "flaws")]
    fn renew_after_drop(&mut self, tenure: &mut Tenure) {
        use crate::event::Event;

        let duty = &self.duty;
        if !duty.bent.has(crate::flaw::Flaw::RenewAfterDrop) {
            return;
        }
        let token = tenure.grant.token;
        duty.say(&Event::Released { token });
        for _ in 0..2 {
            std::thread::sleep(duty.terms.heartbeat);
            let sent = duty.renewal(tenure);
            let done = self
                .store
                .renew(&tenure.grant, duty.terms.ttl, duty.terms.renew_timeout);
            if done.outcome == Outcome::Applied {
                duty.say(&Event::Renewed {
                    token,
                    attempt: tenure.attempt,
                    valid_until: duty.terms.valid_until(sent),
                    store_time: None,
                });
            }
        }
    }

    fn release(&mut self, grant: &Grant) -> Result<(), String> {
        let mut reason = String::new();
        for _ in 0..RELEASE_TRIES {
            let done = self.store.release(grant, self.duty.terms.renew_timeout);
            if done.outcome == Outcome::Applied {
                return Ok(());
            }
            let again = Duty::is_to_be_asked_again(&done);
            reason = done.reason.unwrap_or_default();
            if !again {
                break;
            }
            self.store.reconnect();
        }
        Err(reason)
    }
}
