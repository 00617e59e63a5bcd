//! What is done to an owner.

use super::{Halt, Stage, Step};
use crate::observe::WithinWatch;
use crate::owner::OwnerSeat;
use crate::plan::FreezeMethod;
use leaseproof_fault::clock_step::clock_step;
use leaseproof_fault::launch::Launched;
use leaseproof_fault::pause::pause_child::pause_child;
use leaseproof_fault::pause::pause_parent::pause_parent;
use leaseproof_fault::pause::pause_tree::pause_tree;
use leaseproof_fault::pause::{self, Method, Paused};
use leaseproof_fault::relay;
use leaseproof_fault::{FaultError, kill_tree, terminate};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{FaultEvent, FaultKind, FaultPhase, Source, What};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::OwnerName;
use leaseproof_proc::clock::boot_now;
use leaseproof_witness::HoldHandle;
use std::time::Duration;

/// Which part of the tree.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// All of it.
    Tree,
    /// The root process only, always by SIGSTOP.
    Parent,
    /// The children only, always by SIGSTOP.
    Child,
    /// All of it, always by SIGSTOP: a signal sent to a frozen control group wakes its target for a
    /// moment inside the kernel, and its CPU time would not stand still.
    TreeForSignals,
}

/// A pause in force.
pub struct Pause {
    paused: Paused,
    owner: OwnerName,
    renewals: u32,
}

impl Pause {
    /// When it was confirmed.
    #[must_use]
    pub fn confirmed(&self) -> Moment {
        self.paused.confirmed()
    }
}

/// What is done to the network.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum WireFault {
    /// Everything is swallowed, and delivered at the end, as TCP does.
    Blackhole,
    /// Answers are held back, and delivered at the end.
    DelayAnswers,
    /// The connections are reset.
    Reset,
    /// The connections are forgotten in silence.
    IdleDrop,
}

/// A fault of the network: in force, or done to the connections that there were.
pub enum Cut {
    /// In force until it is healed.
    Held(relay::Held),
    /// Done; new connections work.
    Done(relay::Cut),
}

impl Cut {
    /// When it came into force.
    #[must_use]
    pub fn confirmed(&self) -> Moment {
        match self {
            Self::Held(held) => held.confirmed(),
            Self::Done(cut) => cut.confirmed,
        }
    }
}

/// A write held in flight, or a read without its answer.
pub struct HeldRequest {
    handle: HoldHandle,
    owner: OwnerName,
    fault: u64,
    kind: FaultKind,
}

pub(super) fn halt(error: &FaultError) -> Halt {
    match error {
        FaultError::NotOffered(why) => Halt::NotOffered(why.clone()),
        other => Halt::Abandoned(other.to_string()),
    }
}

