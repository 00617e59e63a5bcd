//! Owners come on and leave.

use super::{Halt, Stage, Step};
use crate::observe::Sampler;
use crate::owner::{OwnerSeat, RunMark};
use leaseproof_model::name::OwnerName;
use leaseproof_proc::clock::boot_now;
use std::path::PathBuf;
use std::time::Duration;

impl Stage<'_> {
    /// Starts the owner alone and waits until it holds this key in this store.
    pub fn open_alone(&mut self) -> Step {
        self.say("starting the owner");
        self.add_seat("a");
        self.start_seat(0, false)?;
        self.until_held()
    }

    /// The same, then starts a second copy as the contender.
    pub fn open_with_contender(&mut self) -> Step {
        self.open_alone()?;
        self.add_seat("b");
        self.start_seat(1, false)?;
        self.watch_heartbeats(1).map(drop)
    }

    fn add_seat(&mut self, slot: &'static str) {
        let mark = RunMark::of(&self.ready.run);
        self.seats.push(OwnerSeat::empty(slot, mark));
    }

    /// Where the owners' own output is kept.
    fn owners_output(&self) -> PathBuf {
        self.ready.folder.path().join("owners")
    }

    /// Before any fault: this key is held, and by this owner.
    fn until_held(&mut self) -> Step {
        let name = self.seats[0].owner().clone();
        let patience = (self.budget().ttl * 3).max(Duration::from_secs(15));
        let held = self.wait(boot_now().plus(patience), None, |scene| scene.grant.is_some())?;
        if held {
            return self.check_ttl();
        }
        if let Some(what) = self.sampler.as_ref().and_then(Sampler::found_strange) {
            return Err(Halt::Abandoned(format!(
                "what lies at the key {} is no lease: {what}",
                self.key
            )));
        }
        let known = self.scene.known(&name);
        Err(Halt::Abandoned(if known.observable {
            format!(
                "the owner acts, but the key {} is not held in this store: it acquires another key or another store than the canary. \
                 Let it take LEASEPROOF_STORE and LEASEPROOF_KEY (or {{store}} and {{key}}), or say what it makes of the key with owner_key{}",
                self.key,
                match self.url.takes_recipe() {
                    true =>
                        "; a lock of the store's own tools or recipes is seen with ?recipe=lock at the end of the store's URL",
                    false => "",
                }
            )
        } else {
            format!(
                "the owner never acquired the key {} within {patience:?}: look at its output in {}, and let it take LEASEPROOF_STORE and LEASEPROOF_KEY",
                self.key,
                self.owners_output().display()
            )
        }))
    }

    /// The TTL in force must be the plan's, or every wait would be too short for it.
    fn check_ttl(&self) -> Step {
        let expires = self.scene.grant.as_ref().and_then(|grant| grant.expires);
        let bound = self.scene.grant.as_ref().and_then(|grant| grant.bound);
        let bound = bound.filter(|&bound| !self.ask.store.is_only_the_most(bound));
        let left = expires.map_or(bound.unwrap_or_default(), |expires| expires.earliest.since(boot_now()));
        let ttl = self.budget().ttl;
        if left <= ttl + ttl / 4 {
            return Ok(());
        }
        Err(Halt::Abandoned(format!(
            "the owner's lease lives {:.1} s or more, and the plan says {ttl:?}: give the plan the owner's own numbers \
             (--ttl, --heartbeat, --worst-pause), or let the owner take LEASEPROOF_TTL_MS (or {{ttl_ms}})",
            left.as_secs_f64()
        )))
    }

    /// Who holds the lease now, and who will take over: the takeover itself changes the roles.
    pub fn roles(&mut self) -> Step<(OwnerName, OwnerName)> {
        let target = self.sole_holder()?;
        let other = self
            .seats
            .iter()
            .map(OwnerSeat::owner)
            .find(|owner| **owner != target)
            .cloned();
        match other {
            Some(other) => Ok((target, other)),
            None => Err(Halt::Abandoned("there is no contender".to_owned())),
        }
    }

    /// Who holds the lease now.
    pub fn sole_holder(&mut self) -> Step<OwnerName> {
        let bound = boot_now().plus(self.takeover_bound() + self.budget().ttl);
        // Held is not enough: an owner that never heard of its own grant would be asked nothing. One that
        // never writes is taken at the store's word, once the TTL gave it time.
        let patience = boot_now().plus(self.budget().ttl + self.budget().heartbeat);
        let owners: Vec<OwnerName> = self.seats.iter().map(|seat| seat.owner().clone()).collect();
        let mut holder = None;
        self.wait(bound, Some(patience), |scene| {
            let Some(grant) = &scene.grant else { return false };
            let wrote = |owner: &OwnerName| {
                scene
                    .known(owner)
                    .last_write
                    .filter(|at| at.latest >= grant.first.earliest)
            };
            holder = match scene.holder() {
                Some(name) => owners
                    .iter()
                    .find(|owner| *owner == name && (wrote(owner).is_some() || boot_now() >= patience)),
                // The store doesn't name it: who wrote last since the grant began.
                None => owners
                    .iter()
                    .filter(|owner| wrote(owner).is_some())
                    .max_by_key(|owner| wrote(owner).map(|at| at.latest)),
            }
            .cloned();
            holder.is_some()
        })?;
        let holder = holder.ok_or_else(|| {
            Halt::Abandoned(format!(
                "nobody of ours holds the key {} any more: look at the owners' output in {}",
                self.key,
                self.owners_output().display()
            ))
        })?;
        if let Some(grant) = self.scene.grant.as_mut() {
            grant.owner = Some(holder.clone());
        }
        self.old_holder = self.scene.grant.as_ref().map(|grant| grant.holder.clone());
        Ok(holder)
    }

    /// Starts a seat anew after its owner ended by our doing.
    pub fn start_again(&mut self, owner: &OwnerName) -> Step {
        let Some(index) = self.seats.iter().position(|seat| seat.owner() == owner) else {
            return Ok(());
        };
        let patience = Duration::from_secs(5);
        let name = owner.clone();
        let gone = self.wait(boot_now().plus(patience), None, |scene| scene.known(&name).ended)?;
        if !gone {
            // An owner that ignores SIGTERM is ended as a supervisor would end it.
            self.seats[index].end(Duration::ZERO);
        }
        self.start_seat(index, true)
    }

    /// Starts the owner as a waiter.
    pub fn start_waiter(&mut self) -> Step<OwnerName> {
        if self.seats.is_empty() {
            self.add_seat("a");
            self.start_seat(0, false)?;
        } else {
            self.start_seat(0, true)?;
        }
        Ok(self.seats[0].owner().clone())
    }

    /// Asks an owner to end and waits for it.
    pub fn retire(&mut self, owner: &OwnerName) -> Step {
        if let Some(seat) = self.seats.iter_mut().find(|seat| seat.owner() == owner) {
            seat.end(Duration::from_secs(2));
        }
        self.until_free().map(drop)
    }

    /// The holder leaves; the other one takes over and writes: its work was alive to the end.
    pub fn hand_over(&mut self) -> Step {
        self.say("handing over");
        // So that a reading lies between the last cycle's end and this: what ends here ended after it.
        self.pass(self.buffer())?;
        let (holder, other) = self.roles()?;
        if let Some(seat) = self.seats.iter_mut().find(|seat| *seat.owner() == holder) {
            seat.end(self.ask.budget.ttl);
        }
        self.until_wrote(&other)?;
        // A grant that ended again between two readings would have been seen by nobody.
        self.watch_heartbeats(1).map(drop)
    }
}
