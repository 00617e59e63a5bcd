//! The server: one thread, so that the resource's serial order needs no lock.

mod decide;
mod door;
mod look;

use self::door::Door;
use crate::arrival;
use crate::connection::{Arrived, Brought, Connection};
use crate::control::Control;
use crate::fence::{Fence, WitnessFlaw};
use crate::journal::Journal;
use crate::lateness::Lateness;
use crate::message::{Command, Hello, Holds, Order, Report};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::What;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{OwnerName, Token};
use leaseproof_model::scenario::WitnessMode;
use leaseproof_proc::clock::boot_now;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
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
    let started = boot_now();
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
        newest: Value::default(),
        // Numbers of connections are never used again.
        next_connection: hello.restarts * 1_000_000,
        connections: Vec::new(),
        none_came: started,
        lateness: Lateness::of_this_thread(),
        stamps,
    };
    if hello.restarts > 0 {
        let now = Moment::exact(boot_now());
        server.saw(now, None, What::WitnessRestarted { highest: known })?;
    }
    server.report(&Report::Ready { highest: known })?;
    server.run(listener)
}

/// What the resource has: the number of the write that was accepted last, and its token.
#[derive(Copy, Clone, Default)]
struct Value {
    number: u64,
    version: Option<Token>,
}

/// A request that is held.
enum Held {
    Write(OwnerName, Arrived),
    /// The value as it was, and whether the connection stays.
    Read(Value, bool),
}

struct Server {
    control: Control,
    fence: Fence,
    journal: Journal,
    mode: WitnessMode,
    owners: BTreeMap<String, OwnerName>,
    /// Holds that wait for a request.
    holds: BTreeMap<u64, (OwnerName, Holds)>,
    /// What is held, by its hold.
    held: BTreeMap<u64, (u64, Held)>,
    serial: u64,
    /// What the resource has now.
    newest: Value,
    next_connection: u64,
    connections: Vec<Connection>,
    /// No connection waited to be accepted at this moment.
    none_came: BootNanos,
    lateness: Lateness,
    stamps: bool,
}

impl Server {
    fn run(&mut self, listener: &TcpListener) -> io::Result<()> {
        loop {
            let ready = self.wait(listener)?;
            let Some(commands) = self.control.commands()? else {
                return Ok(());
            };
            for command in commands {
                self.obey(command)?;
            }
            for (connection, readable) in self.connections.iter_mut().zip(&ready.readable) {
                if *readable {
                    connection.read();
                }
            }
            if ready.new {
                self.accept(listener)?;
            }
            self.take()?;
            self.connections.retain(|connection| !connection.is_over());
        }
    }

    fn accept(&mut self, listener: &TcpListener) -> io::Result<()> {
        while self.connections.len() < MAX_CONNECTIONS {
            match listener.accept() {
                Ok((socket, _)) => {
                    self.next_connection += 1;
                    if let Ok(connection) = Connection::new(socket, self.next_connection, self.none_came) {
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
            Order::Hold { hold, owner, what } => {
                self.holds.insert(hold, (owner, what));
            }
            Order::Release { hold } => {
                self.holds.remove(&hold);
                match self.held.remove(&hold) {
                    Some((number, Held::Write(owner, arrived))) => self.write(number, &owner, &arrived, true)?,
                    Some((number, Held::Read(value, keep_alive))) => self.tell(number, value, keep_alive),
                    None => {}
                }
            }
        }
        self.report(&Report::Done { number: command.number })
    }

    /// Takes the requests of this round in the order of their arrival: that is the serial order.
    fn take(&mut self) -> io::Result<()> {
        loop {
            let mut round: Vec<(u64, Arrived)> = Vec::new();
            let mut lost = Vec::new();
            for connection in &mut self.connections {
                match connection.take() {
                    Some(Brought::Request(arrived)) => round.push((connection.number, arrived)),
                    Some(Brought::Unreadable { path, at }) => lost.push((path, at)),
                    None => {}
                }
            }
            for (path, at) in lost {
                if let Some((owner, Door::Write | Door::Cache)) = path.and_then(|path| self.door_of(&path)) {
                    self.report(&Report::Lost { at, owner })?;
                }
            }
            if round.is_empty() {
                return Ok(());
            }
            round.sort_by_key(|(_, arrived)| arrived.whole.latest);
            for (number, arrived) in round {
                self.dispatch(number, arrived)?;
            }
        }
    }

    /// Whose door this path is.
    fn door_of(&self, path: &str) -> Option<(OwnerName, Door)> {
        let path = path.split('?').next().unwrap_or(path).strip_prefix("/o/")?;
        Door::ALL.into_iter().find_map(|door| {
            let opaque = path.strip_suffix(door.path())?;
            Some((self.owners.get(opaque)?.clone(), door))
        })
    }

    fn dispatch(&mut self, number: u64, arrived: Arrived) -> io::Result<()> {
        let keep_alive = arrived.request.keep_alive;
        let Some((owner, door)) = self.door_of(&arrived.request.path) else {
            let body = r#"{"error":"no such resource: writes go to $LEASEPROOF_RESOURCE/write"}"#;
            self.answer(number, 404, body, keep_alive);
            return Ok(());
        };
        if arrived.request.method != door.method() {
            self.answer(number, 405, door.says(), keep_alive);
            return Ok(());
        }
        match door {
            Door::Write => match self.hold_of(&owner, Holds::Write) {
                None => self.write(number, &owner, &arrived, false),
                Some(hold) => {
                    let what = What::WriteHeld {
                        connection: number,
                        token: arrived.request.token,
                    };
                    let at = arrived.whole;
                    self.keep((hold, number), at, &owner, what, Held::Write(owner.clone(), arrived))
                }
            },
            Door::Value => match self.hold_of(&owner, Holds::Read) {
                None => {
                    self.tell(number, self.newest, keep_alive);
                    Ok(())
                }
                Some(hold) => {
                    let value = self.newest;
                    let what = What::ReadHeld {
                        connection: number,
                        value: value.number,
                        version: value.version,
                    };
                    self.keep(
                        (hold, number),
                        arrived.whole,
                        &owner,
                        what,
                        Held::Read(value, keep_alive),
                    )
                }
            },
            Door::Cache => self.fill(number, owner, &arrived),
        }
    }

    /// The hold that waits for such a request of this owner; it waits no longer.
    fn hold_of(&mut self, owner: &OwnerName, what: Holds) -> Option<u64> {
        let mut waiting = self.holds.iter();
        let (hold, _) = waiting.find(|(_, (whose, which))| whose == owner && *which == what)?;
        let hold = *hold;
        self.holds.remove(&hold);
        Some(hold)
    }

    /// Holds a request until it is released.
    fn keep(
        &mut self,
        (hold, number): (u64, u64),
        at: Moment,
        owner: &OwnerName,
        what: What,
        held: Held,
    ) -> io::Result<()> {
        if let Some(connection) = self.connection(number) {
            connection.held = true;
        }
        self.saw(at, Some(owner.clone()), what)?;
        self.report(&Report::Held { hold, at })?;
        self.held.insert(hold, (number, held));
        Ok(())
    }

    /// Answers a read.
    fn tell(&mut self, number: u64, value: Value, keep_alive: bool) {
        if let Some(connection) = self.connection(number) {
            connection.held = false;
        }
        let version = value
            .version
            .map_or_else(|| "null".to_owned(), |version| version.to_string());
        let body = format!(r#"{{"value":{},"version":{version}}}"#, value.number);
        self.answer(number, 200, &body, keep_alive);
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
