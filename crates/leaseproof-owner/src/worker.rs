//! The process that works: it writes while the grant is valid, checked at the moment of each write.
//!
//! It has a deadline of its own, since the holder may be stopped: what it was told last ends by the
//! clock, and nobody has to say so.

use crate::flaw::Flaw;
use crate::link::{Got, Link, Stale, State};
use crate::resource::{Answer, Resource};
use crate::say::Say;
use crate::settings::Settings;
use crate::signals::Signals;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::OwnerEvent;
use leaseproof_model::name::Token;
use leaseproof_proc::clock::boot_now;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::time::Duration;

/// Works until the holder says stop or is gone.
///
/// # Errors
/// When it can't start.
pub fn run(settings: &Settings) -> Result<u8, String> {
    // Only the holder ends it: a Ctrl-C that reaches both must not end the work before the release.
    let _signals = Signals::take().map_err(|error| format!("failed to take over signals: {error}"))?;
    let link = Link::from_stdin().map_err(|error| format!("failed to reach the holder: {error}"))?;
    let url = settings.resource.as_deref().ok_or("a worker needs a resource")?;
    let timeout = settings.heartbeat.max(Duration::from_millis(500));
    let mut worker = Worker {
        resource: Resource::new(url, &settings.owner, timeout)?,
        settings,
        link,
        state: State::Idle,
        refused: true,
        stale: None,
    };
    worker.work();
    Ok(0)
}

struct Worker<'a> {
    settings: &'a Settings,
    link: Link,
    resource: Resource,
    state: State,
    /// Whether the present loss was said already.
    refused: bool,
    /// The token that the resource called stale.
    stale: Option<Token>,
}

impl Worker<'_> {
    fn work(&mut self) {
        let mut due = boot_now();
        loop {
            if !self.listen() {
                return;
            }
            let wait = due.since(boot_now());
            if !wait.is_zero() {
                self.wait(wait);
                continue;
            }
            // The connection comes first, so that nothing lies between the check and the write.
            let reached = matches!(self.state, State::Idle) || self.resource.connect().is_ok();
            if !self.listen() {
                return;
            }
            // Read before the check: whoever was stopped in between believed then, and not later.
            let checked = boot_now();
            match self.permit() {
                Some(token) if reached => {
                    self.write(token, checked);
                    if self.settings.fill_cache {
                        self.fill();
                    }
                }
                Some(_) => {}
                None => self.refuse("lock not held"),
            }
            // Missed writes are not made up in a burst.
            due = boot_now().plus(self.settings.write_interval);
        }
    }

    /// Takes what the holder said; false when it is over.
    fn listen(&mut self) -> bool {
        loop {
            match self.link.state() {
                Got::Message(State::Stop) | Got::End => return false,
                Got::Message(state) => {
                    if matches!(state, State::Held { .. }) {
                        self.refused = false;
                    }
                    self.state = state;
                }
                Got::Nothing => return true,
            }
        }
    }

    fn wait(&self, span: Duration) {
        // In slices, so that a sleep of the whole machine is noticed.
        let span = span.min(Duration::from_millis(100));
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: i64::from(span.subsec_nanos()),
        };
        // Interrupted or not: the caller looks again.
        let _ = poll(
            &mut [PollFd::from_borrowed_fd(self.link.fd(), PollFlags::IN)],
            Some(&timeout),
        );
    }

    /// The token to write with, if a write may begin now.
    fn permit(&self) -> Option<Token> {
        let State::Held { token, until } = self.state else {
            return None;
        };
        let told_is_enough = self.settings.has(Flaw::OrphanWorker);
        (self.stale != Some(token) && (told_is_enough || !until.is_over())).then_some(token)
    }

    fn write(&mut self, token: Token, checked: BootNanos) {
        let sent = (!self.settings.has(Flaw::NoToken)).then_some(token);
        if self.settings.say_writes {
            Say::at(OwnerEvent::Write, checked)
                .token(sent)
                .with("thread", Some("worker"))
                .out();
        }
        // An error leaves the write unknown; it is not repeated, the next one is a new write.
        if let Ok(Answer::Stale) = self.resource.write(sent)
            && !self.settings.has(Flaw::SilentRetain)
        {
            self.stale = Some(token);
            self.refused = false;
            self.refuse("stale fence");
            self.link.tell_stale(Stale(token));
        }
    }

    /// Reads the value, and stores it in the cache. It needs no lease for that, and asks for none: what keeps a value
    /// out that is not the newest any more is the version that came with it.
    fn fill(&mut self) {
        let read = self.resource.connect().and_then(|()| self.resource.read());
        let Ok(value) = read else { return };
        let version = value.version.filter(|_| !self.settings.has(Flaw::FillUnversioned));
        if self.resource.connect().is_ok() {
            // Refused or not: the next one is read anew.
            let _ = self.resource.fill(value.number, version);
        }
    }

    /// Says once a loss that a write was refused.
    fn refuse(&mut self, reason: &str) {
        if !self.refused {
            self.refused = true;
            Say::now(OwnerEvent::WriteRefused)
                .reason(reason)
                .with("thread", Some("worker"))
                .out();
        }
    }
}
