//! What is done to the store's server, which is one of our own.

use super::fault::{bare_phase, halt};
use super::{Halt, Stage, Step};
use crate::server::Server;
use leaseproof_fault::FaultSink;
use leaseproof_fault::clock_step::clock_step;
use leaseproof_fault::pause::pause_tree::pause_tree;
use leaseproof_fault::pause::{Method, Paused};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{FaultKind, FaultPhase, Source, What};
use leaseproof_model::moment::Moment;
use leaseproof_proc::clock::boot_now;
use std::time::Duration;

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

    /// Stops the server. The warden ends that if we can't.
    pub fn pause_store(&mut self) -> Step<Paused> {
        self.say("stopping the store's server");
        self.look();
        let hold = self.takeover_bound() * 2 + Duration::from_secs(5);
        let launched = self.server()?.launched();
        let launched = launched.ok_or_else(|| Halt::Abandoned("the store's server does not run".to_owned()))?;
        self.excuse_looks(true);
        let sink = self.store_sink(FaultKind::PauseStore);
        pause_tree(&self.ready.warden, launched.target(), Method::Sigstop, hold, &sink).map_err(|error| halt(&error))
    }

    /// Lets it go on.
    pub fn thaw_store(&mut self, mut paused: Paused, due: BootNanos) -> Step {
        paused.due(Moment::exact(due));
        paused.thaw().map_err(|error| halt(&error))?;
        self.until_store_answers()
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
        // Long enough that owners notice, short enough that a lease may outlive it.
        self.pass(self.budget().heartbeat / 2)?;
        let asked = boot_now();
        let warden = &self.ready.warden;
        if let Some(server) = self.server.as_mut() {
            server.again(warden, with_data).map_err(Halt::Abandoned)?;
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
        let (Some(shim), Some(launched)) = (server.shim().cloned(), server.launched()) else {
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
        let from = boot_now();
        let bound = from.plus(Duration::from_secs(10));
        while self.sampler.as_ref().is_some_and(|sampler| sampler.looked() <= from) && boot_now() < bound {
            self.pass(Duration::from_millis(5))?;
        }
        self.excuse_looks(false);
        Ok(())
    }
}
