//! What the holder tells the worker, and the one thing that the worker tells back.
//!
//! A socket with message boundaries (SEQPACKET): each message is the whole state, so that the last
//! one counts and none is ever half read; its end is seen at once when the other process dies.

use crate::deadline::Deadline;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::name::Token;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What the worker may do.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum State {
    /// Nothing: the lease is not held.
    Idle,
    /// Write with this token while this is valid.
    Held {
        /// The token.
        token: Token,
        /// Until when.
        until: Deadline,
    },
    /// End.
    Stop,
}

/// The worker's message: the resource refused this token as stale.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Stale(pub Token);

/// What is to be read from the other side.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Got<T> {
    /// A message.
    Message(T),
    /// Nothing now.
    Nothing,
    /// The other process is gone.
    End,
}

/// One end.
#[derive(Debug)]
pub struct Link(OwnedFd);

impl Link {
    /// Both ends.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((Self(ours), theirs))
    }

    /// The end that this process was given as its standard input.
    ///
    /// # Errors
    /// When there is none.
    pub fn from_stdin() -> io::Result<Self> {
        io::stdin().as_fd().try_clone_to_owned().map(Self)
    }

    /// The descriptor, to be waited for.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Tells the worker; false if its queue is full (it is stopped) or it is gone.
    #[must_use]
    pub fn tell(&self, state: State) -> bool {
        let text = match state {
            State::Idle => "idle".to_owned(),
            State::Stop => "stop".to_owned(),
            State::Held { token, until } => match until {
                Deadline::Boot(at) => format!("held {token} boot {at}"),
                Deadline::Wall(at) => format!("held {token} wall {at}"),
                Deadline::Forever => format!("held {token} forever 0"),
            },
        };
        self.post(&text)
    }

    /// Tells the holder.
    pub fn tell_stale(&self, stale: Stale) {
        // A holder that is gone needs no telling.
        let _ = self.post(&format!("stale {}", stale.0));
    }

    fn post(&self, text: &str) -> bool {
        send(&self.0, text.as_bytes(), SendFlags::DONTWAIT | SendFlags::NOSIGNAL).is_ok()
    }

    /// The worker's next message from the holder.
    #[must_use]
    pub fn state(&self) -> Got<State> {
        self.take(|words| match words {
            ["idle"] => Some(State::Idle),
            ["stop"] => Some(State::Stop),
            ["held", token, clock, at] => {
                let until = match *clock {
                    "boot" => Deadline::Boot(BootNanos(at.parse().ok()?)),
                    "wall" => Deadline::Wall(at.parse().ok()?),
                    "forever" => Deadline::Forever,
                    _ => return None,
                };
                let token = Token(token.parse().ok()?);
                Some(State::Held { token, until })
            }
            _ => None,
        })
    }

    /// The holder's next message from the worker.
    #[must_use]
    pub fn stale(&self) -> Got<Stale> {
        self.take(|words| match words {
            ["stale", token] => token.parse().ok().map(|token| Stale(Token(token))),
            _ => None,
        })
    }

    fn take<T>(&self, read: impl FnOnce(&[&str]) -> Option<T>) -> Got<T> {
        let mut buffer = [0_u8; 128];
        let length = loop {
            match recv(&self.0, &mut buffer[..], RecvFlags::DONTWAIT) {
                Ok((length, _)) => break length,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Got::Nothing,
                Err(_) => return Got::End,
            }
        };
        let words: Vec<_> = std::str::from_utf8(&buffer[..length])
            .unwrap_or_default()
            .split_ascii_whitespace()
            .collect();
        // No message is empty: nothing read is the end.
        read(&words).map_or(Got::End, Got::Message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_comes_back_and_then_the_end() {
        let (holder, worker) = Link::pair().expect("a pair");
        let worker = Link(worker);
        let states = [
            State::Idle,
            State::Held {
                token: Token(7),
                until: Deadline::Boot(BootNanos(12)),
            },
            State::Held {
                token: Token(8),
                until: Deadline::Wall(-3),
            },
            State::Held {
                token: Token(9),
                until: Deadline::Forever,
            },
            State::Stop,
        ];
        for state in states {
            assert!(holder.tell(state));
        }
        for state in states {
            assert_eq!(worker.state(), Got::Message(state));
        }
        assert_eq!(worker.state(), Got::Nothing);
        worker.tell_stale(Stale(Token(3)));
        assert_eq!(holder.stale(), Got::Message(Stale(Token(3))));
        drop(holder);
        assert_eq!(worker.state(), Got::End);
    }
}
