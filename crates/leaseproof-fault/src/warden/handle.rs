//! The run's end of the warden.

use super::protocol::{Reply, Request, Undo, Ward};
use super::{Healed, Traces, WORD, signals};
use crate::torture_points::{self, reach};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::ProcessId;
use leaseproof_proc::clock::boot_now;
use leaseproof_proc::identity;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, thread};
use thiserror::Error;

/// How long the warden may take to answer. It answers in microseconds; on a machine that is busy to
/// the brim it has to get its turn first.
const ANSWER: Duration = Duration::from_secs(20);

/// How long ending everything may take.
const ENDING: Duration = Duration::from_secs(60);

/// Why the warden can't be relied upon. A run that gets one of these must not apply a fault.
#[derive(Debug, Error)]
pub enum WardenError {
    /// It did not start.
    #[error("failed to start the warden: {0}")]
    Start(io::Error),
    /// It is gone, or does not answer.
    #[error("the warden does not answer: {0}")]
    Silent(io::Error),
    /// It refused.
    #[error("the warden refused: {0}")]
    Refused(String),
}

/// A running warden. Clones share it; when the last one is dropped, it undoes all, ends the owners
/// and exits.
#[derive(Clone, Debug)]
pub struct Warden {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    process: ProcessId,
    mark: String,
    journal: PathBuf,
    next_fault: AtomicU64,
    line: Mutex<Line>,
    child: Mutex<Child>,
}

/// The one connection. A request that got no answer breaks it for good: the next answer could
/// belong to the last question.
#[derive(Debug)]
struct Line {
    socket: Option<BufReader<UnixStream>>,
}

