//! The process that holds: acquires, renews, notices the loss, releases.
//!
//! One thread and no timers but its own: each turn does one thing, so that after a pause the first
//! thing is always to look again. What makes it sound is short:
//!
//! - validity is counted from *before* a request was sent, on CLOCK_BOOTTIME, less the clocks' drift;
//! - a refusal by the store ends the belief, and so does the end of validity; an answer that nobody
//!   heard never extends it;
//! - after a pause the store is asked once more before the lease is given up, since it may still be
//!   granted; nothing is claimed whose validity has passed;
//! - the worker is told before anyone else that the lease is lost, and after everyone else that it
//!   was acquired.

mod release;

use crate::belief::{Belief, Sent};
use crate::child::Child;
use crate::flaw::Flaw;
use crate::flawed::Flawed;
use crate::link::{Got, Stale, State};
use crate::say::Say;
use crate::settings::Settings;
use crate::signals::Signals;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Outcome, OwnerEvent};
use leaseproof_model::name::{HolderId, Token};
use leaseproof_proc::clock::boot_now;
use leaseproof_store::{Done, Grant, Lease, open_lease};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::time::Duration;

/// The longest sleep at a time: a sleep of the whole machine is noticed at its end.
const SLICE: Duration = Duration::from_millis(100);

/// The token that a ghost grant claims: beyond anything that a counter has reached in a run, and beyond a
/// ZooKeeper that has changed its leader often, which counts from 2^32 on with each.
const GHOST_TOKEN: u64 = 1 << 52;

/// The exit status after the lease was lost, where that ends the process.
const LOST: u8 = 1;

/// Holds until it is asked to release.
///
/// # Errors
/// When it can't start, or its worker ended by itself.
pub fn run(settings: Settings) -> Result<u8, String> {
    let signals = Signals::take().map_err(|error| format!("failed to take over signals: {error}"))?;
    let lease = open_lease(&settings.store, settings.renew_timeout).map_err(|error| error.to_string())?;
    let flawed = match settings.flaw {
        Some(
            flaw @ (Flaw::BlindRenew
            | Flaw::Revive
            | Flaw::BlindRelease
            | Flaw::NoTtl
            | Flaw::TwoStepAcquire
            | Flaw::TokenReused),
        ) => Some(Flawed::open(&settings.store, flaw)?),
        _ => None,
    };
    let worker = match &settings.resource {
        Some(_) => Some(Child::start(&settings)?),
        None => None,
    };
    Holder {
        settings,
        signals,
        lease,
        flawed,
        worker,
        belief: None,
        held_before: false,
        said_waiting: false,
        attempt: 0,
        looked: boot_now(),
        planned: Duration::ZERO,
        away: Duration::ZERO,
    }
    .run()
}

struct Holder {
    settings: Settings,
    signals: Signals,
    lease: Box<dyn Lease>,
    flawed: Option<Flawed>,
    worker: Option<Child>,
    belief: Option<Belief>,
    held_before: bool,
    said_waiting: bool,
    attempt: u64,
    looked: BootNanos,
    planned: Duration,
    /// By how much the last turn took longer than it meant to.
    away: Duration,
}

impl Holder {
    fn run(mut self) -> Result<u8, String> {
        loop {
            if self.signals.asked() {
                self.end();
                return Ok(0);
            }
            let now = boot_now();
            self.away = now.since(self.looked).saturating_sub(self.planned);
            self.looked = now;
            self.planned = Duration::ZERO;
            let held = self.belief.is_some();
            self.hear()?;
            match self.belief {
                Some(_) => self.hold(),
                None => self.acquire(),
            }
            if held && self.belief.is_none() && self.settings.exit_on_loss {
                self.stop_worker();
                return Ok(LOST);
            }
        }
    }

    fn has(&self, flaw: Flaw) -> bool {
        self.settings.has(flaw)
    }

    /// Takes what the worker said.
    fn hear(&mut self) -> Result<(), String> {
        loop {
            let Some(worker) = &mut self.worker else { return Ok(()) };
            worker.tell_again();
            match worker.link.stale() {
                Got::Message(Stale(token)) => {
                    if self.belief.as_ref().is_some_and(|belief| belief.grant.token == token) {
                        self.lose("stale fence");
                    }
                }
                Got::Nothing => return Ok(()),
                Got::End => {
                    // Nobody works any more: another should have the lease.
                    self.end();
                    return Err("the worker ended by itself; the lease was given up".to_owned());
                }
            }
        }
    }

