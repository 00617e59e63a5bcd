//! One lease of a fleet: what it wants next, and what an answer makes of it. Nothing is sent here.

use crate::duty::{Duty, RELEASE_TRIES, Tenure};
use crate::protocol::{Answer, Loss, Protocol, Step};
use crate::shared::{Phase, Wish};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::Outcome;
use leaseproof_store::boot_now;
use leaseproof_store::{Grant, Operation, Pipelined, Ticket, What};
use std::time::Duration;

use super::office::Counts;

/// See the module.
pub(super) struct Seat {
    pub(super) duty: Duty,
    protocol: Protocol,
    stage: Stage,
    /// What is on its way for it.
    flight: Option<Flight>,
    /// How many operations were put for it.
    number: u64,
    /// The words in which it was said last that it waits.
    said: Option<String>,
    /// When the protocol wanted it to ask again.
    due: Option<BootNanos>,
    /// The moment that stands in the agenda; entries with another are of no account.
    pub(super) wake: Option<BootNanos>,
    /// It waits for room.
    pub(super) queued: bool,
}

enum Stage {
    /// Not granted yet. A grant that a pause used up is nobody's, and given back first.
    Waiting {
        unwanted: Option<Box<Grant>>,
    },
    Holding(Tenure),
    /// Held no more, and given back.
    Leaving {
        tenure: Tenure,
        loss: Loss,
        tries: u32,
    },
    Gone,
}

struct Flight {
    number: u64,
    sent: BootNanos,
}

/// What it wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// Nothing before this moment.
    Sleep(BootNanos),
    /// Nothing before its answer, or a word of its guard.
    Wait,
    /// To ask the store: to keep what it has, or to give it back.
    Keep,
    /// To ask the store for what it has not.
    Get,
    /// Nothing any more.
    Gone,
}

impl Seat {
    pub(super) fn new(duty: Duty) -> Self {
        Self {
            protocol: Protocol::new(duty.terms.clone(), boot_now()),
            duty,
            stage: Stage::Waiting { unwanted: None },
            flight: None,
            number: 0,
            said: None,
            due: None,
            wake: None,
            queued: false,
        }
    }

    pub(super) fn is_held(&self) -> bool {
        matches!(self.stage, Stage::Holding(_))
    }

    /// What it wants at `now`.
    pub(super) fn next(&mut self, now: BootNanos, counts: &Counts) -> Next {
        if self.is_held()
            && let Wish::End(loss) = self.duty.shared.wish()
        {
            self.protocol.end(loss);
            // Nobody waits for the renewal that is on its way: it can only extend what is given back after it.
            self.flight = None;
        }
        match &mut self.stage {
            Stage::Holding(tenure) if self.flight.is_some() => {
                // Belief ends by the clock, answer or not.
                self.duty.warn(tenure, now).map_or(Next::Wait, Next::Sleep)
            }
            _ if self.flight.is_some() => Next::Wait,
            Stage::Waiting { unwanted: Some(_) } => Next::Keep,
            Stage::Waiting { .. } if self.duty.shared.wish() != Wish::Hold => {
                self.duty.shared.enter(Phase::Released(Ok(())));
                self.stage = Stage::Gone;
                Next::Gone
            }
            Stage::Waiting { .. } => match self.protocol.next(now) {
                Step::Sleep(until) => Next::Sleep(until),
                _ => Next::Get,
            },
            Stage::Holding(_) => self.hold(now, counts),
            Stage::Leaving { .. } if self.duty.waits_for_guard() => Next::Wait,
            Stage::Leaving { .. } => Next::Keep,
            Stage::Gone => Next::Gone,
        }
    }

