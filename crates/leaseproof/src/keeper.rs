//! The thread that asks the store: acquires, renews, notices the loss, releases.
//!
//! It is a thread of its own, so that a busy executor or a long computation starves no renewal; and it renews only
//! as long as somebody works: the guard is there, and the work has shown a sign of life within the agreed time.

use crate::event::Event;
use crate::flaw::Bent;
use crate::metrics::Metrics;
use crate::options::Observer;
use crate::protocol::{Answer, Change, Loss, Protocol, Step, Terms};
use crate::shared::{Phase, SLICE, Shared, Wish};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::Outcome;
use leaseproof_store::boot_now;
use leaseproof_store::{Done, Grant, Lease};
use std::sync::Arc;
use std::time::Duration;

/// A release that nobody answered is asked for again, since it may not have arrived.
const RELEASE_TRIES: u32 = 3;

/// A turn later than this by more than it meant to be is worth a word.
const LATE: Duration = Duration::from_millis(50);

/// See the module.
pub(crate) struct Keeper {
    pub(crate) store: Box<dyn Lease>,
    pub(crate) key: String,
    pub(crate) owner: String,
    pub(crate) terms: Terms,
    /// After so much time without a sign of life from the work nothing is renewed.
    pub(crate) work_limit: Option<Duration>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) observer: Option<Observer>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) bent: Bent,
}

/// One grant's run.
struct Tenure {
    grant: Grant,
    attempt: u64,
    /// The validity before whose end everybody was warned.
    warned: BootNanos,
}

/// Says at the thread's end that it is over.
struct Ended(Arc<Shared>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.forbid();
        if matches!(self.0.phase(), Phase::Waiting(_) | Phase::Held) {
            self.0.enter(Phase::Over(Loss::Expired));
        }
        // What is given back by nobody is waited for by nobody.
        if self.0.by_guard && matches!(self.0.phase(), Phase::Over(loss) if loss.gives_back()) {
            self.0
                .enter(Phase::Released(Err("the thread that renews has ended".to_owned())));
        }
    }
}

impl Keeper {
    /// Until the lease is over, and released.
    pub(crate) fn run(mut self) {
        // Should this thread panic, nobody waits for it for ever.
        let _ended = Ended(Arc::clone(&self.shared));
        let mut protocol = Protocol::new(self.terms.clone(), boot_now());
        let Some(mut tenure) = self.acquire(&mut protocol) else {
            return;
        };
        let (loss, reason) = self.hold(&mut protocol, &mut tenure);
        // The permits end before anything else is done.
        self.shared.forbid();
        self.metrics.lost(&self.key);
        let token = tenure.grant.token;
        if loss != Loss::Released {
            self.say(&Event::Lost { token, loss, reason });
            self.shared.enter(Phase::Over(loss));
        }
        if loss.gives_back() {
            while self.shared.by_guard && self.shared.wish() == Wish::Hold {
                self.shared.wait(BootNanos(u64::MAX), |_, wish| wish != Wish::Hold);
            }
            #[cfg(feature = "flaws")]
            self.renew_after_drop(&mut tenure);
            let outcome = self.release(&tenure.grant);
            match &outcome {
                Ok(()) => self.say(&Event::Released { token }),
                // After a loss it is no wonder.
                Err(reason) if loss == Loss::Released => self.say(&Event::ReleaseFailed {
                    token,
                    reason: reason.clone(),
                }),
                Err(_) => {}
            }
            if loss == Loss::Released || self.shared.by_guard {
                self.shared.enter(Phase::Released(outcome));
            }
        }
    }

    /// Waits for the grant; none when nobody wants it any more.
    fn acquire(&mut self, protocol: &mut Protocol) -> Option<Tenure> {
        let mut said = false;
        loop {
            if self.shared.wish() != Wish::Hold {
                self.shared.enter(Phase::Released(Ok(())));
                return None;
            }
            match protocol.next(boot_now()) {
                Step::Sleep(until) => self.shared.wait(until, |_, wish| wish != Wish::Hold),
                _ => {
                    let sent = boot_now();
                    let timeout = self.terms.renew_timeout;
                    let done = self.store.acquire(&self.key, &self.owner, self.terms.ttl, timeout);
                    let now = boot_now();
                    if let Some(grant) = done.value {
                        let change = protocol.granted(self.bent.sent(sent, now), now, grant.token);
                        if let Change::Extend { token, until } = change {
                            self.begin(&grant, token, until);
                            self.shared.change(change);
                            self.shared.enter(Phase::Held);
                            return Some(Tenure {
                                grant,
                                attempt: 0,
                                warned: BootNanos(0),
                            });
                        }
                        // A pause used its TTL up: it is nobody's, and given back.
                        let _ = self.store.release(&grant, timeout);
                        continue;
                    }
                    if done.outcome == Outcome::Unknown {
                        // If it was applied after all, that grant is nobody's and ends by its TTL.
                        self.store.reconnect();
                    }
                    protocol.not_granted(now);
                    let reason = done.reason.unwrap_or_default();
                    if !said {
                        said = true;
                        self.say(&Event::Waiting { reason: reason.clone() });
                    }
                    self.shared.enter(Phase::Waiting(Some(reason)));
                }
            }
        }
    }

