//! A cycle begins, has its baseline, ends.

use super::{Cycle, Halt, Stage, Step};
use crate::scenarios::scene::Seen;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::What;
use leaseproof_model::name::OwnerName;
use leaseproof_model::scenario::WitnessMode;
use leaseproof_proc::clock::boot_now;
use std::time::Duration;

/// How often a baseline is tried before the fault comes anyway.
const BASELINES: u32 = 3;

impl Stage<'_> {
    /// Runs the wanted cycles; one that was hurt by the rig is drawn again, once.
    pub fn cycles(&mut self, mut script: impl FnMut(&mut Self) -> Step<Cycle>) -> Step {
        let wanted = self.wanted;
        let mut redraws = wanted;
        let mut kept = 0;
        while kept < wanted {
            match script(self)? {
                Cycle::Kept => kept += 1,
                Cycle::Redraw if redraws > 0 => redraws -= 1,
                // Drawn again already: what it shows is for the judge.
                Cycle::Redraw => kept += 1,
            }
        }
        Ok(())
    }

    /// One cycle beside the wanted ones.
    pub fn one_more(&mut self, mut script: impl FnMut(&mut Self) -> Step<Cycle>) -> Step {
        if script(self)? == Cycle::Redraw {
            script(self)?;
        }
        Ok(())
    }

    /// Begins a cycle.
    pub fn begin(&mut self, target: &OwnerName, successor: Option<&OwnerName>, witness: WitnessMode) -> Step {
        self.cycle += 1;
        self.look();
        self.scene.rig_late = false;
        self.scene.writer_frozen = false;
        self.cycle_began = boot_now();
        self.witness
            .set_mode(witness)
            .map_err(|error| Halt::Abandoned(error.to_string()))?;
        self.recorder.set_cycle(self.cycle);
        self.reads_at_begin = self.wall_reads_of(target);
        self.note(What::CycleBegan {
            target: target.clone(),
            successor: successor.cloned(),
            witness,
        });
        self.say("baseline");
        Ok(())
    }

    /// Begins a cycle in which the lab is the silent successor.
    pub fn begin_with_lab(&mut self, target: &OwnerName) -> Step {
        let witness = self.spec.witness;
        self.begin(target, Some(&OwnerName::lab()), witness)
    }

    /// Begins a cycle that has no owner at all.
    pub fn begin_self_check(&mut self) -> Step {
        self.begin(&OwnerName::lab(), None, WitnessMode::Enforce)
    }

    /// Sees the target act inside its grant, then lets a random part of a heartbeat pass, so that the
    /// fault falls anywhere between two renewals.
    pub fn baseline(&mut self, target: &OwnerName) -> Step {
        for _ in 0..BASELINES {
            let bound = boot_now().plus(self.takeover_bound());
            let name = target.clone();
            let holds = self.wait(bound, None, |scene| {
                scene.grant.is_some() && scene.holder().is_none_or(|holder| *holder == name)
            })?;
            if !holds {
                return Err(Halt::Abandoned(format!(
                    "the lease was not with {target} before the fault: nothing could be asked of it; run again, or look at its output"
                )));
            }
            let grant = self.scene.grant.clone();
            let since = grant
                .as_ref()
                .map_or(self.cycle_began, |grant| grant.first.earliest.max(self.cycle_began));
            // An owner that never writes is judged by what it says; a missing act is the judge's premise.
            let acted = boot_now().plus(self.budget().ttl + self.budget().heartbeat * 2);
            let name = target.clone();
            self.wait(acted, None, |scene| {
                scene.wrote_since(&name, since) || scene.known(&name).ended
            })?;
            let heartbeat = self.budget().heartbeat;
            let phase = self.draw.span(heartbeat);
            self.pass(heartbeat + phase)?;
            let holder = |grant: &Option<Seen>| grant.as_ref().map(|grant| grant.holder.clone());
            if holder(&self.scene.grant) == holder(&grant) {
                break;
            }
            // It lost that grant meanwhile, on a busy machine: the fault must find it acting in the one it has.
        }
        Ok(())
    }

    /// Watches the target run for two heartbeats, or end by itself.
    pub fn observe(&mut self, target: &OwnerName) -> Step {
        self.say("watching what it does now");
        let until = boot_now().plus(self.budget().heartbeat * 2 + self.budget().renew_timeout + self.buffer());
        let name = target.clone();
        let ended = self.wait(until, Some(until), |scene| scene.known(&name).ended)?;
        if self.clock_step_ns != 0 && !ended {
            self.wall_reads(target)?;
        }
        // One that ended may have a child that writes on.
        if ended {
            self.watch_heartbeats(1).map(drop)
        } else {
            Ok(())
        }
    }

    /// Lets heartbeats pass, and says when they had.
    pub fn watch_heartbeats(&mut self, count: u32) -> Step<BootNanos> {
        let until = boot_now().plus(self.budget().heartbeat * count);
        self.wait(until, Some(until), |_| false)?;
        Ok(until)
    }

    /// Waits until somebody looked at the store after now.
    pub(super) fn until_looked(&mut self) -> Step {
        let now = boot_now();
        while self.sampler.as_ref().is_some_and(|sampler| sampler.looked() <= now)
            && boot_now() < now.plus(Duration::from_secs(2))
        {
            self.pass(Duration::from_millis(2))?;
        }
        Ok(())
    }

    /// Ends a cycle.
    pub fn end(&mut self) -> Step<Cycle> {
        self.unstep_clock();
        self.look();
        self.note(What::CycleEnded);
        // The cycle is covered only once somebody looked after its end; a gap there is this cycle's.
        self.until_looked()?;
        self.look();
        let redraw = self.scene.rig_late || self.scene.writer_frozen;
        Ok(if redraw { Cycle::Redraw } else { Cycle::Kept })
    }
}
