//! Descriptors that one of our own processes hands to another, by number.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

/// A duplicate that a started program inherits. It is to be dropped once the program has started.
///
/// # Errors
/// What the kernel says.
pub fn lend(fd: impl AsFd) -> io::Result<(OwnedFd, String)> {
    // Not closed at exec, unlike what std makes.
    let lent = rustix::io::dup(fd)?;
    let number = lent.as_raw_fd().to_string();
    Ok((lent, number))
}

/// Takes what was lent under this number; it is closed at exec from here on.
///
/// # Errors
/// When the text is no number of an open descriptor beyond the three that every program has.
pub fn take(number: &str) -> io::Result<OwnedFd> {
    let wrong = || {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("no descriptor {number:?} was handed over"),
        )
    };
    let raw: RawFd = number.parse().map_err(|_| wrong())?;
    if raw <= 2 {
        return Err(wrong());
    }
    let fd = own(raw);
    match rustix::io::fcntl_setfd(&fd, rustix::io::FdFlags::CLOEXEC) {
        Ok(()) => Ok(fd),
        Err(_) => {
            // There is no such descriptor, so there is nothing to close.
            std::mem::forget(fd);
            Err(wrong())
        }
    }
}

#[expect(unsafe_code, reason = "a number becomes a descriptor in no other way")]
fn own(raw: RawFd) -> OwnedFd {
    // SAFETY: called at the start of a process that our own program started, for a number that its arguments name,
    // before anything else is opened; nobody else owns it.
    unsafe { OwnedFd::from_raw_fd(raw) }
}