impl Stage<'_> {
    fn seat(&self, owner: &OwnerName) -> Step<&OwnerSeat> {
        self.seats
            .iter()
            .find(|seat| seat.owner() == owner)
            .ok_or_else(|| Halt::Abandoned(format!("{owner} is not there any more")))
    }

    fn running(&self, owner: &OwnerName) -> Step<&Launched> {
        let launched = self.seat(owner)?.launched();
        launched.ok_or_else(|| Halt::Abandoned(format!("{owner} does not run")))
    }

    /// Says that the end of this owner is our doing, and not for its supervisor.
    fn expect_end(&mut self, owner: &OwnerName) {
        if let Some(seat) = self.seats.iter_mut().find(|seat| seat.owner() == owner) {
            seat.expect_end();
        }
    }

    /// Whose grant the fault is about.
    fn remember_holder(&mut self) {
        self.look();
        if let Some(grant) = &self.scene.grant {
            self.old_holder = Some(grant.holder.clone());
        }
    }

    /// Whether owners start in control groups of their own.
    pub(super) fn freezer_wanted(&self) -> bool {
        match self.settings.plan.freeze {
            FreezeMethod::Sigstop => false,
            FreezeMethod::Cgroup => true,
            FreezeMethod::Auto => pause::availability(Method::CgroupV2).is_ok(),
        }
    }

    fn method(&mut self) -> Method {
        match self.settings.plan.freeze {
            FreezeMethod::Sigstop => Method::Sigstop,
            FreezeMethod::Cgroup => Method::CgroupV2,
            // Both in turn: an owner must bear both.
            FreezeMethod::Auto if self.freezer_wanted() && self.cycle.is_multiple_of(2) => Method::CgroupV2,
            FreezeMethod::Auto => Method::Sigstop,
        }
    }

    /// Pauses an owner. The warden ends the pause if we can't.
    pub fn pause(&mut self, owner: &OwnerName, part: Part) -> Step<Pause> {
        self.say("pausing");
        self.look();
        let method = self.method();
        let sink = self.fault_sink(owner);
        let hold = self.takeover_bound() * 2 + Duration::from_secs(5);
        let target = self.running(owner)?.target();
        let warden = &self.ready.warden;
        let paused = match part {
            Part::Tree => pause_tree(warden, target, method, hold, &sink),
            Part::TreeForSignals => pause_tree(warden, target, Method::Sigstop, hold, &sink),
            Part::Parent => pause_parent(warden, target, hold, &sink),
            Part::Child => pause_child(warden, target, hold, &sink),
        }
        .map_err(|error| halt(&error))?;
        self.remember_holder();
        let renewals = self.scene.grant.as_ref().map_or(0, |grant| grant.renewals);
        Ok(Pause {
            paused,
            owner: owner.clone(),
            renewals,
        })
    }

    /// Watches, until it is dropped, what the part of the owner that runs sends to its parent, which stands still.
    pub fn watch_within(&self, owner: &OwnerName) -> Step<WithinWatch> {
        let family = self.running(owner)?.target().family();
        WithinWatch::start(owner, family, &self.recorder)
            .map_err(|error| Halt::Abandoned(format!("no thread can be had: {error}")))
    }

    /// Thaws, and says how long the pause really was.
    pub fn thaw(&mut self, mut pause: Pause, due: BootNanos) -> Step<Duration> {
        pause.paused.due(Moment::exact(due));
        let thawed = pause.paused.thaw().map_err(|error| halt(&error))?;
        let late = thawed.undone.latest.since(due);
        // A thaw that is this late let the owner miss more than the script meant.
        if late > Duration::from_millis(100) {
            let what = format!("the thaw of {}", pause.owner);
            self.note(What::RigLate { by: late, what });
        }
        Ok(thawed.undone.latest.since(thawed.confirmed.earliest))
    }

    /// Whether the lease was renewed since the pause began.
    #[must_use]
    pub fn renewed_during(&self, pause: &Pause) -> bool {
        self.scene
            .grant
            .as_ref()
            .is_some_and(|grant| Some(&grant.holder) == self.old_holder.as_ref() && grant.renewals > pause.renewals + 1)
    }

    /// Not offered to an owner of one process.
    pub fn needs_child(&mut self, owner: &OwnerName) -> Step {
        let seat = self.seat(owner)?;
        let family = seat.launched().map(|launched| launched.target().family());
        let count = family
            .and_then(|family| family.look().ok())
            .map_or(0, |members| members.len());
        if count > 1 {
            return Ok(());
        }
        Err(Halt::NotOffered(
            "the owner is one process: there is no part of it to stop alone".to_owned(),
        ))
    }

    /// Kills the whole tree.
    pub fn kill(&mut self, owner: &OwnerName) -> Step<Moment> {
        self.say("killing");
        self.remember_holder();
        let sink = self.fault_sink(owner);
        self.expect_end(owner);
        let launched = self.running(owner)?;
        let (dead, _) =
            kill_tree::kill_tree(&self.ready.warden, launched.target(), &sink).map_err(|error| halt(&error))?;
        Ok(dead)
    }

    /// Asks the owner to release: SIGTERM to its root process.
    pub fn terminate(&mut self, owner: &OwnerName) -> Step {
        self.say("asking it to release");
        let sink = self.fault_sink(owner);
        self.expect_end(owner);
        let launched = self.running(owner)?;
        terminate::terminate(&self.ready.warden, launched.target(), &sink)
            .map(drop)
            .map_err(|error| halt(&error))
    }

    /// Cuts the owner's network.
    pub fn cut(&mut self, owner: &OwnerName, fault: WireFault) -> Step<Cut> {
        self.say("cutting its network");
        self.remember_holder();
        let sink = self.fault_sink(owner);
        let relay = self.seat(owner)?.relay();
        let relay = relay.ok_or_else(|| Halt::NotOffered("there is no network between owner and store".to_owned()))?;
        let number = self.ready.warden.next_fault();
        Ok(match fault {
            WireFault::Blackhole => Cut::Held(relay.blackhole(number, &sink)),
            WireFault::DelayAnswers => Cut::Held(relay.delay_answers(number, &sink)),
            WireFault::Reset => Cut::Done(relay.reset(number, &sink)),
            WireFault::IdleDrop => Cut::Done(relay.idle_drop(number, &sink)),
        })
    }

    /// Lets the network be as it was.
    pub fn heal(&mut self, cut: Cut, due: BootNanos) -> Step {
        match cut {
            Cut::Held(mut held) => {
                held.due(Moment::exact(due));
                held.heal();
            }
            Cut::Done(cut) => cut.over(Moment::exact(due)),
        }
        self.look();
        Ok(())
    }

    /// What [`Self::step_clock`] steps by.
    pub fn set_clock_step(&mut self, step_ns: i64) {
        self.clock_step_ns = step_ns;
    }

    /// Steps the owner's wall clock, in the stepped arm of a clock scenario; the twin's shim counts its
    /// reads all the same. Elsewhere it does nothing.
    pub fn step_clock(&mut self, owner: &OwnerName) -> Step {
        if self.clock_step_ns == 0 {
            return Ok(());
        }
        let sink = self.fault_sink(owner);
        let hold = self.takeover_bound() * 4;
        let seat = self.seat(owner)?;
        let (Some(shim), Some(launched)) = (seat.shim().cloned(), seat.launched()) else {
            return Err(Halt::NotOffered(
                "the clock shim was not loaded into the owner".to_owned(),
            ));
        };
        if !shim.mapped_in(launched.target().family()) {
            return Err(Halt::NotOffered(
                "the clock shim is not mapped in every process of the owner: it is static, or reads its clocks without libc".to_owned(),
            ));
        }
        if shim.counts().reads <= self.reads_at_begin {
            return Err(Halt::NotOffered(
                "the owner made no wall-clock read through libc while it held the lease, so a step can't reach it"
                    .to_owned(),
            ));
        }
        if !self.ask.twin {
            let warden = &self.ready.warden;
            let stepped = clock_step(warden, launched.target(), &shim, self.clock_step_ns, hold, &sink);
            self.stepped = Some(stepped.map_err(|error| halt(&error))?);
        }
        // At once the next fault: a renewal in between would count its validity by the stepped clock,
        // and nothing would be shown.
        self.wall_reads(owner)
    }

    /// Steps the clock back to the kernel's, at the end of a cycle.
    pub(super) fn unstep_clock(&mut self) {
        if let Some(mut stepped) = self.stepped.take() {
            stepped.due(Moment::exact(boot_now()));
            let _ = stepped.undo();
        }
    }

    /// How often the owner read its wall clock so far; 0 without the shim.
    pub(super) fn wall_reads_of(&self, owner: &OwnerName) -> u64 {
        let seat = self.seats.iter().find(|seat| seat.owner() == owner);
        seat.and_then(OwnerSeat::shim).map_or(0, |shim| shim.counts().reads)
    }

    /// Records how often the owner read its wall clock so far.
    pub(super) fn wall_reads(&self, owner: &OwnerName) -> Step {
        let seat = self.seat(owner)?;
        if let (Some(shim), Some(launched)) = (seat.shim(), seat.launched()) {
            let mapped = shim.mapped_in(launched.target().family());
            let counts = shim.counts();
            let what = What::WallReads {
                count: counts.reads,
                offset_ns: counts.offset_ns,
                mapped,
            };
            self.record(Source::Shim, Some(owner), Moment::exact(boot_now()), what);
        }
        Ok(())
    }

    /// Whether the owner's last write carried a token.
    #[must_use]
    pub fn sends_tokens(&self, owner: &OwnerName) -> bool {
        self.scene.known(owner).wrote_token
    }

    /// Whether the plan wants a token on every write.
    #[must_use]
    pub fn requires_token(&self) -> bool {
        self.ask.require_token
    }

    /// Whether the owner has filled the cache.
    #[must_use]
    pub fn fills(&self, owner: &OwnerName) -> bool {
        self.scene.known(owner).fills > 0
    }

    /// Holds the owner's next write in flight.
    pub fn hold_write(&mut self, owner: &OwnerName) -> Step<HeldRequest> {
        self.say("holding a write in flight");
        self.hold(owner, FaultKind::HoldWrite)
    }

    /// Holds back the answer to the owner's next read of the value.
    pub fn hold_read(&mut self, owner: &OwnerName) -> Step<HeldRequest> {
        self.say("holding back the answer to a read");
        if let Some(known) = self.scene.owners.get_mut(owner) {
            known.read_held = false;
        }
        self.hold(owner, FaultKind::HoldRead)
    }

    fn hold(&mut self, owner: &OwnerName, kind: FaultKind) -> Step<HeldRequest> {
        let fault = self.ready.warden.next_fault();
        let asked = boot_now();
        self.hold_phase(owner, (fault, kind), FaultPhase::Asked, Moment::exact(asked));
        let is_read = kind == FaultKind::HoldRead;
        let handle = match is_read {
            true => self.witness.hold_next_read(owner),
            false => self.witness.hold_next(owner),
        }
        .map_err(|error| Halt::Abandoned(error.to_string()))?;
        let name = owner.clone();
        let patience = boot_now().plus(self.budget().ttl + self.budget().heartbeat * 2);
        let held = self.wait(patience, None, |scene| {
            let known = scene.known(&name);
            if is_read { known.read_held } else { known.write_held }
        })?;
        if !held {
            let what = if is_read { "read" } else { "write" };
            return Err(Halt::Abandoned(format!("{owner} made no {what} that could be held")));
        }
        let confirmed = Moment::between(asked, boot_now());
        self.hold_phase(owner, (fault, kind), FaultPhase::Confirmed, confirmed);
        Ok(HeldRequest {
            handle,
            owner: owner.clone(),
            fault,
            kind,
        })
    }

    /// Lets it go on.
    pub fn let_go(&mut self, held: HeldRequest) -> Step {
        let asked = boot_now();
        held.handle
            .release()
            .map_err(|error| Halt::Abandoned(error.to_string()))?;
        let _ = self.witness.settle();
        let undone = Moment::between(asked, boot_now());
        self.hold_phase(&held.owner, (held.fault, held.kind), FaultPhase::Undone, undone);
        Ok(())
    }

    fn hold_phase(&self, owner: &OwnerName, (fault, kind): (u64, FaultKind), phase: FaultPhase, at: Moment) {
        let event = bare_phase(fault, kind, phase, "witness");
        self.record(Source::Fault, Some(owner), at, What::Fault(event));
    }
}

/// A phase of a fault that stops no process, so that there is nothing to count.
pub(super) fn bare_phase(fault: u64, kind: FaultKind, phase: FaultPhase, method: &str) -> FaultEvent {
    FaultEvent {
        fault,
        kind,
        phase,
        method: method.to_owned(),
        processes: Vec::new(),
        threads: None,
        cpu_flat: None,
        looks_agree: None,
        kernel_witness: None,
        note: None,
    }
}
