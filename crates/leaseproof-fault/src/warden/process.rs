//! The warden's own loop: hear, remember, watch the deadlines, and make good.

use super::protocol::{Header, JOURNAL_SCHEMA, Reply, Request};
use super::signals;
use super::wards::{Healed, Wards};
use crate::journal::Journal;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::ProcessId;
use leaseproof_proc::clock::boot_now;
use leaseproof_proc::identity;
use leaseproof_proc::pidfd::PidFd;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// A fault whose deadline has passed is undone again this often until the run clears it: a run that
/// hung in the middle of applying it may go on applying.
const AGAIN: Duration = Duration::from_millis(500);

/// How long the run may take to say who it is.
const INTRODUCTION: Duration = Duration::from_secs(60);

/// The warden's main. `args` are those after [`WORD`](super::WORD): the journal's directory. The
/// run is at the other end of standard input.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    signals::ignore();
    let Some(dir) = args.into_iter().next() else {
        return ExitCode::from(2);
    };
    match Guard::begin(PathBuf::from(dir)) {
        Ok(guard) => guard.watch(),
        Err(_) => ExitCode::FAILURE,
    }
}

struct Guard {
    run: PidFd,
    socket: UnixStream,
    heard: Vec<u8>,
    wards: Wards,
    journal: Journal,
    /// When each fault is to be undone next.
    due: BTreeMap<u64, BootNanos>,
    /// When a fault's deadline was first acted upon.
    fired: BTreeMap<u64, Moment>,
}

impl Guard {
    fn begin(dir: PathBuf) -> io::Result<Self> {
        let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        socket.set_read_timeout(Some(INTRODUCTION))?;
        let mut heard = Vec::new();
        let hello = loop {
            if let Some(request) = next_request(&mut heard)? {
                break request;
            }
            let mut chunk = [0; 512];
            match (&socket).read(&mut chunk)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                length => heard.extend_from_slice(&chunk[..length]),
            }
        };
        let Request::Hello { run, mark } = hello else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let warden = identity::me()?;
        let begun = PidFd::open(run).and_then(|run| {
            let journal = Journal::create(&dir, &header(run.id(), warden, &mark)?)?;
            Ok((run, journal))
        });
        let (run, journal) = match begun {
            Ok(begun) => begun,
            Err(error) => {
                let why = format!("journal in {}: {error}", dir.display());
                say(&socket, &Reply::Refused { why })?;
                return Err(error);
            }
        };
        socket.set_nonblocking(true)?;
        let ready = Reply::Ready {
            warden,
            journal: journal.path().to_owned(),
        };
        say(&socket, &ready)?;
        Ok(Self {
            wards: Wards::new(mark, run.id()),
            run,
            socket,
            heard,
            journal,
            due: BTreeMap::new(),
            fired: BTreeMap::new(),
        })
    }

    fn watch(mut self) -> ExitCode {
        loop {
            self.fire();
            if self.wait() {
                return self.finish();
            }
            let mut chunk = [0; 4096];
            match self.socket.read(&mut chunk) {
                Ok(0) => return self.finish(),
                Ok(length) => self.heard.extend_from_slice(&chunk[..length]),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(_) => return self.finish(),
            }
            loop {
                let reply = match next_request(&mut self.heard) {
                    Ok(None) => break,
                    Ok(Some(request)) => self.answer(&request),
                    Err(error) => Reply::Refused { why: error.to_string() },
                };
                if say(&self.socket, &reply).is_err() {
                    return self.finish();
                }
            }
        }
    }

    /// Waits for a word, the run's end or the next deadline; whether the run has ended.
    fn wait(&self) -> bool {
        let next = self.due.values().min().map(|due| due.since(boot_now()));
        // Looks up at least so often, since a poll counts a clock that stands still while the
        // machine is suspended.
        let timeout = next.unwrap_or(Duration::MAX).min(Duration::from_secs(1));
        let timeout = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(1),
            tv_nsec: i64::from(timeout.subsec_nanos()),
        };
        let mut fds = [
            PollFd::new(&self.socket, PollFlags::IN),
            PollFd::new(&self.run, PollFlags::IN),
        ];
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) => !fds[1].revents().is_empty(),
            Err(_) => self.run.has_ended(),
        }
    }

    fn fire(&mut self) {
        let now = boot_now();
        let due: Vec<u64> = self
            .due
            .iter()
            .filter(|(_, due)| **due <= now)
            .map(|(fault, _)| *fault)
            .collect();
        for fault in due {
            let before = boot_now();
            let _ = self.wards.undo(fault);
            let after = boot_now();
            self.fired.entry(fault).or_insert(Moment::between(before, after));
            self.due.insert(fault, after.plus(AGAIN));
        }
    }

    fn answer(&mut self, request: &Request) -> Reply {
        // Known before it is written, written before it is answered: what the run does after the
        // answer is always in a journal.
        if let Err(why) = self.wards.learn(request) {
            return Reply::Refused { why };
        }
        if let Err(error) = self.journal.write(request) {
            return Reply::Refused {
                why: format!("journal {}: {error}", self.journal.path().display()),
            };
        }
        match request {
            Request::Fault(ward) => {
                self.due.insert(ward.fault, ward.deadline);
                Reply::Known
            }
            Request::Extend { fault, .. } if self.fired.contains_key(fault) => Reply::Refused {
                why: format!("the hard deadline of fault {fault} has passed"),
            },
            Request::Clear { fault } => {
                self.due.remove(fault);
                Reply::Cleared {
                    fired: self.fired.remove(fault),
                }
            }
            Request::UndoAll => Reply::Healed {
                healed: self.undo_now(),
            },
            Request::EndAll => {
                let healed = self.wards.end_all();
                self.due.clear();
                Reply::Healed { healed }
            }
            Request::Hello { .. } => Reply::Refused {
                why: "we have met".to_owned(),
            },
            _ => Reply::Known,
        }
    }

    /// Every fault counts as fired now, and is watched until the run clears it.
    fn undo_now(&mut self) -> Vec<Healed> {
        let faults: Vec<u64> = self.wards.faults().map(|ward| ward.fault).collect();
        let mut healed = Vec::new();
        for fault in faults {
            let before = boot_now();
            healed.extend(self.wards.undo(fault));
            let after = boot_now();
            self.fired.entry(fault).or_insert(Moment::between(before, after));
            self.due.insert(fault, after.plus(AGAIN));
        }
        healed
    }

    fn finish(mut self) -> ExitCode {
        let mut healed = self.wards.end_all();
        healed.extend(self.wards.sweep());
        if healed.iter().any(|one| matches!(one, Healed::Failed(_))) {
            // The journal stays, for the next start.
            return ExitCode::FAILURE;
        }
        match self.journal.close(&self.wards) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        }
    }
}

fn header(run: ProcessId, warden: ProcessId, mark: &str) -> io::Result<Header> {
    Ok(Header {
        schema: JOURNAL_SCHEMA.to_owned(),
        boot_id: identity::boot_id()?,
        run,
        warden,
        mark: mark.to_owned(),
    })
}

/// Takes the first whole line out of what was heard.
fn next_request(heard: &mut Vec<u8>) -> io::Result<Option<Request>> {
    let Some(end) = heard.iter().position(|&byte| byte == b'\n') else {
        return Ok(None);
    };
    let line: Vec<u8> = heard.drain(..=end).collect();
    Ok(Some(serde_json::from_slice(&line)?))
}

/// An answer is far smaller than the socket's buffer and the run has one question open at a time, so
/// this doesn't block on a run that hangs.
fn say(mut socket: &UnixStream, reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    socket.write_all(&line)
}
