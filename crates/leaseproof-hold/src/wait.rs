//! What a process of ours waits for.

use leaseproof_model::clock::BootNanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec as TimerTime, timerfd_create, timerfd_settime,
};
use signal_hook::consts::SIGCHLD;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Waits until one of them is readable, or the span is over. An interrupted wait is over too: the caller looks at
/// everything anyway.
pub fn wait_for(fds: &[BorrowedFd<'_>], span: Option<Duration>) {
    let mut fds: Vec<PollFd<'_>> = fds
        .iter()
        .map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN))
        .collect();
    let span = span.map(|span| Timespec {
        tv_sec: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(span.subsec_nanos()),
    });
    let _ = poll(&mut fds, span.as_ref());
}

/// A timer on CLOCK_BOOTTIME, so that a suspended machine's time counts.
#[derive(Debug)]
pub struct Alarm(OwnedFd);

impl Alarm {
    /// One that is not set.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn new() -> io::Result<Self> {
        Ok(Self(timerfd_create(
            TimerfdClockId::Boottime,
            TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
        )?))
    }

    /// Readable from `at` on, until it is set again.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set(&self, at: BootNanos) -> io::Result<()> {
        let never = TimerTime { tv_sec: 0, tv_nsec: 0 };
        // Zero would be never.
        let at = at.0.max(1);
        let when = Itimerspec {
            it_interval: never,
            it_value: TimerTime {
                tv_sec: i64::try_from(at / 1_000_000_000).unwrap_or(i64::MAX),
                tv_nsec: i64::try_from(at % 1_000_000_000).unwrap_or(0),
            },
        };
        timerfd_settime(&self.0, TimerfdTimerFlags::ABSTIME, &when)?;
        Ok(())
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The end of children, as something that can be waited for.
#[derive(Debug)]
pub struct Children(UnixStream);

impl Children {
    /// From now on.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn watch() -> io::Result<Self> {
        let (woken, wakes) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(SIGCHLD, wakes)?;
        Ok(Self(woken))
    }

    /// Forgets what was said so far.
    pub fn drain(&self) {
        drain(&self.0);
    }
}

impl AsFd for Children {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Reads what is there.
pub fn drain(mut socket: &UnixStream) {
    let mut chunk = [0; 256];
    while socket.read(&mut chunk).is_ok_and(|length| length > 0) {}
}
