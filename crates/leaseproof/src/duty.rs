//! What is done and said for one lease by whoever drives it: the same by a thread of its own and by a fleet's.
//!
//! The protocol decides; here its word reaches the permits, the metrics and whoever listens, in that order.

use crate::event::Event;
use crate::flaw::Bent;
use crate::metrics::Metrics;
use crate::options::Observer;
use crate::protocol::{Answer, Change, Loss, Protocol, Terms};
use crate::shared::{Phase, Shared, Wish};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::Outcome;
use leaseproof_model::name::Token;
use leaseproof_store::boot_now;
use leaseproof_store::{Done, Grant, Refusal};
use std::sync::Arc;
use std::time::Duration;

/// A release that nobody answered is asked for again, since it may not have arrived.
pub(crate) const RELEASE_TRIES: u32 = 3;

/// See the module.
pub(crate) struct Duty {
    pub(crate) key: String,
    pub(crate) owner: String,
    pub(crate) terms: Terms,
    /// After so much time without a sign of life from the work nothing is renewed.
    pub(crate) work_limit: Option<Duration>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) observer: Option<Observer>,
    pub(crate) metrics: Option<Arc<Metrics>>,
    pub(crate) bent: Bent,
}

/// One grant's run.
pub(crate) struct Tenure {
    pub(crate) grant: Grant,
    pub(crate) attempt: u64,
    /// The validity before whose end everybody was warned.
    warned: BootNanos,
    /// What the store said to the last renewal, where it was not applied.
    pub(crate) reason: String,
}

impl Duty {
    /// The store granted it, as asked for at `sent`. The grant comes back where its TTL was used up by a pause: it is
    /// nobody's, and to be released.
    pub(crate) fn granted(&self, protocol: &mut Protocol, sent: BootNanos, grant: Grant) -> Result<Tenure, Grant> {
        let now = boot_now();
        let change = protocol.granted(self.bent.sent(sent, now), now, grant.token);
        let Change::Extend { token, until } = change else {
            return Err(grant);
        };
        self.shared.work(boot_now());
        if let Some(metrics) = &self.metrics {
            metrics.held(&self.key, token, until);
        }
        self.say(&Event::Acquired {
            token,
            holder: grant.holder.to_string(),
            valid_until: until,
        });
        self.shared.change(change);
        self.shared.enter(Phase::Held);
        Ok(Tenure {
            grant,
            attempt: 0,
            warned: BootNanos(0),
            reason: String::new(),
        })
    }

    /// It refused, and would refuse again.
    pub(crate) fn refused(&self, reason: Option<String>) {
        self.shared.enter(Phase::Refused(reason.unwrap_or_default()));
    }

    /// It did not, as `done` says; that is said the first time, and where it is another than was `said` last.
    pub(crate) fn not_granted<T>(&self, protocol: &mut Protocol, done: Done<T>, said: &mut Option<String>) {
        protocol.not_granted(boot_now());
        let held = done.refusal == Some(Refusal::Held);
        let reason = done.reason.unwrap_or_default();
        // Numbers differ from try to try: ports, spans.
        let words = reason.chars().filter(|it| !it.is_ascii_digit() && *it != '.').collect();
        if said.replace(words) != *said {
            self.say(&Event::Waiting {
                reason: reason.clone(),
                held,
            });
        }
        self.shared.enter(Phase::Waiting(Some(reason)));
    }

    /// Whether the work has been silent for too long.
    pub(crate) fn is_idle(&self, now: BootNanos) -> bool {
        let silent = now.since(self.shared.worked());
        self.work_limit.is_some_and(|limit| silent > limit)
    }

    /// Warns everybody shortly before the validity ends; when that is, if it is to come.
    pub(crate) fn warn(&self, tenure: &mut Tenure, now: BootNanos) -> Option<BootNanos> {
        let valid = self.shared.until();
        let warning = valid.minus(self.terms.ahead);
        if warning <= now && tenure.warned != valid {
            tenure.warned = valid;
            self.shared.stir();
        }
        (warning > now).then_some(warning)
    }

