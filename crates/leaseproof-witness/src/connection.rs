//! One connection: its bytes, and when they arrived.

use crate::arrival;
use crate::request::{self, Parsed, Request};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::moment::Moment;
use std::io::{self, ErrorKind, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::time::Duration;

/// How far apart the first and last bytes of a request may arrive before it counts as two moments.
const ONE_MOMENT: Duration = Duration::from_millis(1);

/// A request, and when it arrived.
#[derive(Clone, Debug)]
pub struct Arrived {
    /// The request.
    pub request: Request,
    /// When its first bytes arrived: not before its owner began the write.
    pub first: Moment,
    /// When its last bytes arrived, if that was another moment.
    pub last: Option<Moment>,
}

/// One connection.
#[derive(Debug)]
pub struct Connection {
    socket: TcpStream,
    /// Its number, unique in the witness's life.
    pub number: u64,
    /// Whether a write of it is held: nothing more is read meanwhile.
    pub held: bool,
    /// Whether the kernel has stamped its bytes so far.
    pub stamped: bool,
    buffer: Vec<u8>,
    first: Option<Moment>,
    last: Option<Moment>,
    empty: BootNanos,
    ended: bool,
    told_to_go_on: bool,
    broken: bool,
}

impl Connection {
    /// Takes over an accepted socket; nothing was there at `empty`.
    ///
    /// # Errors
    /// When the socket refuses to be set up.
    pub fn new(socket: TcpStream, number: u64, empty: BootNanos) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        Ok(Self {
            socket,
            number,
            held: false,
            stamped: true,
            buffer: Vec::new(),
            first: None,
            last: None,
            empty,
            ended: false,
            told_to_go_on: false,
            broken: false,
        })
    }

    /// The socket, to be polled.
    #[must_use]
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// It was looked at, and nothing had arrived.
    pub fn seen_empty(&mut self, at: BootNanos) {
        if self.buffer.is_empty() {
            self.empty = at;
        }
    }

    /// Reads all that has arrived.
    pub fn read(&mut self) {
        let mut chunk = [0; 8192];
        while self.buffer.len() <= request::MAX_HEAD + request::MAX_BODY {
            match arrival::receive(self.socket.as_fd(), &mut chunk, self.empty) {
                Ok(got) if got.bytes == 0 => {
                    self.ended = true;
                    return;
                }
                Ok(got) => {
                    self.stamped = got.stamped;
                    self.first.get_or_insert(got.at);
                    self.last = Some(got.at);
                    self.empty = got.at.latest;
                    self.buffer.extend_from_slice(&chunk[..got.bytes]);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.broken = true;
                    return;
                }
            }
        }
    }

    /// The next whole request, if one is there. Bad bytes are answered and end the connection.
    pub fn take_request(&mut self) -> Option<Arrived> {
        if self.held || self.buffer.is_empty() {
            return None;
        }
        match request::parse(&self.buffer) {
            Parsed::Whole(request, length) => {
                self.buffer.drain(..length);
                self.told_to_go_on = false;
                let (first, last) = (self.first?, self.last?);
                // Bytes of a next request came with the last ones of this.
                self.first = (!self.buffer.is_empty()).then_some(last);
                let apart = last.earliest > first.latest.plus(ONE_MOMENT);
                Some(Arrived {
                    request,
                    first,
                    last: apart.then_some(last),
                })
            }
            Parsed::Partial { waits } => {
                if waits && !self.told_to_go_on {
                    self.told_to_go_on = true;
                    self.send(b"HTTP/1.1 100 Continue\r\n\r\n");
                }
                None
            }
            Parsed::Bad(status, why) => {
                self.answer(status, &format!("{{\"error\":\"{why}\"}}"), false);
                None
            }
        }
    }

    /// Answers the request that was taken last.
    pub fn answer(&mut self, status: u16, body: &str, keep_alive: bool) {
        self.send(&request::answer(status, body, keep_alive));
        if !keep_alive {
            self.broken = true;
        }
    }

    /// Nothing more will come of it.
    #[must_use]
    pub fn is_over(&self) -> bool {
        !self.held && (self.broken || self.ended)
    }

    /// An answer is a few hundred bytes: a client whose buffer can't take it reads nothing at all.
    fn send(&mut self, bytes: &[u8]) {
        if self.socket.write_all(bytes).is_err() {
            self.broken = true;
        }
    }
}
