//! The thread that works: acquires, asks for a permit before each write, gives up, releases.

use super::Mutant;
use super::keeper::Doing;
use super::owner::{Lease, Stage};
use super::plan::nanos;
use super::resource::Written;
use super::sometimes::Sometimes;
use super::watch::{Circumstances, Property};
use super::world::{Event, World, note};
use leaseproof::protocol::Look;
use leaseproof::{BootNanos, Loss, Token};

/// The next step.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// Wants a lease.
    Begin,
    /// Waits for it, no longer than to this instant.
    Await(u64),
    /// The first step of a permit.
    Look,
    /// The second; with what the first saw.
    Clock(Look, BootNanos),
    /// The third.
    Last(Look, BootNanos, BootNanos, Circumstances),
    /// The write leaves; its token, the grant's number, and when the permit ends.
    Write(Token, u64, BootNanos),
    /// Until the next one.
    Rest,
    /// Waits for what comes of the release.
    Settle,
}

enum Then {
    Do(Work),
    Sleep(u64, Work),
}

impl World {
    /// Lets the thread run until it waits for something, or is stopped.
    pub fn work(&mut self, owner: usize) {
        loop {
            let (then, at) = match self.labour(owner, self.owners[owner].work) {
                Then::Do(next) => (next, self.stop(owner)),
                Then::Sleep(until, next) => (next, until.max(self.now + 1)),
            };
            if let (Work::Clock(..), true) = (then, at > self.now) {
                self.seen.note(Sometimes::StoppedInPermit);
            }
            let it = &mut self.owners[owner];
            it.work = then;
            if at > self.now {
                it.turn += 1;
                let (life, turn) = (it.life, it.turn);
                self.push_at(at, Event::Worker { owner, life, turn });
                return;
            }
        }
    }

    fn labour(&mut self, owner: usize, work: Work) -> Then {
        let instant = self.now;
        let now = self.owners[owner].clock.read(instant);
        let mutant = self.mutant;
        let (ends, ttl) = (self.plan.ends, nanos(self.plan.terms.ttl));
        if let Work::Begin = work {
            let it = &mut self.owners[owner];
            it.leases.push(Lease::new(&self.plan.terms, now));
            let lease = it.leases.len() - 1;
            self.call_keeper(owner, lease, instant);
            let patience = if self.random.chance(self.plan.impatient) {
                self.random.span(ttl)
            } else {
                ends
            };
            return Then::Sleep(instant + patience, Work::Await(instant + patience));
        }
        let lease = self.owners[owner].leases.len() - 1;
        let it = &mut self.owners[owner].leases[lease];
        match work {
            Work::Begin => unreachable!("it is above"),
            Work::Await(until) => match it.stage {
                Stage::Waiting if instant < until => Then::Sleep(until, work),
                Stage::Waiting => self.again(owner, lease),
                _ => Then::Do(Work::Look),
            },
            Work::Look => Then::Do(Work::Clock(it.validity.look(), it.validity.until())),
            Work::Clock(look, until) => {
                let backed = it.grant.is_some_and(|grant| self.store.backs(grant.number, instant));
                let ended = it.wish.is_some() || it.released;
                let at = Circumstances { instant, backed, ended };
                Then::Do(Work::Last(look, until, now, at))
            }
            Work::Last(look, until, now, circumstances) => {
                let permit = match mutant {
                    Mutant::PermitUnchecked => {
                        (it.validity.until() != BootNanos(0)).then(|| (it.validity.token(), until))
                    }
                    Mutant::OneLook => (now < until).then(|| (it.validity.token(), until)),
                    _ => it.validity.permit(look, now),
                };
                let Some((token, until)) = permit else {
                    if until <= now && it.validity.until() != BootNanos(0) {
                        self.seen.note(Sometimes::PermitByClock);
                    }
                    let doubted = it.validity.is_doubted();
                    if now < until {
                        self.seen.note(if doubted {
                            Sometimes::PermitByDoubt
                        } else {
                            Sometimes::PermitByLastLook
                        });
                    }
                    if self.plan.calm {
                        self.watch.fail(Property::Availability);
                    }
                    // The store may say yet that it holds: half of the owners wait for that.
                    if doubted && self.random.chance(500) {
                        return Then::Do(Work::Rest);
                    }
                    return self.again(owner, lease);
                };
                it.worked = now;
                let number = it.grant.map_or(0, |grant| grant.number);
                note!(
                    self,
                    "owner {owner} lease {lease} permit with {token} at {now}: {circumstances:?}"
                );
                self.permits += 1;
                self.watch.permitted(token, circumstances);
                Then::Do(Work::Write(token, number, until))
            }
            Work::Write(token, number, until) => {
                if until <= now {
                    self.seen.note(Sometimes::StoppedBeforeWrite);
                }
                let after = self.delay();
                let life = self.owners[owner].life;
                let event = Event::Write {
                    owner,
                    life,
                    lease,
                    token,
                    number,
                };
                self.push(after, event);
                Then::Do(Work::Rest)
            }
            Work::Rest => self.rest(owner, lease),
            Work::Settle => match it.stage {
                Stage::Over | Stage::Released => Then::Do(Work::Begin),
                Stage::Waiting | Stage::Held => Then::Sleep(ends, work),
            },
        }
    }

    fn rest(&mut self, owner: usize, lease: usize) -> Then {
        let heartbeat = nanos(self.plan.terms.heartbeat);
        if self.random.chance(self.plan.release) {
            self.give_up(owner, lease, Loss::Released);
            return Then::Do(if self.random.chance(500) {
                Work::Settle
            } else {
                Work::Begin
            });
        }
        let span = if self.random.chance(self.plan.stuck) {
            3 * nanos(self.plan.terms.ttl)
        } else {
            heartbeat
        };
        let mut until = self.now + self.random.below(span) + 1;
        if self.random.chance(100) {
            // Where it matters most.
            let it = &self.owners[owner];
            let edge = it.clock.when(it.leases[lease].validity.until());
            until = (edge + 1000)
                .saturating_sub(self.random.span(heartbeat))
                .max(self.now + 1);
        }
        Then::Sleep(until, Work::Look)
    }

    /// Drops the guard, and wants another.
    fn again(&mut self, owner: usize, lease: usize) -> Then {
        self.give_up(owner, lease, Loss::Released);
        Then::Do(Work::Begin)
    }

    /// Ends the permits and asks for the end: the first reason counts.
    fn give_up(&mut self, owner: usize, lease: usize, loss: Loss) {
        let it = &mut self.owners[owner].leases[lease];
        if self.mutant != Mutant::ReleaseFirst {
            it.validity.end();
        }
        it.wish.get_or_insert(loss);
        let sleeps = matches!(it.doing, Doing::Decide);
        note!(self, "owner {owner} lease {lease} is given up: {loss:?}");
        if sleeps {
            let soon = self.now + 1;
            self.call_keeper(owner, lease, soon);
        }
    }

    /// A write reaches the resource.
    pub fn write(&mut self, owner: usize, life: u32, lease: usize, token: Token, number: u64) {
        let written = self.resource.write(token, number);
        note!(self, "resource: write of owner {owner} with {token}: {written:?}");
        match written {
            Written::Accepted => {}
            Written::Stale => self.watch.fail(Property::Fence),
            Written::Refused => {
                self.seen.note(Sometimes::StaleRefused);
                let after = self.delay();
                self.push(after, Event::Stale { owner, life, lease });
            }
        }
    }

    /// The resource has said that a token is stale.
    pub fn fenced(&mut self, owner: usize, lease: usize) {
        self.give_up(owner, lease, Loss::Fenced);
    }
}
