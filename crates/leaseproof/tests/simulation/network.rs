//! What lies between owners and store: requests and answers that are late, lost, doubled and out of order.

use super::owner::Stage;
use super::plan::nanos;
use super::sometimes::Sometimes;
use super::store::Said;
use super::world::{Event, World, note};
use leaseproof::Token;
use leaseproof::protocol::Answer;

/// Who holds a grant, as the store has it: the request that asked for it.
pub type Holder = u32;

/// What is asked of the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wish {
    Acquire,
    Renew(Token),
    Release(Token),
}

/// What an owner hears of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Heard {
    Granted(Token, u64),
    Answer(Answer),
}

/// A request, as it is under way.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub owner: usize,
    pub life: u32,
    pub lease: usize,
    pub holder: Holder,
    pub wish: Wish,
    /// Its sender waits for an answer still.
    pub awaited: bool,
    pub applied: u32,
}

impl World {
    /// Sends a request; its number.
    pub fn send(&mut self, owner: usize, lease: usize, holder: Option<Holder>, wish: Wish) -> u32 {
        let number = u32::try_from(self.requests.len()).expect("a schedule is short");
        self.requests.push(Request {
            owner,
            life: self.owners[owner].life,
            lease,
            holder: holder.unwrap_or(number),
            wish,
            awaited: true,
            applied: 0,
        });
        note!(self, "owner {owner} lease {lease} sends #{number} {wish:?}");
        if self.random.chance(self.plan.nobody) {
            let after = self.delay();
            self.push(after, Event::Answer(number, Heard::Answer(Answer::NotApplied)));
            return number;
        }
        if self.random.chance(self.plan.reset) {
            let after = self.delay();
            self.push(after, Event::Answer(number, Heard::Answer(Answer::Unknown)));
        }
        let copies = 1 + u32::from(self.random.chance(self.plan.twice));
        for _ in 0..copies {
            if self.random.chance(self.plan.lose) {
                note!(self, "#{number} is lost");
                if matches!(wish, Wish::Release(_)) {
                    self.seen.note(Sometimes::ReleaseLost);
                }
            } else {
                let after = self.delay();
                self.push(after, Event::Deliver(number));
            }
        }
        number
    }

    /// The store gets a request.
    pub fn deliver(&mut self, number: u32) {
        let request = self.requests[number as usize];
        let former = self.store.grant;
        let arrived = &mut self.owners[request.owner].arrived;
        if number < *arrived {
            self.seen.note(Sometimes::Overtaken);
        }
        *arrived = number.max(*arrived);
        let cut = match nanos(self.plan.budget.early_slack) {
            0 => 0,
            slack => self.random.between(0, 1) * slack,
        };
        let ttl = nanos(self.plan.terms.ttl) - cut;
        if self.mutant == super::Mutant::TokensRestart && self.random.chance(100) {
            self.store.counter = 0;
        }
        let lapsed = former.is_some_and(|grant| grant.expires <= self.store.clock.read(self.now));
        let said = self.store.serve(request.wish, request.holder, ttl, self.now);
        note!(self, "store: #{number} {said:?}");
        let gone = self.owners[request.owner].life != request.life;
        if said != Said::Refused {
            let applied = &mut self.requests[number as usize].applied;
            *applied += 1;
            if *applied > 1 {
                self.seen.note(Sometimes::AppliedTwice);
            }
            if gone {
                self.seen.note(Sometimes::AppliedForTheDead);
            } else if !request.awaited {
                self.seen.note(Sometimes::AppliedAfterTimeout);
            }
        }
        let heard = match said {
            Said::Granted(token, grant) => {
                if gone || !request.awaited {
                    self.seen.note(Sometimes::Orphan);
                }
                if let Some(former) = former {
                    self.note_former(former.holder, request.owner);
                }
                Heard::Granted(token, grant)
            }
            Said::Applied => {
                if lapsed && matches!(request.wish, Wish::Renew(_)) {
                    self.seen.note(Sometimes::LapsedExtended);
                }
                Heard::Answer(Answer::Applied)
            }
            Said::Refused => {
                if matches!(request.wish, Wish::Acquire) && !lapsed {
                    self.seen.note(Sometimes::Contended);
                }
                Heard::Answer(Answer::Refused)
            }
        };
        if self.random.chance(self.plan.lose) {
            note!(self, "the answer to #{number} is lost");
            return;
        }
        let copies = 1 + u32::from(self.random.chance(self.plan.twice));
        for _ in 0..copies {
            let after = self.delay();
            self.push(after, Event::Answer(number, heard));
        }
    }

    /// Whose lease it was that another has now.
    fn note_former(&mut self, holder: Holder, now: usize) {
        let former = self.requests[holder as usize];
        let owner = &self.owners[former.owner];
        if owner.life != former.life {
            self.seen.note(Sometimes::TakenFromDead);
        } else if former.owner != now {
            if owner.paused > self.now {
                self.seen.note(Sometimes::TakenFromPaused);
            }
            if owner.leases[former.lease].stage == Stage::Over {
                self.seen.note(Sometimes::TakenOver);
            }
        }
    }

    /// How long a message is under way.
    pub fn delay(&mut self) -> u64 {
        let most = if self.random.chance(self.plan.slow) {
            2 * nanos(self.plan.terms.ttl)
        } else {
            self.plan.delay
        };
        self.random.span(most)
    }
}
