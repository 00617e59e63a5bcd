//! The server: one thread, so that the resource's serial order needs no lock.

use crate::arrival;
use crate::connection::{Arrived, Connection};
use crate::fence::{Decision, Fence, WitnessFlaw};
use crate::journal::Journal;
use crate::message::{Command, Hello, Order, Report};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{What, Write as Written};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{OwnerName, Token};
use leaseproof_model::scenario::WitnessMode;
use leaseproof_proc::clock::boot_now;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

/// More connections than this wait in the listener's queue.
const MAX_CONNECTIONS: usize = 256;

/// The `__witness` process: its listener is standard input, its socket to the lab standard output,
/// as inetd hands them over. So no descriptor has to be inherited by number.
#[must_use]
pub fn main() -> ExitCode {
    let sockets = io::stdin().as_fd().try_clone_to_owned().and_then(|listener| {
        let control = io::stdout().as_fd().try_clone_to_owned()?;
        Ok((TcpListener::from(listener), UnixStream::from(control)))
    });
    match sockets.and_then(|(listener, control)| serve(&listener, control)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the witness ended: {error}");
            ExitCode::from(3)
        }
    }
}

/// Serves until the lab's end of `control` is closed.
///
/// # Errors
/// When a socket or the journal fails.
pub fn serve(listener: &TcpListener, control: UnixStream) -> io::Result<()> {
    let mut last_words = control.try_clone()?;
    let served = serve_until_closed(listener, control);
    if let Err(error) = &served {
        let failed = Report::Failed { why: error.to_string() };
        let _ = writeln!(last_words, "{}", serde_json::to_string(&failed)?);
    }
    served
}

fn serve_until_closed(listener: &TcpListener, control: UnixStream) -> io::Result<()> {
    let mut lines = BufReader::new(control.try_clone()?);
    let mut first = String::new();
    lines.read_line(&mut first)?;
    let hello: Hello = serde_json::from_str(&first)?;
    let rest = lines.buffer().to_vec();
    control.set_nonblocking(true)?;
    listener.set_nonblocking(true)?;
    // Without the kernel's stamps the polling itself brackets arrivals.
    let stamps = arrival::stamp(listener.as_fd()).is_ok();
    let (journal, kept) = Journal::open(&hello.journal)?;
    let known = if hello.flaw == Some(WitnessFlaw::ForgetOnRestart) {
        None
    } else {
        kept
    };
    let mut server = Server {
        control: Control { socket: control, rest },
        fence: Fence::new(known, hello.flaw),
        journal,
        mode: hello.mode,
        owners: hello.owners.into_iter().collect(),
        holds: BTreeMap::new(),
        held: BTreeMap::new(),
        serial: hello.serial,
        // Numbers of connections are never used again.
        next_connection: hello.restarts * 1_000_000,
        connections: Vec::new(),
        stamps,
    };
    if hello.restarts > 0 {
        let now = Moment::exact(boot_now());
        server.saw(now, None, What::WitnessRestarted { highest: known })?;
    }
    server.report(&Report::Ready { highest: known })?;
    server.run(listener)
}

/// The socket to the lab.
struct Control {
    socket: UnixStream,
    rest: Vec<u8>,
}

