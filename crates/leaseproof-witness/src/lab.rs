//! The lab's end of the socket: sends commands and waits for their answers, hands on what was seen.

use crate::message::{Command, Order, Report};
use crate::witness::{Seen, Sink, WitnessError};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::What;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{OwnerName, Token};
use leaseproof_model::scenario::WitnessMode;
use leaseproof_proc::clock::stamp_now;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long the server may take to carry out a command: far more than a busy host needs.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// So many writes of one owner are handed on; the fence decides the others, too, and they are counted.
pub const KEPT_WRITES: u64 = 20_000;

/// What the witness's users and its reader share.
#[derive(Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// What is known of the server.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) control: Option<UnixStream>,
    pub(crate) generation: u64,
    pub(crate) next_command: u64,
    pub(crate) done: u64,
    pub(crate) ready: Option<Option<Token>>,
    pub(crate) ended: Option<String>,
    pub(crate) next_hold: u64,
    pub(crate) held: BTreeMap<u64, Moment>,
    pub(crate) serial: u64,
    pub(crate) mode: Option<WitnessMode>,
    pub(crate) owners: Vec<(String, OwnerName)>,
    /// The greatest token that the lab itself wrote with.
    pub(crate) lab_wrote: Option<Token>,
    pub(crate) kept: BTreeMap<OwnerName, Kept>,
}

/// What is kept of one owner's writes.
#[derive(Default)]
pub(crate) struct Kept {
    /// How many were handed on.
    pub(crate) writes: u64,
    /// How many were not.
    pub(crate) dropped: u64,
    /// When the first of those arrived.
    pub(crate) dropped_since: Option<BootNanos>,
}

impl Kept {
    fn drop_one(&mut self, at: Moment) {
        self.dropped += 1;
        self.dropped_since.get_or_insert(at.earliest);
    }

    /// Whether one more write may be handed on.
    fn takes(&mut self, at: Moment) -> bool {
        if self.writes < KEPT_WRITES {
            self.writes += 1;
            return true;
        }
        self.drop_one(at);
        false
    }
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `found` finds something.
    pub(crate) fn wait<T>(
        &self,
        mut state: MutexGuard<'_, State>,
        timeout: Duration,
        mut found: impl FnMut(&State) -> Option<T>,
    ) -> Result<T, WitnessError> {
        let until = Instant::now() + timeout;
        loop {
            if let Some(it) = found(&state) {
                return Ok(it);
            }
            if let Some(why) = &state.ended {
                return Err(WitnessError::Ended(why.clone()));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(WitnessError::Silent);
            }
            state = self
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    pub(crate) fn order(&self, order: Order) -> Result<(), WitnessError> {
        let mut state = self.lock();
        state.next_command += 1;
        let number = state.next_command;
        let mut line =
            serde_json::to_vec(&Command { number, order }).map_err(|error| WitnessError::Ended(error.to_string()))?;
        line.push(b'\n');
        let Some(control) = &mut state.control else {
            return Err(WitnessError::Ended("it was stopped".to_owned()));
        };
        control
            .write_all(&line)
            .map_err(|error| WitnessError::Ended(error.to_string()))?;
        self.wait(state, ANSWER_TIMEOUT, |state| (state.done >= number).then_some(()))
    }

    /// Whether this is handed on: a flood of writes costs memory, so they are counted from some number on.
    fn keeps(&self, at: Moment, owner: Option<&OwnerName>, what: &What) -> bool {
        let mut state = self.lock();
        match what {
            What::Write(write) => state.serial = write.serial,
            What::Fill(_) => {}
            _ => return true,
        }
        owner.is_none_or(|owner| state.kept.entry(owner.clone()).or_default().takes(at))
    }

    /// Reads reports until the server ends.
    pub(crate) fn listen(&self, control: UnixStream, generation: u64, sink: &Sink) {
        let mut why = "its socket was closed".to_owned();
        for line in BufReader::new(control).lines() {
            let report = match line.map(|line| serde_json::from_str::<Report>(&line)) {
                Ok(Ok(report)) => report,
                // A line torn by the server's death.
                Ok(Err(_)) | Err(_) => break,
            };
            match report {
                Report::Saw { at, owner, what } => {
                    if self.keeps(at, owner.as_ref(), &what) {
                        let stamp = stamp_now();
                        sink(Seen { at, stamp, owner, what });
                    }
                }
                Report::Lost { at, owner } => self.lock().kept.entry(owner).or_default().drop_one(at),
                Report::Ready { highest } => self.lock().ready = Some(highest),
                Report::Done { number } => self.lock().done = number,
                Report::Held { hold, at } => {
                    self.lock().held.insert(hold, at);
                }
                Report::Failed { why: said } => why = said,
            }
            self.changed.notify_all();
        }
        let mut state = self.lock();
        if state.generation == generation {
            state.ended = Some(why);
        }
        drop(state);
        self.changed.notify_all();
    }
}
