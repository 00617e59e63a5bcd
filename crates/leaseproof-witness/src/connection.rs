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
const ONE_MOMENT: Duration = Duration::from_millis(20);

/// A client that sends byte by byte gets no more of them than this: the last one then takes in the rest.
const MOST_CHUNKS: usize = 1024;

/// So often a connection is read before what it brought is looked at.
const READS: usize = 32;

/// A request, and when it arrived.
#[derive(Clone, Debug)]
pub struct Arrived {
    /// The request.
    pub request: Request,
    /// When its first bytes arrived (not before its owner began the write), if that was another moment.
    pub begun: Option<Moment>,
    /// When it was whole. Where that is one moment with its begin, it holds both.
    pub whole: Moment,
}

/// What a connection brought.
#[derive(Clone, Debug)]
pub enum Brought {
    /// A whole request.
    Request(Arrived),
    /// Bytes that no request will come of; they were answered, and end the connection.
    Unreadable {
        /// The path in their first line, where there is one: whose write it would have been.
        path: Option<String>,
        /// When they arrived.
        at: Moment,
    },
}

/// Bytes that came in one read.
#[derive(Copy, Clone, Debug)]
struct Chunk {
    /// Where they end in the buffer.
    end: usize,
    /// When the last of them arrived.
    last: Moment,
    /// When any of the others did.
    others: Moment,
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
    /// How many bytes of the body in front are not in the buffer any more.
    skipped: usize,
    /// Which bytes of the buffer came when.
    chunks: Vec<Chunk>,
    /// What is not read yet was not there at this moment.
    empty: BootNanos,
    /// How many segments had come, at the least, when it was read to its end.
    taken: Option<u32>,
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
            skipped: 0,
            chunks: Vec::new(),
            empty,
            taken: Some(0),
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

    /// What will be read next had not arrived at this moment.
    pub fn was_empty(&mut self, at: BootNanos) {
        self.empty = self.empty.max(at);
    }

    /// Reads what has arrived, up to a bound: the rest is there at the next look.
    pub fn read(&mut self) {
        let mut bytes = [0; 8192];
        for _ in 0..READS {
            if self.buffer.len() > request::MAX_HEAD + request::MAX_BODY {
                return;
            }
            let come = arrival::segments(self.socket.as_fd());
            match arrival::receive(self.socket.as_fd(), &mut bytes, self.empty, self.taken) {
                Ok(got) if got.bytes == 0 => {
                    self.ended = true;
                    return;
                }
                Ok(got) => {
                    self.stamped = got.stamped;
                    self.buffer.extend_from_slice(&bytes[..got.bytes]);
                    self.note(got);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.taken = come;
                    return;
                }
                Err(_) => {
                    self.broken = true;
                    return;
                }
            }
        }
    }

    fn note(&mut self, got: arrival::Received) {
        let end = self.buffer.len();
        let last = got.last;
        let many = self.chunks.len() >= MOST_CHUNKS;
        match self.chunks.last_mut().filter(|_| many) {
            Some(chunk) => {
                let others = Moment::between(chunk.others.earliest.min(last.earliest), last.latest);
                *chunk = Chunk { end, last, others };
            }
            None => self.chunks.push(Chunk {
                end,
                last,
                others: got.others,
            }),
        }
    }

    /// What it has brought, if anything is whole.
    pub fn take(&mut self) -> Option<Brought> {
        if self.held || self.buffer.is_empty() {
            return None;
        }
        match request::parse(&self.buffer, self.skipped) {
            Parsed::Whole(request, length) => {
                self.told_to_go_on = false;
                self.skipped = 0;
                let first = self.arrival_of(0)?;
                let last = self.arrival_of(length - 1)?;
                self.forget(length);
                let apart = last.earliest > first.latest.plus(ONE_MOMENT);
                Some(Brought::Request(Arrived {
                    request,
                    begun: apart.then_some(first),
                    whole: if apart {
                        last
                    } else {
                        Moment::between(first.earliest.min(last.earliest), last.latest)
                    },
                }))
            }
            Parsed::Partial { waits, body } => {
                if let Some(head) = body {
                    self.skip_body(head);
                }
                if waits && !self.told_to_go_on {
                    self.told_to_go_on = true;
                    self.send(b"HTTP/1.1 100 Continue\r\n\r\n");
                }
                None
            }
            Parsed::Bad(status, why) => {
                let path = request::path(&self.buffer);
                let at = self.arrival_of(self.buffer.len() - 1)?;
                self.forget(self.buffer.len());
                self.answer(status, &format!("{{\"error\":\"{why}\"}}"), false);
                Some(Brought::Unreadable { path, at })
            }
        }
    }

    /// Lets go of the body after a head of this length; its last byte is still to come.
    fn skip_body(&mut self, head: usize) {
        self.skipped += self.buffer.len() - head;
        self.buffer.truncate(head);
        let place = self.chunks.partition_point(|it| it.end < head);
        self.chunks.truncate(place + 1);
        if let Some(chunk) = self.chunks.last_mut().filter(|it| it.end > head) {
            *chunk = Chunk {
                end: head,
                last: chunk.others,
                others: chunk.others,
            };
        }
    }

    /// When the byte at this place of the buffer arrived.
    fn arrival_of(&self, place: usize) -> Option<Moment> {
        let chunk = self.chunks.get(self.chunks.partition_point(|it| it.end <= place))?;
        Some(if chunk.end == place + 1 {
            chunk.last
        } else {
            chunk.others
        })
    }

    /// Lets the first bytes of the buffer go.
    fn forget(&mut self, length: usize) {
        self.buffer.drain(..length);
        self.chunks.retain_mut(|chunk| {
            chunk.end = chunk.end.saturating_sub(length);
            chunk.end > 0
        });
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
