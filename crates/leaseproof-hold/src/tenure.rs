//! One grant and its command, from the wait for the lease to the end of both.

use crate::events::Events;
use crate::fuse::{Covered, Fuse};
use crate::message::{Order, Report};
use crate::settings::Settings;
use crate::signals::Signals;
use crate::timing::{Step, Stopper};
use crate::tree::Ended;
use crate::veto::Veto;
use crate::wait::{Alarm, drain, wait_for};
use crate::ward::Ward;
use crate::{BY_SIGNAL, FAILED, LOST, NOT_ACQUIRED, WRONG_CALL};
use leaseproof::{AcquireError, Event, Lease, Options, Policy, boot_now};
use leaseproof_model::clock::BootNanos;
use rustix::process::{Signal, getpgrp};
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// After a kill the guardian has so long to say that nothing is left; then its work is done without it.
const GUARDIAN_SAYS: Duration = Duration::from_secs(1);

/// How often a tree that was killed is looked at again.
const AGAIN: Duration = Duration::from_millis(20);

/// What comes after a tenure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Another one.
    Again,
    /// The end, with this exit status.
    With(u8),
}

/// Everything that outlives a tenure.
#[derive(Debug)]
pub struct Hold {
    settings: Settings,
    signals: Signals,
    events: Arc<Events>,
    number: u64,
}

/// What the thread that renews said of the loss: its word, and the store's.
type LossSaid = Arc<Mutex<Option<(&'static str, String)>>>;

impl Hold {
    /// Nothing is held yet.
    #[must_use]
    pub fn new(settings: Settings, signals: Signals, events: Events) -> Self {
        Self {
            settings,
            signals,
            events: Arc::new(events),
            number: 0,
        }
    }

    /// Waits for the lease, runs the command under it, gives it back once nothing of the command is left.
    pub fn tenure(&mut self) -> End {
        self.number += 1;
        match self.try_tenure() {
            Ok(end) => end,
            Err(error) => {
                self.events.complain(&error.to_string());
                End::With(FAILED)
            }
        }
    }

    /// Waits until everything that was said is written.
    pub fn flush(&self) {
        self.events.flush();
    }

    fn try_tenure(&mut self) -> io::Result<End> {
        let (woken, wakes) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        // Up before the lease is asked for: no command ever runs without it.
        let mut ward = Ward::start(&self.settings, self.number, wakes.try_clone()?)?;
        let loss: LossSaid = Arc::default();
        let lease = match self.acquire(&mut ward, &woken, wakes, &loss) {
            Ok(lease) => lease,
            Err(status) => {
                ward.end_guardian();
                ward.finish();
                return Ok(End::With(status));
            }
        };
        ward.start_command(lease.token().0, ward.reins().until());
        let veto = Veto::new(ward.guardian(), ward.reins().until());
        let mut run = Run {
            hold: self,
            ward: &mut ward,
            woken: &woken,
            loss: &loss,
            alarm: Alarm::new()?,
            root: None,
            ended: None,
            failed: None,
            lost: None,
            asked: None,
            guard: Guard::Guardian,
            veto,
        };
        run.to_its_end()?;
        if let Guard::Alone(fuse) = &mut run.guard {
            fuse.put_out()?;
        }
        let (ended, failed, lost, asked) = (run.ended, run.failed.take(), run.lost.take(), run.asked);
        // Nothing of the command is left: only now.
        ward.finish();
        let token = lease.token().0;
        let released = lease.release();
        if let Some((status, why)) = failed {
            let command = self
                .settings
                .command
                .first()
                .map(|it| it.to_string_lossy().into_owned());
            self.events.complain(&format!("{}: {why}", command.unwrap_or_default()));
            return Ok(End::With(status));
        }
        if let Some(lost) = lost {
            return Ok(self.after_loss(token, &lost, asked));
        }
        if let Err(error) = released {
            self.events.tell(&error.to_string());
        }
        Ok(End::With(match ended {
            Some(Ended::Exited(status)) => u8::try_from(status).unwrap_or(u8::MAX),
            Some(Ended::Killed(signal)) => BY_SIGNAL.saturating_add(u8::try_from(signal).unwrap_or(0)),
            None => FAILED,
        }))
    }

    fn after_loss(&self, token: u64, lost: &str, asked: Option<i32>) -> End {
        self.events.tell(&format!(
            "the lease {:?} was lost ({lost}); its command was stopped",
            self.settings.key
        ));
        if let Some(hook) = &self.settings.on_lost {
            let run = Command::new("/bin/sh")
                .args(["-c", hook])
                .env("LEASEPROOF_KEY", &self.settings.key)
                .env("LEASEPROOF_STORE", self.settings.store.to_string())
                .env("LEASEPROOF_TOKEN", token.to_string())
                .env("LEASEPROOF_LOST", lost)
                .status();
            match run {
                Ok(status) if status.success() => {}
                Ok(status) => self.events.complain(&format!("--on-lost ended with {status}")),
                Err(error) => self.events.complain(&format!("--on-lost can't be run: {error}")),
            }
        }
        if self.settings.restart && asked.is_none() {
            End::Again
        } else {
            End::With(LOST)
        }
    }

    /// Waits for the lease; the exit status where none came of it.
    fn acquire(&self, ward: &mut Ward, woken: &UnixStream, wakes: UnixStream, loss: &LossSaid) -> Result<Lease, u8> {
        let (reins, events, loss) = (ward.reins(), Arc::clone(&self.events), Arc::clone(loss));
        let mut options = Options::new(&self.settings.store, &self.settings.key, &self.settings.budget)
            // A lost answer is no reason to kill a command that may run on until the validity ends.
            .policy(Policy::Patient)
            .release_by_guard()
            .on_event(move |event| {
                // What stops the command comes before what tells of it.
                match event {
                    Event::Acquired { valid_until, .. } | Event::Renewed { valid_until, .. } => {
                        reins.extend(*valid_until);
                    }
                    Event::Lost { loss: why, reason, .. } => {
                        *loss.lock().unwrap_or_else(PoisonError::into_inner) = Some((why.as_str(), reason.clone()));
                        reins.cut();
                    }
                    _ => {}
                }
                events.lease(event);
            });
        if let Some(owner) = &self.settings.owner {
            options = options.owner(owner);
        }
        if let Some(wait) = self.settings.wait {
            options = options.wait_for(wait);
        }
        let waker = Waker::from(Arc::new(Bell(wakes)));
        let mut context = Context::from_waker(&waker);
        let mut acquiring = Box::pin(options.acquire_async());
        loop {
            match acquiring.as_mut().poll(&mut context) {
                Poll::Ready(Ok(lease)) => return Ok(lease),
                Poll::Ready(Err(error)) => {
                    self.events.complain(&error.to_string());
                    return Err(match error {
                        AcquireError::NotAcquired { .. } => NOT_ACQUIRED,
                        AcquireError::Budget(_) | AcquireError::Store(_) => WRONG_CALL,
                        _ => FAILED,
                    });
                }
                Poll::Pending => {}
            }
            wait_for(&[woken.as_fd(), self.signals.as_fd(), ward.line().as_fd()], None);
            drain(woken);
            if let Some(signal) = self.signals.pending().first() {
                return Err(BY_SIGNAL.saturating_add(u8::try_from(*signal).unwrap_or(0)));
            }
            ward.reports();
            if ward.is_gone() {
                self.events.complain("its guardian is gone");
                return Err(FAILED);
            }
        }
    }
}

/// Wakes the loop.
#[derive(Debug)]
struct Bell(UnixStream);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        use std::io::Write;
        let _ = (&self.0).write_all(b"b");
    }
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
struct Run<'a> {
    hold: &'a Hold,
    ward: &'a mut Ward,
    woken: &'a UnixStream,
    loss: &'a LossSaid,
    alarm: Alarm,
    root: Option<u32>,
    ended: Option<Ended>,
    failed: Option<(u8, String)>,
    /// Why it was stopped for the lease, if it was.
    lost: Option<String>,
    /// The signal that asked `hold` to end.
    asked: Option<i32>,
    guard: Guard,
    veto: Veto,
}

