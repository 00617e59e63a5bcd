//! What is done to the store's server, which is one of our own.

use super::fault::{bare_phase, halt};
use super::{Halt, Stage, Step};
use crate::observe::Sampler;
use crate::server::Server;
use leaseproof_fault::FaultSink;
use leaseproof_fault::clock_step::clock_step;
use leaseproof_fault::pause::pause_tree::pause_tree;
use leaseproof_fault::pause::{Method, Paused};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{FaultKind, FaultPhase, Roles, Source, What};
use leaseproof_model::moment::Moment;
use leaseproof_proc::clock::boot_now;
use std::time::Duration;

/// How long an election may take, on a machine that does much else.
const ELECTION: Duration = Duration::from_secs(30);
/// How long a member may take to say what it is.
const ROLE: Duration = Duration::from_millis(500);
/// Between two questions for that.
const BETWEEN: Duration = Duration::from_millis(10);

/// A pause of the store, or of its leader, in force.
pub struct StorePause {
    paused: Paused,
    /// Which member, where there are several, and in which term it led.
    leader: Option<(usize, u64)>,
}

impl StorePause {
    /// When it was confirmed.
    #[must_use]
    pub fn confirmed(&self) -> Moment {
        self.paused.confirmed()
    }

    /// Whether other members go on.
    #[must_use]
    pub fn others_go_on(&self) -> bool {
        self.leader.is_some()
    }
}