impl Control {
    /// The commands that have come; `None` at its end.
    fn commands(&mut self) -> io::Result<Option<Vec<Command>>> {
        let mut chunk = [0; 4096];
        let ended = loop {
            match self.socket.read(&mut chunk) {
                Ok(0) => break true,
                Ok(got) => self.rest.extend_from_slice(&chunk[..got]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        };
        let mut commands = Vec::new();
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            commands.push(serde_json::from_slice(&line)?);
        }
        Ok((!ended || !commands.is_empty()).then_some(commands))
    }

    /// Blocks while the lab doesn't read: a lost report would be a hole in the record.
    fn send(&mut self, report: &Report) -> io::Result<()> {
        let mut line = serde_json::to_vec(report)?;
        line.push(b'\n');
        self.socket.set_nonblocking(false)?;
        let sent = self.socket.write_all(&line);
        self.socket.set_nonblocking(true)?;
        sent
    }
}

struct Server {
    control: Control,
    fence: Fence,
    journal: Journal,
    mode: WitnessMode,
    owners: BTreeMap<String, OwnerName>,
    /// Holds that wait for a write.
    holds: BTreeMap<u64, OwnerName>,
    /// Writes in flight, by their hold.
    held: BTreeMap<u64, (u64, OwnerName, Arrived)>,
    serial: u64,
    next_connection: u64,
    connections: Vec<Connection>,
    stamps: bool,
}

impl Server {
    fn run(&mut self, listener: &TcpListener) -> io::Result<()> {
        loop {
            let looked = boot_now();
            let ready = self.wait(listener)?;
            let Some(commands) = self.control.commands()? else {
                return Ok(());
            };
            for command in commands {
                self.obey(command)?;
            }
            if ready.new {
                self.accept(listener, looked)?;
            }
            for (connection, readable) in self.connections.iter_mut().zip(&ready.readable) {
                if *readable {
                    connection.read();
                } else {
                    connection.seen_empty(looked);
                }
            }
            self.take()?;
            self.connections.retain(|connection| !connection.is_over());
        }
    }

