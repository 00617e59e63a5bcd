//! A command that runs under the lease, as `hold` watches it.

use crate::fuse::{Covered, Fuse};
use crate::message::{Order, Report};
use crate::tenure::{Hold, LossSaid};
use crate::timing::{Step, Stopper};
use crate::tree::Ended;
use crate::veto::Veto;
use crate::wait::{Alarm, drain, wait_for};
use crate::ward::Ward;
use leaseproof::boot_now;
use leaseproof_model::clock::BootNanos;
use rustix::process::{Signal, getpgrp};
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::PoisonError;
use std::time::Duration;

/// After a kill the guardian has so long to say that nothing is left; then its work is done without it.
const GUARDIAN_SAYS: Duration = Duration::from_secs(1);

/// How often a tree that was killed is looked at again.
const AGAIN: Duration = Duration::from_millis(20);

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// How its first process ended.
    pub(crate) ended: Option<Ended>,
    /// It could not be run: the exit status, and why.
    pub(crate) failed: Option<(u8, String)>,
    /// Why it was stopped for the lease, if it was.
    pub(crate) lost: Option<String>,
    /// The signal that asked `hold` to end.
    pub(crate) asked: Option<i32>,
}

/// Who stops the command.
#[derive(Debug)]
enum Guard {
    /// The guardian; this process too, where that does not.
    Guardian,
    /// This process alone, and the command goes on: the guardian was stopped, and its fuse has killed it.
    Alone(Fuse),
    /// This process, at once: the guardian was killed, and the command's first process with it.
    TakenOver,
}

/// A command that runs.
pub(crate) struct Run<'a> {
    hold: &'a Hold,
    ward: &'a mut Ward,
    woken: &'a UnixStream,
    loss: &'a LossSaid,
    alarm: Alarm,
    root: Option<u32>,
    outcome: Outcome,
    guard: Guard,
    veto: Veto,
}

impl<'a> Run<'a> {
    /// One whose start was ordered.
    pub(crate) fn new(
        hold: &'a Hold,
        ward: &'a mut Ward,
        woken: &'a UnixStream,
        loss: &'a LossSaid,
    ) -> io::Result<Self> {
        Ok(Self {
            veto: Veto::new(ward.guardian(), ward.reins().until()),
            hold,
            ward,
            woken,
            loss,
            alarm: Alarm::new()?,
            root: None,
            outcome: Outcome::default(),
            guard: Guard::Guardian,
        })
    }

    /// Runs until nothing of the command is left.
    pub(crate) fn until_its_end(mut self) -> io::Result<Outcome> {
        self.watch()?;
        if let Guard::Alone(fuse) = &mut self.guard {
            fuse.put_out()?;
        }
        Ok(self.outcome)
    }

    fn watch(&mut self) -> io::Result<()> {
        let mut stopper = Stopper::new(self.hold.settings.timing);
        let mut killed_at = None;
        loop {
            if self.listen() {
                return Ok(());
            }
            self.pass_signals_on(&mut stopper);
            self.note_loss();
            if self.ward.is_gone() && self.without_guardian(&mut stopper) {
                return Ok(());
            }
            let now = boot_now();
            let mut wake = match self.step(&mut stopper, now) {
                Step::Term => {
                    // The guardian does that.
                    if let Guard::Alone(_) = self.guard {
                        self.outcome.lost.get_or_insert_with(|| "deadline".to_owned());
                        self.ward.tree().signal(Signal::TERM);
                    }
                    continue;
                }
                Step::Wait(at) => at,
                Step::Kill => {
                    // Else it is the end of a grace, and somebody asked for that.
                    let over = self.hold.settings.timing.kill_at(self.ward.reins().until()) <= now;
                    if over || (self.outcome.asked.is_none() && self.outcome.ended.is_none()) {
                        self.outcome.lost.get_or_insert_with(|| "deadline".to_owned());
                    }
                    let since = *killed_at.get_or_insert_with(|| {
                        self.ward.kill_tree();
                        now
                    });
                    if now.since(since) > GUARDIAN_SAYS {
                        // It is stopped, or worse.
                        self.ward.end_guardian();
                    }
                    now.plus(AGAIN)
                }
            };
            if matches!(self.guard, Guard::Guardian) {
                let timing = &self.hold.settings.timing;
                let due = self.veto.look(now, self.ward.reins().until(), timing);
                wake = due.map_or(wake, |due| due.min(wake));
            } else {
                wake = wake.min(now.plus(AGAIN));
            }
            self.alarm.set(wake)?;
            let line = (!self.ward.is_gone()).then(|| self.ward.line().as_fd());
            // No SIGCHLD: it would wake this process out of a freezer for a moment, and in a pause nothing runs.
            let ours = [self.alarm.as_fd(), self.woken.as_fd(), self.hold.signals.as_fd()];
            let fds: Vec<_> = ours.into_iter().chain(line).collect();
            wait_for(&fds, None);
            drain(self.woken);
        }
    }

