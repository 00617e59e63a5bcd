//! The protocol of one grant, pure: no clock is read here, nothing is sent, nothing blocks.
//!
//! Whoever drives it reads the boot clock, asks [`Protocol::next`] what to do, does it, tells the protocol what it came
//! to, and hands the [`Change`] on to the [`Validity`] that permits are checked against.
//! [`Lease`](crate::Lease) is one driver; the simulation in the tests is another.
//!
//! What makes it sound is short:
//!
//! - validity is counted from *before* a request was sent, less all that the store's clock may be ahead;
//! - only a renewal that is known to be applied extends it; a refusal ends it, and so does the clock;
//! - what is over stays over: a later lease is another grant, with a greater token.

mod loss;
mod terms;
mod validity;

pub use loss::Loss;
pub use terms::{Policy, Terms};
pub use validity::{Look, Validity};

use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::Outcome;
use leaseproof_model::name::Token;

/// One grant, from the wish to the end.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Protocol {
    terms: Terms,
    state: State,
    /// When the store is to be asked next.
    due: BootNanos,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum State {
    Vacant,
    Held {
        token: Token,
        until: BootNanos,
        doubted: bool,
    },
    Over(Loss),
}

/// What is to be done next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// Ask the store for the lease.
    Acquire,
    /// Ask the store to extend the grant.
    Renew,
    /// Nothing before this moment; then ask again.
    Sleep(BootNanos),
    /// Nothing any more.
    Over(Loss),
}

/// What a request came to, without the words.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Answer {
    /// It took effect.
    Applied,
    /// The store said that this grant does not hold.
    Refused,
    /// It certainly never took effect, and the store said nothing of the grant (nobody answered, for one).
    NotApplied,
    /// Nobody knows whether it took effect.
    Unknown,
}

impl Answer {
    /// The answer to an operation that ended so, `refused` by the store or not.
    #[must_use]
    pub fn of(outcome: Outcome, refused: bool) -> Self {
        match outcome {
            Outcome::Applied => Self::Applied,
            Outcome::NotApplied if refused => Self::Refused,
            Outcome::NotApplied => Self::NotApplied,
            Outcome::Unknown => Self::Unknown,
        }
    }
}

/// What becomes of the permits by an answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[must_use = "the permits must follow"]
pub enum Change {
    /// What stood stands.
    None,
    /// They are given until then.
    Extend {
        /// With this token.
        token: Token,
        /// Until then.
        until: BootNanos,
    },
    /// None until they are extended.
    Doubt,
    /// None any more.
    End,
}

impl Protocol {
    /// A wish, from `now` on.
    #[must_use]
    pub fn new(terms: Terms, now: BootNanos) -> Self {
        Self {
            terms,
            state: State::Vacant,
            due: now,
        }
    }

    /// What is to be done at `now`.
    ///
    /// A grant whose validity has passed while nobody looked (a pause) is asked for once more: the store may
    /// still grant it, and it is the store that knows. Nothing is permitted meanwhile.
    pub fn next(&mut self, now: BootNanos) -> Step {
        match self.state {
            State::Over(loss) => Step::Over(loss),
            State::Vacant if self.due <= now => Step::Acquire,
            State::Vacant => Step::Sleep(self.due),
            State::Held { .. } if self.due <= now => Step::Renew,
            State::Held { until, doubted, .. } if until <= now => self.end(Self::passed(doubted)),
            State::Held { until, .. } => Step::Sleep(self.due.min(until)),
        }
    }

    /// The store granted it, as asked for at `sent`; `now` is after the answer.
    ///
    /// A pause between the two can use the whole TTL up: then it is asked for anew, and that grant is nobody's.
    pub fn granted(&mut self, sent: BootNanos, now: BootNanos, token: Token) -> Change {
        let until = self.terms.valid_until(sent);
        if self.state != State::Vacant || until <= now {
            return Change::None;
        }
        self.state = State::Held {
            token,
            until,
            doubted: false,
        };
        self.due = sent.plus(self.terms.heartbeat);
        Change::Extend { token, until }
    }

    /// The store did not grant it: asks again a little later.
    pub fn not_granted(&mut self, now: BootNanos) {
        self.due = now.plus(self.terms.again());
    }