impl Run<'_> {
    /// Until nothing of the command is left.
    fn to_its_end(&mut self) -> io::Result<()> {
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
                        self.lost.get_or_insert_with(|| "deadline".to_owned());
                        self.ward.tree().signal(Signal::TERM);
                    }
                    continue;
                }
                Step::Wait(at) => at,
                Step::Kill => {
                    // Else it is the end of a grace, and somebody asked for that.
                    let over = self.hold.settings.timing.kill_at(self.ward.reins().until()) <= now;
                    if over || (self.asked.is_none() && self.ended.is_none()) {
                        self.lost.get_or_insert_with(|| "deadline".to_owned());
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
                    self.failed = Some((status, why));
                    return true;
                }
                Report::Fused(number) => self.veto.pipe(number),
                Report::Seen(until) => self.veto.seen(until),
                Report::Exited(status) => {
                    self.ended = Some(Ended::Exited(status));
                    events.command("exited", json!({"status": status}));
                }
                Report::Killed(signal) => {
                    self.ended = Some(Ended::Killed(signal));
                    events.command("ended", json!({"signal": signal}));
                }
                Report::Termed => {
                    self.lost.get_or_insert_with(|| "deadline".to_owned());
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
            self.lost = Some((*why).to_owned());
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
                    self.asked = Some(signal);
                    self.ward.tell(Order::Stop(signal));
                }
                // The terminal has sent it to the command too.
                SIGINT | SIGQUIT if self.hold.settings.foreground => self.asked = Some(signal),
                SIGINT | SIGQUIT => {
                    self.asked = Some(signal);
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
                self.lost.get_or_insert_with(|| "guardian".to_owned());
            }
        }
        if matches!(self.guard, Guard::TakenOver) {
            self.ward.kill_tree();
        }
        let (ended, gone) = self.ward.reap();
        for (pid, how) in ended {
            if Some(pid) == self.root {
                self.ended = Some(how);
                // As the guardian does it: what is left has the grace.
                if !gone && matches!(self.guard, Guard::Alone(_)) {
                    self.ward.tree().signal(Signal::TERM);
                    stopper.asked(boot_now());
                }
            }
        }
        if gone {
            self.ended.get_or_insert(Ended::Killed(SIGKILL));
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
