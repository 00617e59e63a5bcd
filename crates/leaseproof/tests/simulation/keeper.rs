//! The thread that asks the store, as `leaseproof`'s keeper does it, one step at a time: it can be stopped between any
//! two of them.

use super::Mutant;
use super::network::{Heard, Holder, Request, Wish};
use super::owner::{Grant, Stage};
use super::plan::nanos;
use super::sometimes::Sometimes;
use super::watch::Property;
use super::world::{Event, World, note};
use leaseproof::protocol::{Answer, Change, Step, Validity};
use leaseproof::{BootNanos, Loss, Policy};

/// As in the library.
const RELEASE_TRIES: u32 = 3;

/// The next step.
#[derive(Clone, Copy, Debug)]
pub enum Doing {
    /// Asks the protocol.
    Decide,
    /// Reads the clock before a request.
    Stamp(Wish, Option<Holder>),
    /// The request leaves.
    Leave {
        wish: Wish,
        holder: Option<Holder>,
        sent: BootNanos,
        patience: u64,
    },
    /// Waits for the answer.
    Await { request: u32, sent: BootNanos },
    /// Reads the clock after the answer.
    Hear {
        request: u32,
        sent: BootNanos,
        heard: Heard,
    },
    /// The permits follow.
    Follow(Change),
    /// It is over.
    End(Loss),
    /// Gives it back.
    GiveBack,
    /// Nothing any more.
    Gone,
}

/// What comes after a step.
enum Then {
    Do(Doing),
    Sleep(u64),
    Wait,
}

impl World {
    /// Lets a keeper run until it waits for something, or is stopped.
    pub fn keep(&mut self, owner: usize, lease: usize) {
        loop {
            let doing = self.owners[owner].leases[lease].doing;
            let (then, at) = match self.step(owner, lease, doing) {
                Then::Do(next) => (next, self.stop(owner)),
                Then::Sleep(until) => (Doing::Decide, until.max(self.now + 1)),
                Then::Wait => return,
            };
            let it = &mut self.owners[owner].leases[lease];
            it.doing = then;
            if at > self.now {
                it.turn += 1;
                let event = Event::Keeper {
                    owner,
                    life: self.owners[owner].life,
                    lease,
                    turn: self.owners[owner].leases[lease].turn,
                };
                self.push_at(at, event);
                return;
            }
        }
    }

    fn step(&mut self, owner: usize, lease: usize, doing: Doing) -> Then {
        let clock = self.owners[owner].clock;
        let now = clock.read(self.now);
        let timeout = nanos(self.plan.terms.renew_timeout);
        let it = &mut self.owners[owner].leases[lease];
        match doing {
            Doing::Decide => self.decide(owner, lease, now),
            Doing::Stamp(wish, holder) => {
                let patience = match wish {
                    Wish::Renew(_) => nanos(it.protocol.patience(now)),
                    Wish::Acquire | Wish::Release(_) => timeout,
                };
                Then::Do(Doing::Leave {
                    wish,
                    holder,
                    sent: now,
                    patience,
                })
            }
            Doing::Leave {
                wish,
                holder,
                sent,
                patience,
            } => {
                let request = self.send(owner, lease, holder, wish);
                let it = &mut self.owners[owner].leases[lease];
                it.released |= it.grant.is_some() && matches!(wish, Wish::Release(_));
                it.doing = Doing::Await { request, sent };
                self.push(patience, Event::Timeout(request));
                Then::Wait
            }
            // The answer, or the time-out, calls.
            Doing::Await { .. } => Then::Wait,
            Doing::Hear { request, sent, heard } => self.hear(owner, lease, now, request, sent, heard),
            Doing::Follow(change) => {
                let over = it.validity.until() == BootNanos(0) && it.stage != Stage::Waiting;
                if over && self.mutant == Mutant::Reopens {
                    it.validity = Validity::default();
                }
                it.validity.change(change);
                if let Change::Extend { token, until } = change {
                    note!(self, "owner {owner} lease {lease} valid with {token} until {until}");
                    let it = &mut self.owners[owner].leases[lease];
                    if it.stage == Stage::Waiting {
                        it.stage = Stage::Held;
                        self.wake(owner);
                    }
                    self.watch.extended(&self.owners, (owner, lease), self.now);
                }
                if over && self.mutant == Mutant::Reopens {
                    // Whoever is told of it takes a moment.
                    return Then::Sleep(self.now + nanos(self.plan.terms.heartbeat) / 2);
                }
                Then::Do(Doing::Decide)
            }
            Doing::End(loss) => {
                if self.mutant != Mutant::ReleaseFirst {
                    it.validity.end();
                }
                note!(self, "owner {owner} lease {lease} over: {loss:?}");
                self.lost(loss);
                let it = &mut self.owners[owner].leases[lease];
                if loss != Loss::Released {
                    it.stage = Stage::Over;
                    self.wake(owner);
                }
                Then::Do(if loss.gives_back() {
                    Doing::GiveBack
                } else {
                    Doing::Gone
                })
            }
            Doing::GiveBack => {
                it.tries += 1;
                if it.tries > 1 {
                    self.seen.note(Sometimes::ReleaseRepeated);
                }
                let grant = it.grant.expect("only what was granted is over");
                Then::Do(Doing::Stamp(Wish::Release(grant.token), Some(grant.holder)))
            }
            Doing::Gone => {
                it.validity.end();
                if it.stage != Stage::Over {
                    it.stage = Stage::Released;
                }
                self.wake(owner);
                Then::Wait
            }
        }
    }

