//! The lab's side: starts a server, tells it what to do, hands on what it saw.

use crate::fence::WitnessFlaw;
use crate::hold::HoldHandle;
use crate::lab::{ANSWER_TIMEOUT, Kept, Shared};
use crate::message::{Hello, Holds, Order};
use crate::request::REPLAY;
use crate::server;
use leaseproof_model::clock::{BootNanos, Stamp};
use leaseproof_model::event::{Coverage, Source, What};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{OwnerName, Token};
use leaseproof_model::scenario::WitnessMode;
use leaseproof_proc::clock::boot_now;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Program, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// One thing that the witness saw; the lab gives it its number and its cycle.
#[derive(Clone, Debug)]
pub struct Seen {
    /// When.
    pub at: Moment,
    /// The clocks when it was handed on.
    pub stamp: Stamp,
    /// Whose write.
    pub owner: Option<OwnerName>,
    /// What.
    pub what: What,
}

/// Takes what the witness saw, in its serial order. It is called from the reading thread, so it must
/// not call the witness.
pub type Sink = Arc<dyn Fn(Seen) + Send + Sync>;

/// Where the server runs.
#[derive(Clone, Debug, Default)]
pub enum Place {
    /// In a thread of this process.
    #[default]
    Thread,
    /// In a process of its own, which can be killed: `program` with the argument `__witness`, which
    /// must call [`server::main`].
    Process {
        /// The program; usually the running binary itself.
        program: PathBuf,
    },
}

/// What a witness is started with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// A folder for its high-water mark.
    pub dir: PathBuf,
    /// How writes are treated at first.
    pub mode: WitnessMode,
    /// How it is broken, in tests.
    pub flaw: Option<WitnessFlaw>,
    /// Where it runs.
    pub place: Place,
}

/// Why the witness can't do what it was told.
#[derive(Debug, thiserror::Error)]
pub enum WitnessError {
    /// The system refused something.
    #[error("failed to {doing}: {source}")]
    Io {
        /// What it was doing.
        doing: &'static str,
        /// The system's words.
        source: io::Error,
    },
    /// It ended.
    #[error("the witness ended: {0}")]
    Ended(String),
    /// It doesn't answer.
    #[error("the witness did not answer within {ANSWER_TIMEOUT:?}: the host is overloaded")]
    Silent,
    /// Only a process can be killed.
    #[error("this witness is a thread: start it as a process to be able to kill it")]
    NotAProcess,
}

fn io_error(doing: &'static str) -> impl FnOnce(io::Error) -> WitnessError {
    move |source| WitnessError::Io { doing, source }
}

/// A running witness; dropping it ends it.
pub struct Witness {
    setup: Setup,
    address: SocketAddr,
    began: BootNanos,
    /// Kept open, so that the port stays ours while a killed server is started again.
    listener: TcpListener,
    shared: Arc<Shared>,
    sink: Sink,
    running: Mutex<Running>,
}

impl fmt::Debug for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Witness")
            .field("address", &self.address)
            .field("setup", &self.setup)
            .finish_non_exhaustive()
    }
}

struct Running {
    generation: u64,
    server: Server,
    reader: Option<JoinHandle<()>>,
}

enum Server {
    Thread(Option<JoinHandle<()>>),
    Process(Child),
}

