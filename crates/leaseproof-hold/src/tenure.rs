//! One grant and its command, from the wait for the lease to the end of both.

use crate::events::Events;
use crate::run::{Outcome, Run};
use crate::settings::Settings;
use crate::signals::Signals;
use crate::tree::Ended;
use crate::wait::{drain, wait_for};
use crate::ward::Ward;
use crate::{BY_SIGNAL, FAILED, LOST, NOT_ACQUIRED, WRONG_CALL};
use leaseproof::{AcquireError, Event, Lease, Options, Policy};
use serde_json::json;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

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
    pub(crate) settings: Settings,
    pub(crate) signals: Signals,
    pub(crate) events: Arc<Events>,
    number: u64,
}

/// What the thread that renews said of the loss: its word, and the store's.
pub(crate) type LossSaid = Arc<Mutex<Option<(&'static str, String)>>>;

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
        let group = ward.cgroup().map(|path| path.display().to_string());
        self.events
            .command("guarded", json!({"guardian": ward.guardian(), "cgroup": group}));
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
        let Outcome {
            ended,
            failed,
            lost,
            asked,
        } = Run::new(self, &mut ward, &woken, &loss)?.until_its_end()?;
        // Nothing of the command is left: only now.
        ward.finish();
        let token = lease.token().0;
        if let Some(why) = lost.as_deref()
            && lease.permit().is_ok()
        {
            // The library has not said so: the command was stopped before the lease was over.
            self.events.given_up(token, why);
        }
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
        let store = self.settings.store.to_string();
        let asks_once = self.settings.wait == Some(Duration::ZERO);
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
                    // Who waits for another holder waits in silence; what may never end is said.
                    Event::Waiting { reason, held: false } if !asks_once => {
                        events.tell(&format!("the store {store}: {reason}; trying again"));
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
                        AcquireError::Budget(_) | AcquireError::Store(_) | AcquireError::Refused { .. } => WRONG_CALL,
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