    /// A renewal is about to be sent: the moment from which its validity counts.
    pub(crate) fn renewal(&self, tenure: &mut Tenure) -> BootNanos {
        tenure.attempt += 1;
        let sent = boot_now();
        self.say(&Event::RenewalSent {
            token: tenure.grant.token,
            attempt: tenure.attempt,
            sent,
        });
        sent
    }

    /// What came of the renewal that was sent then.
    pub(crate) fn renewed(
        &self,
        protocol: &mut Protocol,
        tenure: &mut Tenure,
        sent: BootNanos,
        done: Done<()>,
    ) -> Answer {
        let now = boot_now();
        let (token, attempt) = (tenure.grant.token, tenure.attempt);
        let answer = self.bent.answer(Answer::of(done.outcome, done.refusal.is_some()));
        let change = protocol.renewed(self.bent.sent(sent, now), now, answer);
        // Before anything is said of it.
        self.shared.change(change);
        if answer == Answer::Applied {
            tenure.reason.clear();
            if let Change::Extend { token, until } = change {
                if let Some(metrics) = &self.metrics {
                    metrics.renewed(&self.key, sent, until);
                }
                self.say(&Event::Renewed {
                    token,
                    attempt,
                    valid_until: until,
                    store_time: done.store_time,
                });
            }
            return answer;
        }
        tenure.reason = done.reason.unwrap_or_default();
        if let Some(metrics) = &self.metrics {
            metrics.renewal_failed();
        }
        self.say(&Event::RenewalFailed {
            token,
            attempt,
            reason: tenure.reason.clone(),
            refused: answer == Answer::Refused,
        });
        answer
    }

    /// It is over: the permits end before anything else is done. Whether the grant is to be given back.
    pub(crate) fn over(&self, tenure: &Tenure, loss: Loss) -> bool {
        self.shared.forbid();
        if let Some(metrics) = &self.metrics {
            metrics.lost(&self.key);
        }
        if loss != Loss::Released {
            self.say(&Event::Lost {
                token: tenure.grant.token,
                loss,
                reason: tenure.reason.clone(),
            });
            self.shared.enter(Phase::Over(loss));
        }
        loss.gives_back()
    }

    /// Whether what is to be given back waits for its guard yet.
    pub(crate) fn waits_for_guard(&self) -> bool {
        self.shared.by_guard && self.shared.wish() == Wish::Hold
    }

    /// What came of its release, after this loss.
    pub(crate) fn given_back(&self, token: Token, loss: Loss, outcome: Result<(), String>) {
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

    /// Whether a release that came to this is to be tried once more.
    pub(crate) fn is_to_be_asked_again(done: &Done<()>) -> bool {
        done.outcome != Outcome::Applied && done.refusal.is_none()
    }

    /// Who drives it was late by so much.
    pub(crate) fn paused(&self, by: Duration) {
        if let Some(metrics) = &self.metrics {
            metrics.paused(by);
        }
        self.say(&Event::Paused { by });
    }

    pub(crate) fn say(&self, event: &Event) {
        event.trace(&self.key);
        if let Some(observer) = &self.observer {
            observer(event);
        }
    }
}

/// Nobody drives it any more: nothing is permitted, and nobody waits for it for ever.
pub(crate) fn abandon(shared: &Shared) {
    shared.forbid();
    if matches!(shared.phase(), Phase::Waiting(_) | Phase::Held) {
        shared.enter(Phase::Over(Loss::Expired));
    }
    // What is given back by nobody is waited for by nobody.
    if shared.by_guard && matches!(shared.phase(), Phase::Over(loss) if loss.gives_back()) {
        shared.enter(Phase::Released(Err("the thread that renews has ended".to_owned())));
    }
}
