//! Waiting for sockets, and what is known of those that are empty.

use super::{MAX_CONNECTIONS, Server};
use leaseproof_model::clock::BootNanos;
use leaseproof_proc::clock::boot_now;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::net::TcpListener;
use std::time::Duration;

/// What waking takes beside the wait for a processor.
const WAKING: Duration = Duration::from_millis(1);

/// What a look at the sockets showed.
#[derive(Default)]
pub(super) struct Ready {
    any: bool,
    /// No more connections are accepted, so that the listener was not looked at.
    full: bool,
    pub(super) new: bool,
    pub(super) readable: Vec<bool>,
}

impl Server {
    /// Two looks: what the first one finds empty arrives after it, and after the moment at which this
    /// thread was woken, less the time for which it then waited for a processor.
    pub(super) fn wait(&mut self, listener: &TcpListener) -> io::Result<Ready> {
        let before = self.lateness.so_far();
        let looked = boot_now();
        let ready = self.look(listener, Duration::ZERO)?;
        self.were_empty(&ready, looked);
        if ready.any {
            return Ok(ready);
        }
        let stamped = self.stamps && self.connections.iter().all(|it| it.stamped);
        let ready = self.look(
            listener,
            if stamped {
                Duration::from_secs(1)
            } else {
                Duration::from_millis(5)
            },
        )?;
        let woke = boot_now();
        if let (Some(before), Some(after)) = (before, self.lateness.so_far()) {
            // The first look found all of them empty, also those that are ready now.
            let none = Ready {
                full: ready.full,
                ..Ready::default()
            };
            self.were_empty(&none, woke.minus(after.saturating_sub(before) + WAKING));
        }
        Ok(ready)
    }

    /// Notes that what `ready` doesn't name was empty at `at`.
    fn were_empty(&mut self, ready: &Ready, at: BootNanos) {
        if !ready.new && !ready.full {
            self.none_came = self.none_came.max(at);
        }
        for (place, connection) in self.connections.iter_mut().enumerate() {
            let readable = ready.readable.get(place).copied().unwrap_or(false);
            // What comes on a held one is not looked at.
            if !readable && !connection.held {
                connection.was_empty(at);
            }
        }
    }

    fn look(&self, listener: &TcpListener, at_most: Duration) -> io::Result<Ready> {
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
        let timeout = Timespec::try_from(at_most).map_err(io::Error::other)?;
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let mut looks = fds[2..].iter().map(is_ready);
        Ok(Ready {
            any: fds.iter().any(is_ready),
            full,
            new: is_ready(&fds[1]),
            readable: self
                .connections
                .iter()
                .map(|it| !it.held && looks.next().unwrap_or(false))
                .collect(),
        })
    }
}