impl Witness {
    /// Starts a witness on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn start(setup: Setup, sink: Sink) -> Result<Self, WitnessError> {
        let began = boot_now();
        let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(io_error("listen on 127.0.0.1"))?;
        let address = listener.local_addr().map_err(io_error("read the listener's port"))?;
        let shared = Arc::new(Shared::default());
        shared.lock().mode = Some(setup.mode);
        let running = launch(&setup, &listener, &shared, &sink, 0)?;
        Ok(Self {
            setup,
            address,
            began,
            listener,
            shared,
            sink,
            running: Mutex::new(running),
        })
    }

    /// The base URL for one started owner: the writer is known by it.
    ///
    /// # Errors
    /// When the server has ended.
    pub fn url_for(&self, owner: &OwnerName) -> Result<String, WitnessError> {
        let known = self
            .shared
            .lock()
            .owners
            .iter()
            .find(|(_, name)| name == owner)
            .map(|(path, _)| path.clone());
        let path = match known {
            Some(path) => path,
            None => {
                // Opaque: an owner must not learn from its URL which part it plays.
                let path = format!("{:016x}", opaque(&self.setup.dir, self.address.port(), owner));
                self.shared.order(Order::Register(path.clone(), owner.clone()))?;
                self.shared.lock().owners.push((path.clone(), owner.clone()));
                path
            }
        };
        Ok(format!("http://{}/o/{path}", self.address))
    }

    /// Treats writes in this way from now on.
    ///
    /// # Errors
    /// When the server has ended.
    pub fn set_mode(&self, mode: WitnessMode) -> Result<(), WitnessError> {
        self.shared.order(Order::Mode(mode))?;
        self.shared.lock().mode = Some(mode);
        Ok(())
    }

    /// Returns when all that was answered before has been handed on.
    ///
    /// # Errors
    /// When the server has ended.
    pub fn settle(&self) -> Result<(), WitnessError> {
        self.shared.order(Order::Settle)
    }

    /// What of its owners' writes could not be handed on: one coverage for each owner that had such a
    /// write, since it was longer than the bound or came after [`KEPT_WRITES`](crate::KEPT_WRITES) others.
    /// Asked for after [`settle`](Self::settle), it is complete.
    #[must_use]
    pub fn gaps(&self) -> Vec<Coverage> {
        let gap = |(owner, kept): (&OwnerName, &Kept)| {
            kept.dropped_since.map(|until| Coverage {
                source: Source::Witness,
                owner: Some(owner.clone()),
                from: self.began,
                until: until.max(self.began),
                longest_gap: Duration::ZERO,
                dropped: kept.dropped,
            })
        };
        self.shared.lock().kept.iter().filter_map(gap).collect()
    }

    /// Holds the next write of `owner` in flight.
    ///
    /// # Errors
    /// When the server has ended.
    pub fn hold_next(&self, owner: &OwnerName) -> Result<HoldHandle, WitnessError> {
        self.hold(owner, Holds::Write)
    }

    /// Holds back the answer to the next read of the value by `owner`.
    ///
    /// # Errors
    /// When the server has ended.
    pub fn hold_next_read(&self, owner: &OwnerName) -> Result<HoldHandle, WitnessError> {
        self.hold(owner, Holds::Read)
    }

    fn hold(&self, owner: &OwnerName, what: Holds) -> Result<HoldHandle, WitnessError> {
        let hold = {
            let mut state = self.shared.lock();
            state.next_hold += 1;
            state.next_hold
        };
        let owner = owner.clone();
        self.shared.order(Order::Hold { hold, owner, what })?;
        Ok(HoldHandle {
            hold,
            shared: Arc::clone(&self.shared),
            released: false,
        })
    }

    /// A write by the lab itself, through the same door as any other; whether it was accepted. It is
    /// a replay, and marked so, when the lab has written with a greater token before.
    ///
    /// # Errors
    /// When the server doesn't answer.
    pub fn replay(&self, token: Token) -> Result<bool, WitnessError> {
        let url = self.url_for(&OwnerName::lab())?;
        let mark = {
            let mut state = self.shared.lock();
            let greatest = state.lab_wrote.max(Some(token));
            state.lab_wrote = greatest;
            if greatest > Some(token) {
                format!("{REPLAY}: 1\r\n")
            } else {
                String::new()
            }
        };
        let path = url
            .trim_start_matches("http://")
            .trim_start_matches(&self.address.to_string());
        let answered = || -> io::Result<String> {
            let mut socket = TcpStream::connect_timeout(&self.address, ANSWER_TIMEOUT)?;
            socket.set_read_timeout(Some(ANSWER_TIMEOUT))?;
            let request = format!(
                "POST {path}/write HTTP/1.1\r\nhost: {}\r\nlease-owner: lab\r\nfencing-token: {token}\r\n{mark}connection: close\r\ncontent-length: 0\r\n\r\n",
                self.address
            );
            socket.write_all(request.as_bytes())?;
            let mut answer = String::new();
            socket.read_to_string(&mut answer)?;
            Ok(answer)
        };
        let answer = answered().map_err(io_error("replay a write at the witness"))?;
        Ok(answer.starts_with("HTTP/1.1 200"))
    }

    /// Kills the server with SIGKILL and starts it again on the same port; the mark that it then knows.
    ///
    /// # Errors
    /// When it is a thread, or doesn't come back.
    pub fn kill_and_restart(&self) -> Result<Option<Token>, WitnessError> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let generation = running.generation + 1;
        let Server::Process(child) = &mut running.server else {
            return Err(WitnessError::NotAProcess);
        };
        // From here on the old reader's end is no end of the witness.
        self.shared.lock().generation = generation;
        child.kill().map_err(io_error("kill the witness"))?;
        child.wait().map_err(io_error("wait for the witness"))?;
        // What it reported before its death is handed on first.
        if let Some(reader) = running.reader.take() {
            let _ = reader.join();
        }
        *running = launch(&self.setup, &self.listener, &self.shared, &self.sink, generation)?;
        Ok(self.shared.lock().ready.flatten())
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        let running = self.running.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(control) = self.shared.lock().control.take() {
            let _ = control.shutdown(std::net::Shutdown::Write);
        }
        match &mut running.server {
            Server::Thread(thread) => {
                if let Some(thread) = thread.take() {
                    let _ = thread.join();
                }
            }
            Server::Process(child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
        if let Some(reader) = running.reader.take() {
            let _ = reader.join();
        }
    }
}