    fn step(&self, stopper: &mut Stopper, now: BootNanos) -> Step {
        if self.hold.settings.flaw.is_some() {
            return Step::Wait(BootNanos(u64::MAX / 2));
        }
        stopper.next(now, self.ward.reins().until())
    }

    /// Hears the guardian; whether it says that all is over.
    fn listen(&mut self) -> bool {
        let events = &self.hold.events;
        for report in self.ward.reports() {
            match report {
                Report::Ready => {}
                Report::Started { pid } => {
                    self.root = Some(pid);
                    events.command("started", json!({"pid": pid}));
                }
                Report::Failed { status, why } => {
                    self.outcome.failed = Some((status, why));
                    return true;
                }
                Report::Fused(number) => self.veto.pipe(number),
                Report::Seen(until) => self.veto.seen(until),
                Report::Exited(status) => {
                    self.outcome.ended = Some(Ended::Exited(status));
                    events.command("exited", json!({"status": status}));
                }
                Report::Killed(signal) => {
                    self.outcome.ended = Some(Ended::Killed(signal));
                    events.command("ended", json!({"signal": signal}));
                }
                Report::Termed => {
                    self.outcome.lost.get_or_insert_with(|| "deadline".to_owned());
                    events.command("term", json!({}));
                }
                Report::Killing => events.command("kill", json!({})),
                Report::Gone => {
                    events.command("gone", json!({}));
                    self.note_loss();
                    return true;
                }
            }
        }
        false
    }

    fn note_loss(&mut self) {
        if let Some((why, _)) = &*self.loss.lock().unwrap_or_else(PoisonError::into_inner) {
            self.outcome.lost = Some((*why).to_owned());
        }
    }

    fn pass_signals_on(&mut self, stopper: &mut Stopper) {
        for signal in self.hold.signals.pending() {
            if let Guard::Alone(_) = self.guard {
                if matches!(signal, SIGTERM | SIGHUP) {
                    stopper.asked(boot_now());
                }
                if let Some(named) = Signal::from_named_raw(signal) {
                    self.ward.tree().signal(named);
                }
            }
            match signal {
                SIGTERM | SIGHUP => {
                    self.outcome.asked = Some(signal);
                    self.ward.tell(Order::Stop(signal));
                }
                // The terminal has sent it to the command too.
                SIGINT | SIGQUIT if self.hold.settings.foreground => self.outcome.asked = Some(signal),
                SIGINT | SIGQUIT => {
                    self.outcome.asked = Some(signal);
                    self.ward.tell(Order::Signal(signal));
                }
                other => self.ward.tell(Order::Signal(other)),
            }
        }
    }

    /// Does the guardian's work. Whether nothing is left of the command.
    fn without_guardian(&mut self, stopper: &mut Stopper) -> bool {
        if matches!(self.guard, Guard::Guardian) {
            self.guard = if self.veto.is_held() {
                self.alone()
            } else {
                Guard::TakenOver
            };
            self.veto.drop_it();
            let goes_on = matches!(self.guard, Guard::Alone(_));
            self.hold.events.command("guardian_gone", json!({"goes_on": goes_on}));
            if !goes_on {
                // Its fuse has killed it, or somebody else.
                let deadline = self.hold.settings.timing.fuse_at(self.ward.reins().until());
                let why = if deadline <= boot_now() { "deadline" } else { "guardian" };
                self.outcome.lost.get_or_insert_with(|| why.to_owned());
            }
        }
        if matches!(self.guard, Guard::TakenOver) {
            self.ward.kill_tree();
        }
        let (ended, gone) = self.ward.reap();
        for (pid, how) in ended {
            if Some(pid) == self.root {
                self.outcome.ended = Some(how);
                // As the guardian does it: what is left has the grace.
                if !gone && matches!(self.guard, Guard::Alone(_)) {
                    self.ward.tree().signal(Signal::TERM);
                    stopper.asked(boot_now());
                }
            }
        }
        if gone {
            self.outcome.ended.get_or_insert(Ended::Killed(SIGKILL));
            self.hold.events.command("gone", json!({}));
            self.note_loss();
        }
        gone
    }

    /// The fuse is this process's from here on: its death still kills the command.
    fn alone(&self) -> Guard {
        let mut fuse = Fuse::without_timer();
        let raw = |pid: u32| i32::try_from(pid).unwrap_or(i32::MAX);
        let foreground = self.hold.settings.foreground;
        let groups = self.ward.tree().groups();
        let ours = raw(getpgrp().as_raw_nonzero().get().unsigned_abs());
        let covered = groups
            .into_iter()
            .map(raw)
            .filter(|group| *group != ours)
            .map(Covered::Group);
        let first = self.root.filter(|_| foreground).map(|pid| Covered::Process(raw(pid)));
        for whom in covered.chain(first) {
            if fuse.cover(whom).is_err() {
                return Guard::TakenOver;
            }
        }
        Guard::Alone(fuse)
    }
}
