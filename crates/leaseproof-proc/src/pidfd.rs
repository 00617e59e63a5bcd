//! A process held by a file descriptor: signals through it never reach a stranger.

use crate::{identity, stat};
use leaseproof_model::name::ProcessId;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// One process, held.
#[derive(Debug)]
pub struct PidFd {
    id: ProcessId,
    fd: OwnedFd,
}

impl PidFd {
    /// Opens `id`. The pid is looked at again after opening, so that a pid that was used anew in
    /// between is refused.
    ///
    /// # Errors
    /// `NotFound` when this process is gone (or another has its pid); else what the kernel says.
    pub fn open(id: ProcessId) -> io::Result<Self> {
        let gone = || io::Error::new(io::ErrorKind::NotFound, format!("process {} is gone", id.pid));
        let pid = i32::try_from(id.pid).ok().and_then(Pid::from_raw).ok_or_else(gone)?;
        let fd = match pidfd_open(pid, PidfdFlags::empty()) {
            Err(Errno::SRCH) => return Err(gone()),
            other => other?,
        };
        if identity::identify(id.pid).map_err(|_| gone())? != id {
            return Err(gone());
        }
        Ok(Self { id, fd })
    }

    /// Which process it holds.
    #[must_use]
    pub fn id(&self) -> ProcessId {
        self.id
    }

    /// Sends a signal; `false` when the process is gone.
    ///
    /// # Errors
    /// When the kernel refuses (another user's process).
    pub fn signal(&self, signal: Signal) -> io::Result<bool> {
        match pidfd_send_signal(&self.fd, signal) {
            Ok(()) => Ok(true),
            Err(Errno::SRCH) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Whether it has ended (it may still wait to be reaped).
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.wait_ended(Duration::ZERO)
    }

    /// Waits until it has ended, at most `timeout`; whether it has.
    #[must_use]
    pub fn wait_ended(&self, timeout: Duration) -> bool {
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
        let timeout = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(timeout.subsec_nanos()),
        };
        match poll(&mut fds, Some(&timeout)) {
            Ok(0) => false,
            Ok(_) => true,
            // An interrupted wait answers what is known now.
            Err(_) => !stat::read(self.id.pid).is_ok_and(|row| row.id == self.id && !row.is_over()),
        }
    }
}

impl AsFd for PidFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