impl Stage<'_> {
    /// Where the phases of faults of the store go: they are nobody's, whatever the guard calls them.
    fn store_sink(&self, kind: FaultKind) -> FaultSink {
        let recorder = self.recorder.clone();
        FaultSink::new(move |at, mut event| {
            event.kind = kind;
            recorder.record(Source::Fault, None, at, What::Fault(event));
        })
    }

    fn server(&self) -> Step<&Server> {
        self.server
            .as_ref()
            .ok_or_else(|| Halt::NotOffered("leaseproof did not start this store".to_owned()))
    }

    /// Looks at the store will fail from now on, and that is no lateness of ours.
    fn excuse_looks(&self, excused: bool) {
        if let Some(sampler) = &self.sampler {
            sampler.excuse(excused);
        }
    }

    /// Stops the server; of several members the one that leads, by its own word. The warden ends that if we can't.
    pub fn pause_store(&mut self) -> Step<StorePause> {
        self.look();
        let leader = match self.server()?.members() {
            1 => None,
            _ => Some(self.leader()?),
        };
        self.say(match leader {
            None => "stopping the store's server",
            Some(_) => "stopping the store's leader",
        });
        let hold = self.takeover_bound() * 2 + ELECTION + Duration::from_secs(5);
        let member = leader.map_or(0, |(member, _)| member);
        let launched = self.server()?.launched(member);
        let launched = launched.ok_or_else(|| Halt::Abandoned("the store's server does not run".to_owned()))?;
        self.excuse_looks(true);
        let sink = self.store_sink(match leader {
            None => FaultKind::PauseStore,
            Some(_) => FaultKind::PauseLeader,
        });
        let paused = pause_tree(&self.ready.warden, launched.target(), Method::Sigstop, hold, &sink)
            .map_err(|error| halt(&error))?;
        if leader.is_some()
            && let Some(sampler) = &self.sampler
        {
            // Nobody can answer until another leads, and a member that is asked too early answers late.
            sampler.rest(true);
        }
        Ok(StorePause { paused, leader })
    }

    /// Waits until a member leads, and says which and in which term, with what all said on record.
    fn leader(&mut self) -> Step<(usize, u64)> {
        let bound = boot_now().plus(ELECTION);
        loop {
            let (at, roles) = self.server()?.roles(ROLE, None);
            if let Some(leader) = place_of_leader(&roles) {
                self.record(Source::Lab, None, at, What::Roles(roles));
                return Ok(leader);
            }
            if boot_now() > bound {
                return Err(Halt::Abandoned(
                    "no member of the store says that it leads: look at their logs with --keep".to_owned(),
                ));
            }
            self.pass(BETWEEN)?;
        }
    }

    /// Waits until another member leads, by its own word; the moment at which it was heard.
    pub fn until_another_leads(&mut self, pause: &StorePause) -> Step<BootNanos> {
        self.say("waiting for another leader");
        let bound = boot_now().plus(ELECTION);
        let mut none = None;
        loop {
            let stands = pause.leader.map(|(member, _)| member);
            let (at, roles) = self.server()?.roles(ROLE, stands);
            let leads = place_of_leader(&roles);
            // A member may know for a moment that it leads, and not yet in which term.
            if let Some((leader, term)) = leads
                && pause.leader.is_none_or(|(_, before)| term > before)
            {
                // The last time that none did: until then nobody was granted anything.
                if let Some((at, roles)) = none {
                    self.record(Source::Lab, None, at, What::Roles(roles));
                }
                self.record(Source::Lab, None, at, What::Roles(roles));
                if let Some(sampler) = &self.sampler {
                    sampler.prefer(leader);
                    sampler.rest(false);
                }
                // From then on the store answers, and a look that is late is ours.
                self.until_store_answers()?;
                return Ok(at.latest);
            }
            if leads.is_none() {
                none = Some((at, roles));
            }
            if boot_now() > bound {
                return Err(Halt::Abandoned(format!(
                    "no other member of the store leads after {ELECTION:?}: look at their logs with --keep"
                )));
            }
            self.pass(BETWEEN)?;
        }
    }

    /// Lets it go on.
    pub fn thaw_store(&mut self, pause: StorePause, due: BootNanos) -> Step {
        let mut paused = pause.paused;
        paused.due(Moment::exact(due));
        let thawed = paused.thaw().map_err(|error| halt(&error))?;
        self.until_store_answers()?;
        let looked = self.sampler.as_ref().map_or_else(boot_now, Sampler::looked);
        self.late_beside_the_fault(
            looked.since(thawed.undone.earliest),
            "looking at the store that goes on",
        );
        Ok(())
    }

    /// A look that comes too late to be right beside the fault leaves a gap in which nobody looked.
    fn late_beside_the_fault(&self, by: Duration, what: &str) {
        if by > self.look_gap() {
            let what = what.to_owned();
            self.note(What::RigLate { by, what });
        }
    }

    /// Kills the server and starts it again, on its data or without.
    pub fn restart_store(&mut self, with_data: bool) -> Step {
        self.say("killing the store's server");
        self.look();
        let kind = match with_data {
            true => FaultKind::RestartStore,
            false => FaultKind::EmptyStore,
        };
        let fault = self.ready.warden.next_fault();
        self.excuse_looks(true);
        self.restart_phase((kind, fault), FaultPhase::Asked, Moment::exact(boot_now()));
        let Some(server) = self.server.as_mut() else {
            return self.server().map(drop);
        };
        let dead = server.kill();
        self.restart_phase((kind, fault), FaultPhase::Confirmed, dead);
        self.late_beside_the_fault(dead.uncertainty(), "the end of the store's server");
        // Long enough that owners notice, short enough that a lease may outlive it.
        self.pass(self.budget().heartbeat / 2)?;
        let asked = boot_now();
        let warden = &self.ready.warden;
        if let Some(server) = self.server.as_mut() {
            server.again(warden, with_data).map_err(Halt::Abandoned)?;
        }
        if !with_data {
            // What every user of it needs was gone, too.
            self.admin
                .prepare()
                .map_err(|error| Halt::Abandoned(error.to_string()))?;
        }
        self.until_store_answers()?;
        self.restart_phase((kind, fault), FaultPhase::Undone, Moment::between(asked, boot_now()));
        Ok(())
    }

    fn restart_phase(&self, (kind, fault): (FaultKind, u64), phase: FaultPhase, at: Moment) {
        let event = bare_phase(fault, kind, phase, "sigkill");
        self.record(Source::Fault, None, at, What::Fault(event));
    }

    /// Steps the wall clock of the server, to the end of the cycle.
    pub fn step_store_clock(&mut self, step_ns: i64) -> Step {
        self.say("stepping the clock of the store's server");
        self.look();
        let hold = self.takeover_bound() * 4;
        let sink = self.store_sink(FaultKind::StepStoreClock);
        let server = self.server()?;
        let (Some(shim), Some(launched)) = (server.shim().cloned(), server.launched(0)) else {
            return Err(Halt::NotOffered(
                "the clock shim was not loaded into the server".to_owned(),
            ));
        };
        let stepped = clock_step(&self.ready.warden, launched.target(), &shim, step_ns, hold, &sink);
        self.stepped = Some(stepped.map_err(|error| halt(&error))?);
        Ok(())
    }

    /// Waits until somebody looked at the store after now: from then on a look that is late is ours.
    fn until_store_answers(&mut self) -> Step {
        self.until_looked_at()?;
        self.excuse_looks(false);
        Ok(())
    }

    fn until_looked_at(&mut self) -> Step {
        let from = boot_now();
        let bound = from.plus(Duration::from_secs(10));
        while self.sampler.as_ref().is_some_and(|sampler| sampler.looked() <= from) && boot_now() < bound {
            self.pass(Duration::from_millis(5))?;
        }
        Ok(())
    }
}

/// The member that leads, and its term.
fn place_of_leader(roles: &Roles) -> Option<(usize, u64)> {
    let (leader, term) = roles.leader()?;
    let place = roles
        .members
        .iter()
        .position(|member| member.process == leader.process)?;
    Some((place, term))
}