fn launch(
    setup: &Setup,
    listener: &TcpListener,
    shared: &Arc<Shared>,
    sink: &Sink,
    generation: u64,
) -> Result<Running, WitnessError> {
    let (ours, theirs) = UnixStream::pair().map_err(io_error("make a socket pair"))?;
    let listener = listener.try_clone().map_err(io_error("copy the listener"))?;
    let server = match &setup.place {
        Place::Thread => {
            let thread = std::thread::Builder::new()
                .name("witness".to_owned())
                .spawn(move || {
                    // Its end closes the socket, which the lab's side reports.
                    let failed = server::serve(&listener, theirs);
                    drop(failed);
                })
                .map_err(io_error("start the witness's thread"))?;
            Server::Thread(Some(thread))
        }
        Place::Process { program } => {
            let child = Program::new(program)
                .arg("__witness")
                .stdin(Stdio::from(OwnedFd::from(listener)))
                .stdout(Stdio::from(OwnedFd::from(theirs)))
                // A terminal's Ctrl-Z is for the lab: a witness that stood would keep it waiting.
                .process_group(0)
                .spawn()
                .map_err(io_error("start the witness's process"))?;
            Server::Process(child)
        }
    };
    let mut state = shared.lock();
    let hello = Hello {
        mode: state.mode.unwrap_or(setup.mode),
        flaw: setup.flaw,
        journal: setup.dir.join("witness-mark"),
        owners: state.owners.clone(),
        serial: state.serial,
        restarts: generation,
    };
    let mut line = serde_json::to_vec(&hello).map_err(|error| WitnessError::Ended(error.to_string()))?;
    line.push(b'\n');
    let mut control = ours.try_clone().map_err(io_error("copy the socket"))?;
    control.write_all(&line).map_err(io_error("greet the witness"))?;
    state.control = Some(control);
    state.generation = generation;
    state.ready = None;
    state.ended = None;
    drop(state);
    let reader = {
        let (shared, sink) = (Arc::clone(shared), Arc::clone(sink));
        std::thread::Builder::new()
            .name("witness-reader".to_owned())
            .spawn(move || shared.listen(ours, generation, &sink))
            .map_err(io_error("start the witness's reader"))?
    };
    let running = Running {
        generation,
        server,
        reader: Some(reader),
    };
    shared.wait(shared.lock(), ANSWER_TIMEOUT, |state| state.ready.map(drop))?;
    Ok(running)
}

/// A hash, not a secret: FNV-1a over folder, port and name. The folder is the run's own: an owner that
/// a killed run left for a moment may find our port where its witness was, and must not be taken for ours.
fn opaque(dir: &Path, port: u16, owner: &OwnerName) -> u64 {
    dir.as_os_str()
        .as_bytes()
        .iter()
        .chain(&port.to_le_bytes())
        .chain(owner.as_str().as_bytes())
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        })
}
