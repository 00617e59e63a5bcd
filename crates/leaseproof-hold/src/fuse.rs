//! The fuse: the kernel kills the command at the deadline, though nobody of us may run.
//!
//! Two facts of the kernel make it. A POSIX timer sends its own process a SIGKILL, also while that is stopped or
//! frozen; the guardian moves it on with each renewal. And a pipe whose other end closes sends the signal of
//! `F_SETSIG` to the process group of `F_SETOWN`; both ends of the pipe are the guardian's alone, so that they close
//! when it dies, of this or of anything else.

use leaseproof_model::clock::BootNanos;
use rustix::pipe::{PipeFlags, pipe_with};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::null_mut;

/// The most process groups that are covered: each costs two descriptors.
const MOST: usize = 64;

/// Whom it kills.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Covered {
    /// Every process of this group.
    Group(i32),
    /// One process.
    Process(i32),
}

/// See the module.
#[derive(Debug)]
pub struct Fuse {
    timer: Option<libc::timer_t>,
    pipes: Vec<(Covered, OwnedFd, OwnedFd)>,
}

impl Fuse {
    /// One that covers nobody, and does not burn.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            timer: Some(kernel::new_timer()?),
            pipes: Vec::new(),
        })
    }

    /// One that only the death of this process blows: it has other things to do after a deadline than to die.
    #[must_use]
    pub fn without_timer() -> Self {
        Self {
            timer: None,
            pipes: Vec::new(),
        }
    }

    /// It blows at `at`. Zero: never.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn burn_until(&self, at: BootNanos) -> io::Result<()> {
        self.timer.map_or(Ok(()), |timer| kernel::set_timer(timer, at))
    }

    /// Covers these as well; the descriptor of their pipe, if they were not covered yet.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn cover(&mut self, whom: Covered) -> io::Result<Option<i32>> {
        if self.pipes.len() >= MOST || self.pipes.iter().any(|(known, ..)| *known == whom) {
            return Ok(None);
        }
        // Closed at exec: the command must not hold an end. Which end closes first at death nobody promises, so both
        // are made to tell.
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
        for end in [&reader, &writer] {
            kernel::tell(end.as_raw_fd(), whom)?;
        }
        let number = reader.as_raw_fd();
        self.pipes.push((whom, reader, writer));
        Ok(Some(number))
    }

    /// Covers nobody any more, and kills nobody: their tree is gone.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn put_out(&mut self) -> io::Result<()> {
        self.burn_until(BootNanos(0))?;
        for (_, reader, writer) in self.pipes.drain(..) {
            for end in [&reader, &writer] {
                kernel::tell_nobody(end.as_raw_fd())?;
            }
        }
        Ok(())
    }
}

#[expect(unsafe_code, reason = "neither std nor rustix has POSIX timers or F_SETSIG")]
mod kernel {
    use super::*;

    pub(super) fn new_timer() -> io::Result<libc::timer_t> {
        // SAFETY: all-zero is a valid value of this plain C structure.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_SIGNAL;
        event.sigev_signo = libc::SIGKILL;
        let mut timer = null_mut();
        // SAFETY: both pointers are to locals that outlive the call.
        done(unsafe { libc::timer_create(libc::CLOCK_BOOTTIME, &raw mut event, &raw mut timer) })?;
        Ok(timer)
    }

    pub(super) fn set_timer(timer: libc::timer_t, at: BootNanos) -> io::Result<()> {
        // SAFETY: all-zero is a valid value of this plain C structure: a timer that never fires.
        let mut when: libc::itimerspec = unsafe { std::mem::zeroed() };
        when.it_value.tv_sec = libc::time_t::try_from(at.0 / 1_000_000_000).unwrap_or(libc::time_t::MAX);
        when.it_value.tv_nsec = libc::c_long::try_from(at.0 % 1_000_000_000).unwrap_or(0);
        // SAFETY: the timer is this process's own and never deleted; the structure outlives the call.
        done(unsafe { libc::timer_settime(timer, libc::TIMER_ABSTIME, &raw const when, null_mut()) })
    }

    pub(super) fn tell(end: i32, whom: Covered) -> io::Result<()> {
        let owner = match whom {
            Covered::Group(group) => -group,
            Covered::Process(pid) => pid,
        };
        // SAFETY: these read and write no memory; the descriptor is open, its owner holds it.
        unsafe {
            done(libc::fcntl(end, libc::F_SETOWN, owner))?;
            done(libc::fcntl(end, F_SETSIG, libc::SIGKILL))?;
            flags(end, libc::O_ASYNC, true)
        }
    }

    pub(super) fn tell_nobody(end: i32) -> io::Result<()> {
        // SAFETY: as above.
        unsafe { flags(end, libc::O_ASYNC, false) }
    }

    /// From the kernel's `fcntl.h`: the libc crate names it for other systems only.
    const F_SETSIG: i32 = 10;

    unsafe fn flags(end: i32, flag: i32, on: bool) -> io::Result<()> {
        // SAFETY: the caller's: the descriptor is open.
        unsafe {
            let before = libc::fcntl(end, libc::F_GETFL);
            done(before.min(0))?;
            let after = if on { before | flag } else { before & !flag };
            done(libc::fcntl(end, libc::F_SETFL, after))
        }
    }

    fn done(result: i32) -> io::Result<()> {
        if result < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }
}