    /// One turn of waiting for the lease.
    fn acquire(&mut self) {
        if self.has(Flaw::GhostGrant) && self.away > self.settings.ttl / 2 {
            self.claim_ghost();
            return;
        }
        let sent = Sent::now();
        let (key, owner) = (&self.settings.key, &self.settings.owner);
        let (ttl, timeout) = (self.settings.ttl, self.settings.renew_timeout);
        let done = match (&self.flawed, self.settings.flaw) {
            (Some(flawed), Some(Flaw::NoTtl)) => flawed.acquire_without_ttl(key, owner, timeout),
            (Some(flawed), Some(Flaw::TwoStepAcquire)) => flawed.acquire_in_two_steps(key, owner, ttl, timeout),
            (Some(flawed), Some(Flaw::TokenReused)) => flawed.acquire_with_old_token(key, owner, ttl, timeout),
            _ => self.lease.acquire(key, owner, ttl, timeout),
        };
        if let Some(grant) = done.value {
            self.begin(grant, sent, false);
            return;
        }
        if done.outcome == Outcome::Unknown {
            // If it was applied after all, that grant is nobody's and ends by its TTL.
            self.lease.reconnect();
        }
        if !self.said_waiting {
            self.said_waiting = true;
            Say::now(OwnerEvent::Waiting)
                .with("reason", done.reason)
                .with("thread", Some("holder"))
                .out();
        }
        let nap = self.settings.heartbeat / 4;
        self.wait(nap.clamp(Duration::from_millis(5), Duration::from_millis(250)));
    }

    fn begin(&mut self, grant: Grant, sent: Sent, ghost: bool) {
        let until = sent.until(&self.settings);
        let now = boot_now();
        // A pause between request and answer can use the whole TTL up.
        if until.is_over() {
            return;
        }
        Say::at(OwnerEvent::Acquired, now)
            .token(self.said_token(grant.token))
            .until(until)
            .with("grant", Some(grant.holder.as_str()))
            .with("thread", Some("holder"))
            .out();
        self.said_waiting = false;
        self.held_before = true;
        let token = grant.token;
        self.belief = Some(Belief {
            grant,
            asked: sent.boot,
            until,
            due: sent.due(&self.settings),
            ghost,
        });
        self.tell(State::Held { token, until });
    }

    /// The flaw of a waiter that takes its place in the queue for the lease itself.
    fn claim_ghost(&mut self) {
        let grant = Grant {
            key: self.settings.key.clone(),
            holder: HolderId::from(format!("{}#ghost", self.settings.owner)),
            token: Token(GHOST_TOKEN),
        };
        self.begin(grant, Sent::now(), true);
    }

    /// One turn of holding it.
    fn hold(&mut self) {
        let Some(belief) = &self.belief else { return };
        let (due, until) = (belief.due, belief.until);
        let bound = self.settings.renew_timeout + self.settings.heartbeat / 4;
        if self.has(Flaw::FalseLoss) && self.away > bound {
            self.lose("paused");
        } else if due.is_over() && !belief.ghost {
            // Also when validity has passed in a pause: the store may still grant it, and it is the
            // store that knows. The worker has a deadline of its own meanwhile.
            self.renew();
        } else if until.is_over() {
            if self.has(Flaw::LateNotice) {
                self.say_failed(None, "noticed late", true);
            }
            self.lose("validity has passed");
        } else {
            let due = if belief.ghost { Duration::MAX } else { due.left() };
            self.wait(due.min(until.left()));
        }
    }

    fn renew(&mut self) {
        let sent = Sent::now();
        let due = sent.due(&self.settings);
        self.attempt += 1;
        let Some(belief) = &mut self.belief else { return };
        belief.due = due;
        if self.settings.has(Flaw::NoTtl) {
            return;
        }
        if self.settings.has(Flaw::ClaimsUnrenewed) {
            self.extend(sent);
            return;
        }
        let quiet = matches!(self.settings.flaw, Some(Flaw::SilentRetain | Flaw::LateNotice));
        if !quiet {
            Say::at(OwnerEvent::RenewSent, sent.boot)
                .token((!self.settings.has(Flaw::NoToken)).then_some(belief.grant.token))
                .with("attempt", Some(self.attempt))
                .with("thread", Some("holder"))
                .out();
        }
        // Not beyond the validity that is left: the loss must not be noticed late.
        let left = belief.until.left();
        let timeout = if left.is_zero() {
            self.settings.renew_timeout
        } else {
            left.min(self.settings.renew_timeout).max(Duration::from_millis(10))
        };
        let ttl = self.settings.ttl;
        let done = match (&self.flawed, self.settings.flaw) {
            (Some(flawed), Some(Flaw::BlindRenew)) => flawed.renew_blindly(&belief.grant.key, ttl, timeout),
            (Some(flawed), Some(Flaw::Revive)) => flawed.revive(&belief.grant, belief.asked, ttl, timeout),
            _ => self.lease.renew(&belief.grant, ttl, timeout),
        };
        match done.outcome {
            Outcome::Applied if self.settings.has(Flaw::ValidityFromAnswer) => {
                let answered = Sent::now();
                belief.due = answered.due(&self.settings);
                self.extend(answered);
            }
            Outcome::Applied => self.extend(sent),
            Outcome::NotApplied if done.is_refused() => self.refused(sent, &done),
            Outcome::NotApplied | Outcome::Unknown => self.unanswered(sent, &done),
        }
    }

