//! The stage of one scenario: its own key, witness, observer and owners, and the words in which the
//! scripts are written.
//!
//! - `opening`: owners come on and leave
//! - `cycle`: a cycle begins, has its baseline, ends
//! - `until`: waiting for what must be seen
//! - `fault`: what is done to an owner
//! - `server`: what is done to the store
//! - `lab`: the lab itself as a silent successor

mod cycle;
mod fault;
mod lab;
mod opening;
mod server;
mod setting;
mod slow_store;
mod until;

pub use fault::{Part, WireFault};

use super::catalogue::Spec;
use super::draw::Draw;
use super::scene::Scene;
use crate::bundle::Recorder;
use crate::observe::Sampler;
use crate::owner::OwnerSeat;
use crate::prepare::Ready;
use crate::progress::Progress;
use crate::server::Server;
use crate::settings::RunSettings;
use leaseproof_fault::clock_step::Stepped;
use leaseproof_model::budget::Budget;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Source, What};
use leaseproof_model::history::History;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{HolderId, OwnerName};
use leaseproof_model::scenario::Ask;
use leaseproof_proc::clock::boot_now;
use leaseproof_store::{Administer, Grant, Lease, StoreUrl};
use leaseproof_witness::Witness;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Why a script ends before its end.
#[derive(Debug)]
pub enum Halt {
    /// The run is being ended from outside.
    Stopped,
    /// Decided during the run, from evidence: this owner, store or host can't offer it.
    NotOffered(String),
    /// It can't go on; what was missing and what to change.
    Abandoned(String),
}

/// One step of a script.
pub type Step<T = ()> = Result<T, Halt>;

/// What a cycle came to, for the lab: the judge decides whether it held.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Cycle {
    /// It was run as meant.
    Kept,
    /// It was hurt by the rig, or became another scenario: drawn again, once.
    Redraw,
}

/// The stage.
pub struct Stage<'a> {
    settings: &'a RunSettings,
    ready: &'a Ready,
    spec: &'static Spec,
    ask: Ask,
    recorder: Recorder,
    scene: Scene,
    draw: Draw,
    url: StoreUrl,
    key: String,
    plain_key: String,
    dir: PathBuf,
    witness: Arc<Witness>,
    sampler: Option<Sampler>,
    /// The store's server, where the scenario has one of its own.
    server: Option<Server>,
    admin: Box<dyn Administer>,
    lease: Box<dyn Lease>,
    lab_grant: Option<Grant>,
    seats: Vec<OwnerSeat>,
    cycle: u32,
    cycle_began: BootNanos,
    wanted: u32,
    began: BootNanos,
    clock_step_ns: i64,
    /// Wall reads of the target when the cycle began.
    reads_at_begin: u64,
    stepped: Option<Stepped>,
    /// Whose grant the running cycle is about.
    old_holder: Option<HolderId>,
}

/// How long the stage sleeps at most between two looks at its owners.
const LOOK: Duration = Duration::from_millis(5);

impl Stage<'_> {
    /// The budget in force.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.ask.budget
    }

    /// Longer than the TTL, with a buffer that outlasts every rounding.
    #[must_use]
    pub fn over_ttl(&self) -> Duration {
        self.budget().ttl + self.buffer()
    }

    fn buffer(&self) -> Duration {
        (self.budget().ttl / 10).max(Duration::from_millis(50))
    }

    /// How far apart two looks at the store may be, so that nothing hides between them.
    fn look_gap(&self) -> Duration {
        (self.budget().heartbeat / 2).max(Duration::from_millis(150))
    }

    /// From a pause's begin to a takeover, at worst.
    fn takeover_bound(&self) -> Duration {
        self.budget().ttl * (1 + self.ask.store.late_ttls)
            + self.ask.store.late_bound
            + self.budget().heartbeat * 2
            + Duration::from_secs(2)
    }

    fn say(&self, step: &str) {
        let cycle = (self.cycle.max(1), self.wanted);
        (self.settings.watcher)(Progress::Step {
            id: self.spec.id,
            store: self.ask.store.kind.clone(),
            cycle,
            step: step.to_owned(),
        });
    }

    fn record(&self, source: Source, owner: Option<&OwnerName>, at: Moment, what: What) {
        self.recorder.record(source, owner, at, what);
    }

    fn note(&self, what: What) {
        self.record(Source::Lab, None, Moment::exact(boot_now()), what);
    }

    /// Takes in what was recorded since the last look.
    fn look(&mut self) {
        let scene = &mut self.scene;
        let place = self.recorder.scan(scene.place(), |event| scene.take(event));
        scene.set_place(place);
    }

    /// Waits until `met`, at the longest until `deadline`; says whether it was met. `aim` is a moment
    /// at which `met` may come true by time alone.
    fn wait(&mut self, deadline: BootNanos, aim: Option<BootNanos>, mut met: impl FnMut(&Scene) -> bool) -> Step<bool> {
        loop {
            if self.settings.stop.load(Ordering::Relaxed) {
                return Err(Halt::Stopped);
            }
            self.tend()?;
            self.look();
            if met(&self.scene) {
                return Ok(true);
            }
            let now = boot_now();
            if now >= deadline {
                return Ok(false);
            }
            let mut nap = LOOK.min(deadline.since(now));
            if let Some(aim) = aim.filter(|&aim| aim > now) {
                nap = nap.min(aim.since(now));
            }
            self.recorder.wait_for_more(self.scene.place(), nap);
        }
    }

    /// Lets time pass, looking on.
    fn pass(&mut self, span: Duration) -> Step {
        let until = boot_now().plus(span);
        self.wait(until, Some(until), |_| false).map(drop)
    }

    /// Looks after the owners: one that ended by itself is started again, as a supervisor would.
    fn tend(&mut self) -> Step {
        for index in 0..self.seats.len() {
            if self.seats[index].reap() && self.seats[index].wants_restart() {
                self.seats[index].check_restarts().map_err(Halt::Abandoned)?;
                self.start_seat(index, true)?;
            }
        }
        Ok(())
    }

    /// Writes down why the scenario can't go on.
    pub fn abandon(&mut self, why: String) {
        self.note(What::Abandoned { why });
    }

    /// Ends everything on the stage and closes the record.
    #[must_use]
    pub fn strike(&mut self, complete: bool) -> History {
        if complete {
            // The last look comes after the last event, or the coverage would end before the story does.
            let _ = self.pass(self.buffer());
        }
        let grace = if complete {
            self.budget().heartbeat.max(Duration::from_millis(500))
        } else {
            Duration::ZERO
        };
        self.unstep_clock();
        for seat in &mut self.seats {
            seat.end(grace);
        }
        let _ = self.witness.settle();
        for gap in self.witness.gaps() {
            self.note(What::Coverage(gap));
        }
        if let Some(sampler) = self.sampler.take() {
            sampler.stop();
        }
        if !self.settings.keep && self.server.is_none() {
            self.sweep();
        }
        // With all that it holds.
        drop(self.server.take());
        let took = boot_now().since(self.began);
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        self.ready.meter.forget(&self.recorder);
        self.recorder.finish(self.ask.clone(), took_ms, complete)
    }
}