    fn decide(&mut self, owner: usize, lease: usize, now: BootNanos) -> Then {
        let (clock, limit) = (self.owners[owner].clock, self.plan.work_limit);
        let it = &mut self.owners[owner].leases[lease];
        match (it.wish, it.grant) {
            // Nobody wants it any more.
            (Some(_), None) => return Then::Do(Doing::Gone),
            (Some(loss), Some(_)) => {
                it.protocol.end(loss);
            }
            (None, _) => {}
        }
        match it.protocol.next(now) {
            Step::Acquire => Then::Do(Doing::Stamp(Wish::Acquire, None)),
            Step::Renew if limit.is_some_and(|limit| now.since(it.worked) > limit) => {
                it.protocol.end(Loss::WorkStopped);
                Then::Do(Doing::Decide)
            }
            Step::Renew => {
                let grant = it.grant.expect("only what was granted is renewed");
                Then::Do(Doing::Stamp(Wish::Renew(grant.token), Some(grant.holder)))
            }
            Step::Sleep(until) => Then::Sleep(clock.when(until)),
            Step::Over(loss) => Then::Do(Doing::End(loss)),
        }
    }

    fn hear(
        &mut self,
        owner: usize,
        lease: usize,
        now: BootNanos,
        request: u32,
        sent: BootNanos,
        heard: Heard,
    ) -> Then {
        let sent = match self.mutant {
            Mutant::ValidityFromAnswer => now,
            _ => sent,
        };
        let Heard::Granted(token, number) = heard else {
            let Heard::Answer(answer) = heard else {
                unreachable!("there are two")
            };
            return match self.requests[request as usize].wish {
                Wish::Acquire => {
                    self.owners[owner].leases[lease].protocol.not_granted(now);
                    Then::Do(Doing::Decide)
                }
                Wish::Renew(_) => Then::Do(Doing::Follow(self.renewed(owner, lease, now, sent, answer))),
                Wish::Release(_) => self.given_back(owner, lease, answer),
            };
        };
        let it = &mut self.owners[owner].leases[lease];
        let change = it.protocol.granted(sent, now, token);
        if change == Change::None {
            // A pause used its TTL up: it is nobody's, and given back.
            self.seen.note(Sometimes::GrantedTooLate);
            return Then::Do(Doing::Stamp(Wish::Release(token), Some(request)));
        }
        it.grant = Some(Grant {
            holder: request,
            token,
            number,
        });
        it.worked = now;
        Then::Do(Doing::Follow(change))
    }

    fn renewed(&mut self, owner: usize, lease: usize, now: BootNanos, sent: BootNanos, answer: Answer) -> Change {
        let mutated = match (self.mutant, answer) {
            (Mutant::UnknownExtends, Answer::Unknown) | (Mutant::RefusalIgnored, Answer::Refused) => Answer::Applied,
            _ => answer,
        };
        let policy = self.plan.terms.policy;
        let it = &mut self.owners[owner].leases[lease];
        let valid = it.protocol.held().is_some_and(|(_, until)| now < until);
        let doubted = it.protocol.is_doubted();
        let change = it.protocol.renewed(sent, now, mutated);
        let extended = matches!(change, Change::Extend { .. });
        let mut happened = |so: bool, it: Sometimes| {
            if so {
                self.seen.note(it);
            }
        };
        let applied = answer == Answer::Applied;
        happened(applied && !valid && extended, Sometimes::TakenUpAgain);
        happened(applied && change == Change::None, Sometimes::AnsweredTooLate);
        happened(applied && it.wish.is_some(), Sometimes::EndedWhileAsked);
        happened(applied && it.doubted, Sometimes::PolicyPatient);
        let unknown = answer == Answer::Unknown && valid;
        happened(unknown && policy == Policy::Strict, Sometimes::Doubted);
        happened(doubted && extended, Sometimes::DoubtLifted);
        it.doubted = unknown && policy == Policy::Patient;
        change
    }

    fn given_back(&mut self, owner: usize, lease: usize, answer: Answer) -> Then {
        let it = &mut self.owners[owner].leases[lease];
        let known = matches!(answer, Answer::Applied | Answer::Refused);
        Then::Do(match it.grant {
            // It was nobody's: once is enough.
            None => Doing::Decide,
            Some(_) if known || it.tries == RELEASE_TRIES => Doing::Gone,
            Some(_) => Doing::GiveBack,
        })
    }

    fn lost(&mut self, loss: Loss) {
        if self.plan.calm && loss != Loss::Released {
            self.watch.fail(Property::Availability);
        }
        self.seen.note(match loss {
            Loss::Expired => Sometimes::LostExpired,
            Loss::Refused => Sometimes::LostRefused,
            Loss::Unknown => Sometimes::LostUnknown,
            Loss::WorkStopped => Sometimes::LostWorkStopped,
            Loss::Fenced => Sometimes::LostFenced,
            _ => Sometimes::LostReleased,
        });
    }

    /// An answer, or the word that none came in time, reaches the owner.
    pub fn answer(&mut self, request: u32, heard: Heard, late: bool) {
        let Request { owner, lease, wish, .. } = self.requests[request as usize];
        let Some(it) = self.owners[owner].leases.get_mut(lease) else {
            return;
        };
        let Doing::Await { request: awaited, sent } = it.doing else {
            return;
        };
        if awaited != request {
            return;
        }
        let known = &mut self.requests[request as usize];
        known.awaited = false;
        if late && known.applied > 0 && matches!(wish, Wish::Renew(_)) {
            self.seen.note(Sometimes::AppliedUnanswered);
        }
        it.doing = Doing::Hear { request, sent, heard };
        it.turn += 1;
        note!(self, "owner {owner} lease {lease} hears of #{request}: {heard:?}");
        let stop = self.stop(owner);
        self.call_keeper(owner, lease, stop);
    }
}