    fn wait(&self, listener: &TcpListener) -> io::Result<Ready> {
        let full = self.connections.len() >= MAX_CONNECTIONS;
        let mut fds = vec![
            PollFd::new(&self.control.socket, PollFlags::IN),
            PollFd::new(listener, if full { PollFlags::empty() } else { PollFlags::IN }),
        ];
        // A held one is left out: its hang-up would end every wait at once.
        fds.extend(
            self.connections
                .iter()
                .filter(|it| !it.held)
                .map(|it| PollFd::new(it.socket(), PollFlags::IN)),
        );
        let stamped = self.stamps && self.connections.iter().all(|it| it.stamped);
        let tick = Timespec {
            tv_sec: i64::from(stamped),
            tv_nsec: if stamped { 0 } else { 5_000_000 },
        };
        match poll(&mut fds, Some(&tick)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let mut looks = fds[2..].iter().map(is_ready);
        Ok(Ready {
            new: is_ready(&fds[1]),
            readable: self
                .connections
                .iter()
                .map(|it| !it.held && looks.next().unwrap_or(false))
                .collect(),
        })
    }

    fn accept(&mut self, listener: &TcpListener, looked: BootNanos) -> io::Result<()> {
        while self.connections.len() < MAX_CONNECTIONS {
            match listener.accept() {
                Ok((socket, _)) => {
                    self.next_connection += 1;
                    if let Ok(connection) = Connection::new(socket, self.next_connection, looked) {
                        self.connections.push(connection);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // The client was gone again before it was accepted.
                Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn obey(&mut self, command: Command) -> io::Result<()> {
        match command.order {
            Order::Register(path, owner) => {
                self.owners.insert(path, owner);
            }
            Order::Settle => {}
            Order::Mode(mode) => self.mode = mode,
            Order::Hold { hold, owner } => {
                self.holds.insert(hold, owner);
            }
            Order::Release { hold } => {
                self.holds.remove(&hold);
                if let Some((number, owner, arrived)) = self.held.remove(&hold) {
                    self.write(number, &owner, &arrived, true)?;
                }
            }
        }
        self.report(&Report::Done { number: command.number })
    }

    /// Takes the requests of this round in the order of their arrival: that is the serial order.
    fn take(&mut self) -> io::Result<()> {
        loop {
            let mut round: Vec<(u64, Arrived)> = Vec::new();
            for connection in &mut self.connections {
                if let Some(arrived) = connection.take_request() {
                    round.push((connection.number, arrived));
                }
            }
            if round.is_empty() {
                return Ok(());
            }
            round.sort_by_key(|(_, arrived)| arrived.last.unwrap_or(arrived.first).latest);
            for (number, arrived) in round {
                self.dispatch(number, arrived)?;
            }
        }
    }

    fn dispatch(&mut self, number: u64, arrived: Arrived) -> io::Result<()> {
        let keep_alive = arrived.request.keep_alive;
        let owner = arrived
            .request
            .path
            .strip_prefix("/o/")
            .and_then(|rest| rest.strip_suffix("/write"))
            .and_then(|path| self.owners.get(path))
            .cloned();
        let Some(owner) = owner else {
            let body = r#"{"error":"no such resource: writes go to $LEASEPROOF_RESOURCE/write"}"#;
            self.answer(number, 404, body, keep_alive);
            return Ok(());
        };
        if arrived.request.method != "POST" {
            let body = r#"{"error":"a protected write is a POST"}"#;
            self.answer(number, 405, body, keep_alive);
            return Ok(());
        }
        let hold = self
            .holds
            .iter()
            .find(|(_, whose)| **whose == owner)
            .map(|(hold, _)| *hold);
        let Some(hold) = hold else {
            return self.write(number, &owner, &arrived, false);
        };
        self.holds.remove(&hold);
        if let Some(connection) = self.connection(number) {
            connection.held = true;
        }
        let what = What::WriteHeld {
            connection: number,
            token: arrived.request.token,
        };
        self.saw(arrived.first, Some(owner.clone()), what)?;
        self.report(&Report::Held {
            hold,
            at: arrived.first,
        })?;
        self.held.insert(hold, (number, owner, arrived));
        Ok(())
    }

    /// Decides one write, and answers it after it was written down.
    fn write(&mut self, number: u64, owner: &OwnerName, arrived: &Arrived, was_held: bool) -> io::Result<()> {
        let before = boot_now();
        let request = &arrived.request;
        let highest = self.fence.highest();
        let accepted = self.fence.decide(self.mode, owner, request.token) == Decision::Accepted;
        if accepted && self.fence.accept(owner, request.token) {
            let mark = request.token.unwrap_or(Token(0));
            self.journal.raise(mark, self.mode == WitnessMode::Enforce)?;
        }
        self.serial += 1;
        let late = was_held || arrived.last.is_some();
        let at = if late {
            Moment::between(before, boot_now())
        } else {
            arrived.first
        };
        let what = What::Write(Written {
            serial: self.serial,
            connection: number,
            token: request.token,
            bad_token: request.bad_token.clone(),
            accepted,
            highest,
            mode: self.mode,
            claims_owner: request.owner.clone().filter(|claimed| claimed != owner.as_str()),
            arrived: late.then_some(arrived.first),
            replay: owner.is_lab() && request.replay,
        });
        // The record first: an owner that has its answer can act on it at once.
        self.saw(at, Some(owner.clone()), what)?;
        let keep_alive = request.keep_alive;
        if let Some(connection) = self.connection(number) {
            connection.held = false;
        }
        if accepted {
            self.answer(number, 200, r#"{"accepted":true}"#, keep_alive);
        } else {
            let highest = highest.map_or_else(|| "null".to_owned(), |mark| mark.to_string());
            let body = format!(r#"{{"accepted":false,"reason":"stale fence","highest":{highest}}}"#);
            self.answer(number, 409, &body, keep_alive);
        }
        Ok(())
    }

    fn connection(&mut self, number: u64) -> Option<&mut Connection> {
        self.connections.iter_mut().find(|it| it.number == number)
    }

    fn answer(&mut self, number: u64, status: u16, body: &str, keep_alive: bool) {
        if let Some(connection) = self.connection(number) {
            connection.answer(status, body, keep_alive);
        }
    }

    fn saw(&mut self, at: Moment, owner: Option<OwnerName>, what: What) -> io::Result<()> {
        self.report(&Report::Saw { at, owner, what })
    }

    fn report(&mut self, report: &Report) -> io::Result<()> {
        self.control.send(report)
    }
}

/// What a look at the sockets showed.
struct Ready {
    new: bool,
    readable: Vec<bool>,
}