    /// A renewal that was sent at `sent` came to this; `now` is after the answer.
    pub fn renewed(&mut self, sent: BootNanos, now: BootNanos, answer: Answer) -> Change {
        let State::Held { token, until, doubted } = self.state else {
            return Change::None;
        };
        let over = until <= now;
        match answer {
            Answer::Applied => {
                // Answers may come late and twice: the end never moves back.
                let until = until.max(self.terms.valid_until(sent));
                self.state = State::Held {
                    token,
                    until,
                    doubted: false,
                };
                // Missed ticks are not made up for. One whose validity has passed already is claimed by nobody:
                // the store is asked again, at once.
                self.due = if until <= now {
                    now
                } else {
                    sent.plus(self.terms.heartbeat)
                };
            }
            Answer::Refused => self.state = State::Over(Loss::Refused),
            Answer::Unknown if self.terms.policy == Policy::Strict && !over => {
                // Asked again at once the first time, on another connection: nothing is done meanwhile.
                self.due = if doubted { now.plus(self.terms.again()) } else { now };
                self.state = State::Held {
                    token,
                    until,
                    doubted: true,
                };
            }
            Answer::Unknown | Answer::NotApplied if over => {
                self.state = State::Over(Self::passed(doubted || answer == Answer::Unknown));
            }
            Answer::Unknown | Answer::NotApplied => self.due = now.plus(self.terms.again()),
        }
        match self.permit(now) {
            // What is claimed must be valid still.
            Some((token, until)) if answer == Answer::Applied => Change::Extend { token, until },
            None if self.held().is_none() => Change::End,
            None if self.is_doubted() => Change::Doubt,
            _ => Change::None,
        }
    }

    /// Ends it, for a reason that the protocol can't know. Nothing is permitted from here on.
    pub fn end(&mut self, loss: Loss) -> Step {
        if !matches!(self.state, State::Over(_)) {
            self.state = State::Over(loss);
        }
        self.next(BootNanos(0))
    }

    /// Why it is over, once its validity has passed.
    fn passed(unknown: bool) -> Loss {
        if unknown { Loss::Unknown } else { Loss::Expired }
    }

    /// The grant in force, whatever the time: its token, and until when it is valid.
    #[must_use]
    pub fn held(&self) -> Option<(Token, BootNanos)> {
        match self.state {
            State::Held { token, until, .. } => Some((token, until)),
            State::Vacant | State::Over(_) => None,
        }
    }

    /// Whether nobody knows what became of the last renewal, and nothing is permitted until the store has said so.
    #[must_use]
    pub fn is_doubted(&self) -> bool {
        matches!(self.state, State::Held { doubted: true, .. })
    }

    /// The token with which something may be done at `now`, and the moment at which that ends.
    #[must_use]
    pub fn permit(&self, now: BootNanos) -> Option<(Token, BootNanos)> {
        self.held().filter(|(_, until)| now < *until && !self.is_doubted())
    }

    /// How long a renewal may take that is sent at `now`: not beyond the validity that is left, so that the loss
    /// is not noticed late. After a pause the validity is over, and the whole time-out counts.
    #[must_use]
    pub fn patience(&self, now: BootNanos) -> std::time::Duration {
        match self.held().filter(|(_, until)| now < *until) {
            Some((_, until)) => {
                let left = until.since(now).saturating_sub(self.terms.ahead);
                left.min(self.terms.renew_timeout).max(terms::LEAST)
            }
            None => self.terms.renew_timeout,
        }
    }

    /// The same with other moments and tokens. It is for models: they count from the present, so that their states
    /// are finite.
    #[must_use]
    pub fn mapped(&self, moment: impl Fn(BootNanos) -> BootNanos, renamed: impl Fn(Token) -> Token) -> Self {
        let state = match self.state {
            State::Held { token, until, doubted } => State::Held {
                token: renamed(token),
                until: moment(until),
                doubted,
            },
            other => other,
        };
        Self {
            terms: self.terms.clone(),
            state,
            due: moment(self.due),
        }
    }
}

#[cfg(test)]
mod tests;