    fn begin(&self, grant: &Grant, token: leaseproof_model::name::Token, until: BootNanos) {
        self.shared.work(boot_now());
        self.metrics.held(&self.key, token, until);
        self.say(&Event::Acquired {
            token,
            holder: grant.holder.to_string(),
            valid_until: until,
        });
    }

    /// Holds it until it is over; why, and what the store said to it.
    fn hold(&mut self, protocol: &mut Protocol, tenure: &mut Tenure) -> (Loss, String) {
        let mut reason = String::new();
        loop {
            if let Wish::End(loss) = self.shared.wish() {
                protocol.end(loss);
            }
            let now = boot_now();
            match protocol.next(now) {
                Step::Over(loss) => return (loss, reason),
                Step::Renew if self.is_idle(now) => {
                    protocol.end(Loss::WorkStopped);
                }
                Step::Renew => reason = self.renew(protocol, tenure),
                Step::Acquire => return (Loss::Expired, reason),
                Step::Sleep(until) => self.sleep(until, tenure),
            }
        }
    }

    /// Whether the work has been silent for too long.
    fn is_idle(&self, now: BootNanos) -> bool {
        let silent = now.since(self.shared.worked());
        self.work_limit.is_some_and(|limit| silent > limit)
    }

    fn sleep(&self, until: BootNanos, tenure: &mut Tenure) {
        let valid = self.shared.until();
        let warning = valid.minus(self.terms.ahead);
        let began = boot_now();
        if warning <= began && tenure.warned != valid {
            tenure.warned = valid;
            self.shared.stir();
        }
        let until = if warning > began { until.min(warning) } else { until };
        let planned = until.since(began).min(SLICE);
        self.shared.wait(until, |_, wish| wish != Wish::Hold);
        let by = boot_now().since(began).saturating_sub(planned);
        if by > LATE {
            self.metrics.paused(by);
            self.say(&Event::Paused { by });
        }
    }

    /// Asks the store to extend the grant; what it said where it did not.
    fn renew(&mut self, protocol: &mut Protocol, tenure: &mut Tenure) -> String {
        tenure.attempt += 1;
        let attempt = tenure.attempt;
        let token = tenure.grant.token;
        let sent = boot_now();
        self.say(&Event::RenewalSent { token, attempt, sent });
        let Done {
            outcome,
            refusal,
            reason,
            store_time,
            ..
        } = self.store.renew(&tenure.grant, self.terms.ttl, protocol.patience(sent));
        let now = boot_now();
        let answer = self.bent.answer(Answer::of(outcome, refusal.is_some()));
        let change = protocol.renewed(self.bent.sent(sent, now), now, answer);
        // Before anything is said of it.
        self.shared.change(change);
        if answer == Answer::Applied {
            if let Change::Extend { token, until } = change {
                self.metrics.renewed(&self.key, sent, until);
                self.say(&Event::Renewed {
                    token,
                    attempt,
                    valid_until: until,
                    store_time,
                });
            }
            return String::new();
        }
        let reason = reason.unwrap_or_default();
        let refused = answer == Answer::Refused;
        self.metrics.renewal_failed();
        self.say(&Event::RenewalFailed {
            token,
            attempt,
            reason: reason.clone(),
            refused,
        });
        if answer == Answer::Unknown {
            // The connection may be one that the network has forgotten; the next one asks who holds the lease.
            self.store.reconnect();
        }
        reason
    }

    /// What a zombie does.
    #[cfg(feature = "flaws")]
    fn renew_after_drop(&mut self, tenure: &mut Tenure) {
        if !self.bent.has(crate::flaw::Flaw::RenewAfterDrop) {
            return;
        }
        let token = tenure.grant.token;
        self.say(&Event::Released { token });
        for _ in 0..2 {
            std::thread::sleep(self.terms.heartbeat);
            tenure.attempt += 1;
            let (attempt, sent) = (tenure.attempt, boot_now());
            self.say(&Event::RenewalSent { token, attempt, sent });
            let done = self
                .store
                .renew(&tenure.grant, self.terms.ttl, self.terms.renew_timeout);
            if done.outcome == Outcome::Applied {
                self.say(&Event::Renewed {
                    token,
                    attempt,
                    valid_until: self.terms.valid_until(sent),
                    store_time: None,
                });
            }
        }
    }

    fn release(&mut self, grant: &Grant) -> Result<(), String> {
        let mut reason = String::new();
        for _ in 0..RELEASE_TRIES {
            let done = self.store.release(grant, self.terms.renew_timeout);
            if done.outcome == Outcome::Applied {
                return Ok(());
            }
            let refused = done.refusal.is_some();
            reason = done.reason.unwrap_or_default();
            if refused {
                break;
            }
            self.store.reconnect();
        }
        Err(reason)
    }

    fn say(&self, event: &Event) {
        event.trace(&self.key);
        if let Some(observer) = &self.observer {
            observer(event);
        }
    }
}