impl Warden {
    /// Starts it and waits until it has answered. `dir` gets its journal, is made where it isn't
    /// there (mode 0700), and must be the same at the next start, which heals from it.
    ///
    /// # Errors
    /// When it can't be started or does not answer.
    pub fn start(dir: &Path) -> Result<Self, WardenError> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .map_err(|error| WardenError::Start(io::Error::new(error.kind(), format!("{}: {error}", dir.display()))))?;
        let dir = dir.canonicalize().map_err(WardenError::Start)?;
        let (ours, theirs) = UnixStream::pair().map_err(WardenError::Start)?;
        let run = identity::me().map_err(WardenError::Start)?;
        let mark = identity::new_mark().map_err(WardenError::Start)?;
        // Our own binary, also when its file was replaced since.
        let mut command = Command::new("/proc/self/exe");
        signals::apart(&mut command);
        let child = command
            .arg(WORD)
            .arg(&dir)
            .env_remove(torture_points::VARIABLE)
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(WardenError::Start)?;
        reach(torture_points::WARDEN_STARTING);
        let mut line = Line {
            socket: Some(BufReader::new(ours)),
        };
        let hello = Request::Hello {
            run,
            mark: mark.clone(),
        };
        let (process, journal) = match line.ask(&hello, ANSWER)? {
            Reply::Ready { warden, journal } => (warden, journal),
            other => return Err(unexpected(other)),
        };
        Ok(Self {
            shared: Arc::new(Shared {
                process,
                mark,
                journal,
                next_fault: AtomicU64::new(1),
                line: Mutex::new(line),
                child: Mutex::new(child),
            }),
        })
    }

    /// The warden's process.
    #[must_use]
    pub fn process(&self) -> ProcessId {
        self.shared.process
    }

    /// What the run's processes carry in their environment.
    #[must_use]
    pub fn mark(&self) -> &str {
        &self.shared.mark
    }

    /// The journal's file.
    #[must_use]
    pub fn journal(&self) -> &Path {
        &self.shared.journal
    }

    /// A number for the next fault, unique in the run.
    #[must_use]
    pub fn next_fault(&self) -> u64 {
        self.shared.next_fault.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether it answers.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.known(&Request::Ping).is_ok()
    }

    /// Undoes every fault that is in force (Ctrl-Z). The guards stay valid, and say at their end
    /// that the warden came first.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn undo_all(&self) -> Result<Vec<Healed>, WardenError> {
        self.healed(&Request::UndoAll)
    }

    /// Undoes every fault, ends every owner with its tree and removes their control groups.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn end_all(&self) -> Result<Vec<Healed>, WardenError> {
        self.healed(&Request::EndAll)
    }

    /// Tells it what the run is about to make in a store: if the run is killed, files go with it, and the
    /// names of keys are kept for [`journal::left_in_stores`](crate::journal::left_in_stores).
    ///
    /// # Errors
    /// When it does not answer.
    pub fn made(&self, traces: Traces) -> Result<(), WardenError> {
        self.known(&Request::Made(traces))
    }

    /// Says that a folder is about to be made which nobody needs once the run is over: it is removed then,
    /// with all that is in it, should the run not do so itself. `path` is absolute.
    ///
    /// # Errors
    /// When it does not answer; then the folder must not be made.
    pub fn folder(&self, path: &Path) -> Result<(), WardenError> {
        self.known(&Request::Folder { path: path.to_owned() })
    }

    /// Tells it that what was made for this key (the first of its [`Traces`]) is gone from the store.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn swept(&self, key: &str) -> Result<(), WardenError> {
        self.known(&Request::Swept { key: key.to_owned() })
    }

    pub(crate) fn cgroup(&self, path: &Path) -> Result<(), WardenError> {
        self.known(&Request::Cgroup { path: path.to_owned() })
    }

    pub(crate) fn owner(&self, root: ProcessId, cgroup: Option<&Path>) -> Result<(), WardenError> {
        self.known(&Request::Owner {
            root,
            cgroup: cgroup.map(Path::to_owned),
        })
    }

    pub(crate) fn owner_gone(&self, root: ProcessId) -> Result<(), WardenError> {
        self.known(&Request::OwnerGone { root })
    }

    pub(crate) fn register(&self, fault: u64, hold: Duration, undo: Undo) -> Result<(), WardenError> {
        self.known(&Request::Fault(Ward {
            fault,
            deadline: boot_now().plus(hold),
            undo,
        }))?;
        reach(torture_points::REGISTERED);
        Ok(())
    }

    pub(crate) fn extend(&self, fault: u64, processes: Vec<ProcessId>) -> Result<(), WardenError> {
        self.known(&Request::Extend { fault, processes })
    }

    /// Tells it that a fault is undone. Answers when its deadline came first.
    pub(crate) fn clear(&self, fault: u64) -> Result<Option<Moment>, WardenError> {
        match self.ask(&Request::Clear { fault }, ANSWER)? {
            Reply::Cleared { fired } => Ok(fired),
            other => Err(unexpected(other)),
        }
    }

    fn known(&self, request: &Request) -> Result<(), WardenError> {
        match self.ask(request, ANSWER)? {
            Reply::Known => Ok(()),
            other => Err(unexpected(other)),
        }
    }

    fn healed(&self, request: &Request) -> Result<Vec<Healed>, WardenError> {
        match self.ask(request, ENDING)? {
            Reply::Healed { healed } => Ok(healed),
            other => Err(unexpected(other)),
        }
    }

    fn ask(&self, request: &Request, timeout: Duration) -> Result<Reply, WardenError> {
        let mut line = self.shared.line.lock().unwrap_or_else(PoisonError::into_inner);
        line.ask(request, timeout)
    }
}

impl Line {
    fn ask(&mut self, request: &Request, timeout: Duration) -> Result<Reply, WardenError> {
        let Some(socket) = self.socket.as_mut() else {
            return Err(WardenError::Silent(io::ErrorKind::NotConnected.into()));
        };
        let answer = exchange(socket, request, timeout);
        if answer.is_err() {
            self.socket = None;
        }
        answer.map_err(WardenError::Silent)
    }
}

fn exchange(socket: &mut BufReader<UnixStream>, request: &Request, timeout: Duration) -> io::Result<Reply> {
    socket.get_ref().set_read_timeout(Some(timeout))?;
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    socket.get_mut().write_all(&line)?;
    line.clear();
    if socket.read_until(b'\n', &mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_slice(&line)?)
}

fn unexpected(reply: Reply) -> WardenError {
    match reply {
        Reply::Refused { why } => WardenError::Refused(why),
        other => WardenError::Refused(format!("it answered {other:?}")),
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        reach(torture_points::FINISHING);
        // The end of the line is its signal to undo all and leave.
        self.line.get_mut().unwrap_or_else(PoisonError::into_inner).socket = None;
        let child = self.child.get_mut().unwrap_or_else(PoisonError::into_inner);
        let deadline = Instant::now() + ENDING;
        while Instant::now() < deadline {
            match child.try_wait() {
                Ok(None) => thread::sleep(Duration::from_millis(2)),
                _ => return,
            }
        }
    }
}