    fn hold(&mut self, now: BootNanos, counts: &Counts) -> Next {
        let Stage::Holding(tenure) = &mut self.stage else {
            return Next::Wait;
        };
        let mut step = self.protocol.next(now);
        if step == Step::Renew && self.duty.is_idle(now) {
            step = self.protocol.end(Loss::WorkStopped);
        }
        let loss = match step {
            Step::Renew => return Next::Keep,
            Step::Sleep(until) => {
                self.due = Some(until);
                let warning = self.duty.warn(tenure, now);
                return Next::Sleep(warning.map_or(until, |warning| until.min(warning)));
            }
            Step::Over(loss) => loss,
            // It was granted already.
            Step::Acquire => Loss::Expired,
        };
        counts.over(loss != Loss::Released);
        let gives_back = self.duty.over(tenure, loss);
        let Stage::Holding(tenure) = std::mem::replace(&mut self.stage, Stage::Gone) else {
            return Next::Gone;
        };
        if !gives_back {
            return Next::Gone;
        }
        self.stage = Stage::Leaving { tenure, loss, tries: 0 };
        if self.duty.waits_for_guard() {
            Next::Wait
        } else {
            Next::Keep
        }
    }

    /// Puts what it wants on its way; there is room.
    pub(super) fn put(&mut self, whose: u64, store: &mut dyn Pipelined, counts: &Counts) {
        self.number += 1;
        let ticket = Ticket {
            whose,
            number: self.number,
        };
        let Duty { key, owner, terms, .. } = &self.duty;
        let (operation, sent, timeout) = match &mut self.stage {
            Stage::Waiting { unwanted: Some(grant) } => (Operation::Release { grant }, boot_now(), terms.renew_timeout),
            Stage::Waiting { unwanted: None } => {
                let operation = Operation::Acquire {
                    key,
                    holder: owner,
                    ttl: terms.ttl,
                };
                // Before the request leaves: validity counts from here.
                (operation, boot_now(), terms.renew_timeout)
            }
            Stage::Holding(tenure) => {
                let sent = self.duty.renewal(tenure);
                if let Some(due) = self.due.take() {
                    counts.late(sent.since(due));
                }
                let operation = Operation::Renew {
                    grant: &tenure.grant,
                    ttl: terms.ttl,
                };
                (operation, sent, self.protocol.patience(sent))
            }
            Stage::Leaving { tenure, .. } => {
                let operation = Operation::Release { grant: &tenure.grant };
                (operation, boot_now(), terms.renew_timeout)
            }
            Stage::Gone => return,
        };
        store.put(ticket, operation, timeout);
        self.flight = Some(Flight {
            number: self.number,
            sent,
        });
    }

    /// What it asked for came to this. Answers that nobody waits for any more are none.
    pub(super) fn answered(&mut self, number: u64, what: What, counts: &Counts) {
        let Some(flight) = self.flight.take_if(|flight| flight.number == number) else {
            return;
        };
        match (what, &mut self.stage) {
            (What::Acquire(mut done), Stage::Waiting { unwanted }) => match done.value.take() {
                Some(grant) => match self.duty.granted(&mut self.protocol, flight.sent, grant) {
                    Ok(tenure) => {
                        counts.held();
                        self.stage = Stage::Holding(tenure);
                    }
                    Err(grant) => *unwanted = Some(Box::new(grant)),
                },
                // It would be refused again, until somebody mends the call or the store.
                None if done.needs_mending => {
                    self.duty.refused(done.reason);
                    self.stage = Stage::Gone;
                }
                // If nobody knows, and it was applied after all, that grant is nobody's and ends by its TTL.
                None => self.duty.not_granted(&mut self.protocol, done, &mut self.said),
            },
            (What::Release(_), Stage::Waiting { unwanted }) => *unwanted = None,
            (What::Renew(done), Stage::Holding(tenure)) => {
                let answer = self.duty.renewed(&mut self.protocol, tenure, flight.sent, done);
                counts.renewed(answer == Answer::Applied);
            }
            (What::Release(done), Stage::Leaving { tenure, loss, tries }) => {
                *tries += 1;
                let outcome = match done.outcome {
                    Outcome::Applied => Ok(()),
                    _ if *tries < RELEASE_TRIES && Duty::is_to_be_asked_again(&done) => return,
                    _ => Err(done.reason.unwrap_or_default()),
                };
                self.duty.given_back(tenure.grant.token, *loss, outcome);
                self.stage = Stage::Gone;
            }
            _ => {}
        }
    }

    /// The thread was late by so much.
    pub(super) fn paused(&self, by: Duration) {
        if self.is_held() && (self.duty.observer.is_some() || self.duty.metrics.is_some()) {
            self.duty.paused(by);
        }
    }
}
