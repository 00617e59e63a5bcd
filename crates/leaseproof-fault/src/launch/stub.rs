//! The stub: waits for one byte, becomes the command. The session of its own it was started in.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// The status of a stub that never became its command. Nobody takes it for the owner's: the line
/// tells the launch first.
const NEVER_RAN: u8 = 125;

/// The stub's main. `args` are those after [`STUB_WORD`](super::STUB_WORD): variables for the
/// command, `--`, the command.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut args = args.into_iter();
    let settings: Vec<OsString> = args.by_ref().take_while(|arg| arg != "--").collect();
    let (Some(program), Ok(mut line)) = (args.next(), take_line()) else {
        return ExitCode::from(NEVER_RAN);
    };
    let why = match wait_for_the_byte(&mut line) {
        Ok(false) => return ExitCode::from(NEVER_RAN),
        Ok(true) => become_command(&program, args, &settings),
        Err(error) => error,
    };
    let _ = line.write_all(why.to_string().as_bytes());
    ExitCode::from(NEVER_RAN)
}

/// The line comes as standard input; the command gets an empty one instead. The duplicate closes
/// when the command begins, which is how the launch learns of it.
fn take_line() -> io::Result<UnixStream> {
    let line = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(line)
}

fn wait_for_the_byte(line: &mut UnixStream) -> io::Result<bool> {
    line.write_all(b"r")?;
    let mut byte = [0];
    Ok(line.read(&mut byte)? == 1)
}

fn become_command(program: &OsString, args: impl Iterator<Item = OsString>, settings: &[OsString]) -> io::Error {
    let ourselves = program == "leaseproof";
    let mut command = Command::new(if ourselves {
        "/proc/self/exe".as_ref()
    } else {
        program.as_os_str()
    });
    if ourselves {
        // Where the name of the binary shows, it is the true one.
        command.arg0(env::current_exe().map_or_else(|_| program.clone(), OsString::from));
    }
    for setting in settings {
        let bytes = setting.as_bytes();
        if let Some(at) = bytes.iter().position(|&byte| byte == b'=') {
            command.env(
                OsString::from_vec(bytes[..at].to_vec()),
                OsString::from_vec(bytes[at + 1..].to_vec()),
            );
        }
    }
    command.args(args).exec()
}
