//! The start of a command: a small process of our own binary joins the control group, waits until its guardian has
//! armed the fuse, and becomes the command under the same pid.
//!
//! Nothing of the command runs before it is in its group, and under the fuse.

use crate::inherited;
use leaseproof_proc::cgroup::Cgroup;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// The hidden first argument of this process.
pub const WORD: &str = "__hold_start";

/// As a shell has it: found, and can't be run.
pub const NOT_EXECUTABLE: u8 = 126;
/// As a shell has it.
pub const NOT_FOUND: u8 = 127;

/// `args` are those after [`WORD`]: the socket's number, the control group or `-`, the command.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut args = args.into_iter();
    let (Some(number), Some(group), Some(program)) = (args.next(), args.next(), args.next()) else {
        return ExitCode::from(NOT_EXECUTABLE);
    };
    let Ok(line) = inherited::take(&number.to_string_lossy()) else {
        return ExitCode::from(NOT_EXECUTABLE);
    };
    let mut line = UnixStream::from(line);
    let error = match join_and_wait(&mut line, &group) {
        // Its guardian is gone: nobody wants the command.
        Ok(false) => return ExitCode::from(NOT_EXECUTABLE),
        Ok(true) => Command::new(&program).args(args).exec(),
        Err(error) => error,
    };
    let status = status_of(&error);
    let _ = line.write_all(format!("{status} {error}").as_bytes());
    ExitCode::from(status)
}

/// The exit status of a command that can't be run.
#[must_use]
pub fn status_of(error: &io::Error) -> u8 {
    if error.kind() == io::ErrorKind::NotFound {
        NOT_FOUND
    } else {
        NOT_EXECUTABLE
    }
}

fn join_and_wait(line: &mut UnixStream, group: &OsString) -> io::Result<bool> {
    if group != "-" {
        Cgroup::at(group)
            .add(std::process::id())
            .map_err(|error| io::Error::other(format!("its control group can't be joined: {error}")))?;
    }
    line.write_all(b"r")?;
    let mut byte = [0];
    Ok(line.read(&mut byte)? == 1)
}
