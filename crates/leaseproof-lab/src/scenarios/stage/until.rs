//! Waiting for what must be seen. Each gives back the moment from which the fault was due to end: the
//! store's word received, or the time that was over.

use super::fault::Pause;
use super::{Halt, Stage, Step};
use crate::scenarios::scene::Scene;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{HolderId, OwnerName};
use leaseproof_proc::clock::boot_now;
use std::time::Duration;

/// Whether another holder than this one has the lease.
fn another(scene: &Scene, old: Option<&HolderId>) -> bool {
    scene.grant.as_ref().is_some_and(|grant| Some(&grant.holder) != old)
}

impl Stage<'_> {
    /// Waits until the lease expired and another holder has it, and the pause outlasted the TTL.
    pub fn until_taken_over(&mut self, pause: &Pause) -> Step<BootNanos> {
        self.until_taken_over_from(pause.confirmed())
    }

    /// The same, for a fault confirmed at `from`.
    pub fn until_taken_over_from(&mut self, from: Moment) -> Step<BootNanos> {
        self.say("waiting for expiry and takeover");
        let old = self.old_holder.clone();
        let over = from.latest.plus(self.over_ttl());
        let bound = from.latest.plus(self.takeover_bound());
        let met = |scene: &Scene| scene.writer_frozen || (boot_now() >= over && another(scene, old.as_ref()));
        let seen = self.wait(bound, Some(over), met)?;
        Ok(self.due(seen, over))
    }

    /// Waits until the lease is proven to have expired, and the pause outlasted the TTL.
    pub fn until_expired(&mut self, pause: &Pause) -> Step<BootNanos> {
        self.say("waiting for the expiry");
        let over = pause.confirmed().latest.plus(self.over_ttl());
        let bound = pause.confirmed().latest.plus(self.takeover_bound());
        let old = self.old_holder.clone();
        let met = |scene: &Scene| {
            let gone = scene.grant.is_none() && scene.expiry_proven;
            scene.writer_frozen || (boot_now() >= over && (gone || another(scene, old.as_ref())))
        };
        let seen = self.wait(bound, Some(over), met)?;
        Ok(self.due(seen, over))
    }

    /// Whether the target was frozen inside its transaction and blocks the store: nobody can take the
    /// lease, and the cycle shows something else than it asks.
    #[must_use]
    pub fn blocked(&self) -> bool {
        self.scene.writer_frozen
    }

    /// Waits until a fault has outlasted the TTL.
    pub fn until_over_ttl(&mut self, from: Moment) -> Step<BootNanos> {
        let over = from.latest.plus(self.over_ttl());
        self.wait(over, Some(over), |_| false)?;
        Ok(over)
    }

    /// Waits until the pause has this length.
    pub fn until_length(&mut self, pause: &Pause, length: Duration) -> Step<BootNanos> {
        self.say("paused");
        let over = pause.confirmed().latest.plus(length);
        self.wait(over, Some(over), |_| false)?;
        Ok(over)
    }

    /// The later of the time that had to pass and the event that was waited for.
    fn due(&self, seen: bool, over: BootNanos) -> BootNanos {
        let word = self.scene.changed.map_or(over, |at| at.latest);
        if seen { over.max(word) } else { boot_now() }
    }

    /// Waits for a write of `owner` that is accepted from now on.
    pub fn until_wrote(&mut self, owner: &OwnerName) -> Step<BootNanos> {
        let from = boot_now();
        let bound = from.plus(self.takeover_bound());
        let name = owner.clone();
        let wrote = self.wait(bound, None, |scene| scene.wrote_since(&name, from))?;
        // Without one the time is over now: the write before it says nothing.
        let write = self.scene.known(owner).last_write.filter(|_| wrote);
        Ok(write.map_or_else(boot_now, |at| at.latest))
    }

    /// Waits until the key is free.
    pub fn until_free(&mut self) -> Step<BootNanos> {
        let bound = boot_now().plus(self.takeover_bound());
        self.wait(bound, None, |scene| scene.grant.is_none())?;
        Ok(boot_now())
    }

    /// Waits for the quiet between two renewals: a firewall forgets a connection that is idle, and a
    /// request in flight would come through.
    pub fn until_idle(&mut self) -> Step {
        let renewals = self.scene.grant.as_ref().map_or(0, |grant| grant.renewals);
        let bound = boot_now().plus(self.budget().heartbeat * 2);
        self.wait(bound, None, |scene| {
            scene.grant.as_ref().is_some_and(|grant| grant.renewals > renewals)
        })?;
        self.pass(self.budget().heartbeat / 4)
    }

    /// Waits until an answer to the owner is held back.
    pub fn until_answered(&mut self, owner: &OwnerName) -> Step {
        self.say("waiting for the next renewal's answer");
        let before = self.scene.known(owner).unread;
        let bound = boot_now().plus(self.budget().ttl + self.budget().heartbeat);
        let name = owner.clone();
        let held = self.wait(bound, None, |scene| {
            let known = scene.known(&name);
            known.unread > before || known.ended
        })?;
        if held && !self.scene.known(owner).ended {
            return Ok(());
        }
        Err(Halt::Abandoned(format!(
            "{owner} asked the store for nothing within a TTL: let it use $LEASEPROOF_STORE, and renew within the TTL"
        )))
    }

    /// Waits until the target's next renewal was applied, or its grant ended.
    pub fn until_renewed_or_over(&mut self, from: Moment) -> Step<BootNanos> {
        self.say("waiting for the next renewal");
        let renewals = self.scene.grant.as_ref().map_or(0, |grant| grant.renewals);
        let old = self.old_holder.clone();
        let bound = from.latest.plus(self.takeover_bound());
        self.wait(bound, None, |scene| match &scene.grant {
            Some(grant) if Some(&grant.holder) == old.as_ref() => grant.renewals > renewals,
            _ => true,
        })?;
        Ok(boot_now())
    }

    /// Waits until the waiter is seen waiting: it says so, or it runs for two heartbeats.
    pub fn until_waiting(&mut self, waiter: &OwnerName) -> Step {
        // A program takes its time to start; one that shows nothing at all is given some.
        let started = boot_now().plus((self.budget().heartbeat * 2).max(Duration::from_secs(10)));
        let name = waiter.clone();
        self.wait(started, None, |scene| {
            let known = scene.known(&name);
            known.last_said.is_some() || known.connections > 0 || known.ended
        })?;
        let span = self.budget().heartbeat * 2;
        self.pass(span)?;
        if self.scene.known(waiter).ended {
            return Err(Halt::NotOffered(
                "the owner does not wait for a lease that another holds: it ends".to_owned(),
            ));
        }
        let heartbeat = self.budget().heartbeat;
        let phase = self.draw.span(heartbeat);
        self.pass(phase)
    }

    /// Waits until this owner holds the lease and has written.
    pub fn until_holds_and_wrote(&mut self, owner: &OwnerName) -> Step {
        let from = boot_now();
        let bound = from.plus(self.takeover_bound());
        let name = owner.clone();
        self.wait(bound, None, |scene| {
            scene.grant.is_some() && scene.wrote_since(&name, from)
        })?;
        self.watch_heartbeats(1).map(drop)
    }

    /// Waits until somebody of ours holds the lease and has written, at the end of a scenario or a cycle.
    pub fn until_back(&mut self) -> Step {
        let from = boot_now();
        let bound = from.plus(self.takeover_bound());
        let names: Vec<OwnerName> = self.seats.iter().map(|seat| seat.owner().clone()).collect();
        self.wait(bound, None, |scene| {
            scene.grant.is_some() && names.iter().any(|name| scene.wrote_since(name, from))
        })?;
        Ok(())
    }
}
