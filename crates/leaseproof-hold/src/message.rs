//! What `hold` and its guardian tell each other: a line of text each, on a socket.

use leaseproof_model::clock::BootNanos;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;

/// From `hold` to its guardian.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The lease is held: start the command.
    Start {
        /// The fencing token.
        token: u64,
        /// The validity when it starts.
        until: BootNanos,
    },
    /// The deadline moved: look at the page.
    Look,
    /// Pass this signal on to the command.
    Signal(i32),
    /// Ask the command to end, with this signal; kill it after the grace.
    Stop(i32),
    /// Kill it at once.
    Kill,
}

/// From the guardian to `hold`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Report {
    /// It is up.
    Ready,
    /// The command runs.
    Started {
        /// Its process.
        pid: u32,
    },
    /// The command can't be run: this exit status, and why.
    Failed {
        /// 126 or 127, as a shell has it.
        status: u8,
        /// What the kernel says.
        why: String,
    },
    /// The fuse has a pipe with this descriptor in the guardian.
    Fused(i32),
    /// The fuse is set for this validity.
    Seen(BootNanos),
    /// The command's first process ended by itself, with this exit status.
    Exited(i32),
    /// It was ended by this signal.
    Killed(i32),
    /// SIGTERM was sent, since the deadline is near.
    Termed,
    /// SIGKILL was sent, since the deadline is there, or a grace was over.
    Killing,
    /// Nothing of the command's tree is left.
    Gone,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start { token, until } => write!(f, "start {token} {}", until.0),
            Self::Look => f.write_str("look"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::Stop(signal) => write!(f, "stop {signal}"),
            Self::Kill => f.write_str("kill"),
        }
    }
}

impl Order {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        Some(match words.next()? {
            "start" => Self::Start {
                token: words.next()?.parse().ok()?,
                until: BootNanos(words.next()?.parse().ok()?),
            },
            "look" => Self::Look,
            "signal" => Self::Signal(words.next()?.parse().ok()?),
            "stop" => Self::Stop(words.next()?.parse().ok()?),
            "kill" => Self::Kill,
            _ => return None,
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => f.write_str("ready"),
            Self::Started { pid } => write!(f, "started {pid}"),
            Self::Failed { status, why } => write!(f, "failed {status} {}", why.replace('\n', " ")),
            Self::Fused(number) => write!(f, "fused {number}"),
            Self::Seen(until) => write!(f, "seen {}", until.0),
            Self::Exited(status) => write!(f, "exited {status}"),
            Self::Killed(signal) => write!(f, "killed {signal}"),
            Self::Termed => f.write_str("termed"),
            Self::Killing => f.write_str("killing"),
            Self::Gone => f.write_str("gone"),
        }
    }
}

impl Report {
    fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        Some(match word {
            "ready" => Self::Ready,
            "started" => Self::Started {
                pid: rest.parse().ok()?,
            },
            "failed" => {
                let (status, why) = rest.split_once(' ')?;
                Self::Failed {
                    status: status.parse().ok()?,
                    why: why.to_owned(),
                }
            }
            "fused" => Self::Fused(rest.parse().ok()?),
            "seen" => Self::Seen(BootNanos(rest.parse().ok()?)),
            "exited" => Self::Exited(rest.parse().ok()?),
            "killed" => Self::Killed(rest.parse().ok()?),
            "termed" => Self::Termed,
            "killing" => Self::Killing,
            "gone" => Self::Gone,
            _ => return None,
        })
    }
}

/// One end of the socket. Neither end ever waits for the other: who is stopped must hold nobody up.
#[derive(Debug)]
pub struct Line {
    socket: UnixStream,
    unread: Vec<u8>,
    ended: bool,
}

impl Line {
    /// Over this socket.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            unread: Vec::new(),
            ended: false,
        })
    }

    /// What to wait on.
    #[must_use]
    pub fn socket(&self) -> &UnixStream {
        &self.socket
    }

    /// Whether the other end is gone, and everything of it was read.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Says it. A line that the other end is gone for, or too far behind for, is dropped: what matters stands in the
    /// page too.
    pub fn say(&self, message: &impl fmt::Display) {
        say(&self.socket, message);
    }

    /// The orders that have come.
    pub fn orders(&mut self) -> Vec<Order> {
        self.lines().iter().filter_map(|line| Order::parse(line)).collect()
    }

    /// The reports that have come.
    pub fn reports(&mut self) -> Vec<Report> {
        self.lines().iter().filter_map(|line| Report::parse(line)).collect()
    }

    fn lines(&mut self) -> Vec<String> {
        let mut chunk = [0; 1024];
        loop {
            match (&self.socket).read(&mut chunk) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(length) => self.unread.extend_from_slice(&chunk[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => {
                    self.ended = true;
                    break;
                }
            }
        }
        let whole = self
            .unread
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |at| at + 1);
        let bytes: Vec<u8> = self.unread.drain(..whole).collect();
        String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
    }
}

/// Says it on a socket, as [`Line::say`] does.
pub fn say(mut socket: &UnixStream, message: &impl fmt::Display) {
    let _ = socket.write_all(format!("{message}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_heard() {
        let (here, there) = UnixStream::pair().expect("a pair");
        let (here, mut there) = (Line::new(here).expect("ok"), Line::new(there).expect("ok"));
        let orders = [
            Order::Start {
                token: u64::MAX,
                until: BootNanos(7),
            },
            Order::Look,
            Order::Signal(2),
            Order::Stop(15),
            Order::Kill,
        ];
        for order in &orders {
            here.say(order);
        }
        assert_eq!(there.orders(), orders);
        let reports = [
            Report::Ready,
            Report::Started { pid: 4 },
            Report::Failed {
                status: 126,
                why: "not now".to_owned(),
            },
            Report::Fused(12),
            Report::Seen(BootNanos(9)),
            Report::Exited(3),
            Report::Killed(9),
            Report::Termed,
            Report::Killing,
            Report::Gone,
        ];
        for report in &reports {
            here.say(report);
        }
        assert_eq!(there.reports(), reports);
        assert!(!there.has_ended());
        drop(here);
        assert_eq!(there.orders(), []);
        assert!(there.has_ended());
    }
}