    /// A renewal was applied: counted from before it was sent.
    fn extend(&mut self, sent: Sent) {
        let until = sent.until(&self.settings);
        let now = boot_now();
        // An answer that was waiting through a pause may be about a grant that is over by now.
        if until.is_over() {
            self.lose("validity has passed");
            return;
        }
        let attempt = self.attempt;
        let Some(belief) = &mut self.belief else { return };
        belief.until = until;
        let token = belief.grant.token;
        let holder = belief.grant.holder.clone();
        Say::at(OwnerEvent::Renewed, now)
            .token(self.said_token(token))
            .until(until)
            .with("attempt", Some(attempt))
            .with("grant", Some(holder.as_str()))
            .with("thread", Some("holder"))
            .out();
        self.tell(State::Held { token, until });
    }

    /// The store said that this grant does not hold.
    fn refused(&mut self, sent: Sent, done: &Done<()>) {
        let reason = done.reason.clone().unwrap_or_default();
        match self.settings.flaw {
            Some(Flaw::SilentRetain | Flaw::LateNotice) => {}
            Some(Flaw::SwallowFailure) => {
                self.say_failed(Some(self.attempt), &reason, true);
                self.go_on(sent);
            }
            _ => {
                self.say_failed(Some(self.attempt), &reason, true);
                self.lose(&reason);
            }
        }
    }

    /// Nobody knows whether the renewal was applied: the belief is not extended, and soon asked
    /// about again on a new connection.
    fn unanswered(&mut self, sent: Sent, done: &Done<()>) {
        let reason = done.reason.clone().unwrap_or_default();
        self.lease.reconnect();
        let soon = (self.settings.heartbeat / 4).min(Duration::from_millis(100));
        let again = Sent::now().after(&self.settings, soon);
        if let Some(belief) = &mut self.belief {
            belief.due = again;
        }
        match self.settings.flaw {
            Some(Flaw::SilentRetain | Flaw::LateNotice) => {}
            Some(Flaw::SwallowFailure) => {
                self.say_failed(Some(self.attempt), &reason, false);
                self.go_on(sent);
            }
            _ => self.say_failed(Some(self.attempt), &reason, false),
        }
    }

    /// The flaw of treating a failure as a success.
    fn go_on(&mut self, sent: Sent) {
        let (until, due) = (sent.until(&self.settings), sent.due(&self.settings));
        let Some(belief) = &mut self.belief else { return };
        belief.until = until;
        belief.due = due;
        let token = belief.grant.token;
        self.tell(State::Held { token, until });
    }

    fn say_failed(&self, attempt: Option<u64>, reason: &str, definite: bool) {
        let token = self.belief.as_ref().map(|belief| belief.grant.token);
        Say::now(OwnerEvent::RenewFailed)
            .token(token.and_then(|token| self.said_token(token)))
            .with("attempt", attempt)
            .reason(reason)
            .with("definite", Some(definite))
            .with("thread", Some("holder"))
            .out();
    }

    fn lose(&mut self, reason: &str) {
        // The worker first: it must not begin a write after the loss was said.
        self.tell(State::Idle);
        let Some(belief) = self.belief.take() else { return };
        Say::now(OwnerEvent::Lost)
            .token(self.said_token(belief.grant.token))
            .reason(reason)
            .with("grant", Some(belief.grant.holder.as_str()))
            .with("thread", Some("holder"))
            .out();
        self.release_blindly();
    }

    fn said_token(&self, token: Token) -> Option<Token> {
        (!self.has(Flaw::NoToken)).then_some(token)
    }

    fn tell(&mut self, state: State) {
        if let Some(worker) = &mut self.worker {
            worker.tell(state);
        }
    }

    /// Waits for `span` at most, or until something is to be seen.
    fn wait(&mut self, span: Duration) {
        let span = span.min(SLICE);
        self.planned += span;
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: i64::from(span.subsec_nanos()),
        };
        let mut fds = vec![PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN)];
        if let Some(worker) = &self.worker {
            fds.push(PollFd::from_borrowed_fd(worker.link.fd(), PollFlags::IN));
        }
        // Interrupted or not: the next turn looks again.
        let _ = poll(&mut fds, Some(&timeout));
    }
}
