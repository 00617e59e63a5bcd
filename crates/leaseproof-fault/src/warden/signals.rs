//! The warden outlives the signals that end its run; nor do these reach what the run starts.

use rustix::process::setsid;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Puts a process-to-be into a session of its own before it becomes our binary: a Ctrl-C that comes while it
/// starts, before it can ignore anything, goes to the terminal's group and must not find it there. A Ctrl-Z would
/// stop it for good, and us with it, since we wait for it to become our binary.
#[expect(unsafe_code, reason = "std can't start a process in a session of its own")]
pub(crate) fn apart(command: &mut Command) {
    // SAFETY: between fork and exec only async-signal-safe calls may be made; setsid is one, it is a plain
    // system call here, and turning its error into an `io::Error` allocates nothing.
    unsafe {
        command.pre_exec(|| Ok(setsid().map(drop)?));
    }
}

/// Ignores what a terminal, a service manager or a shutdown sends to a whole group: the warden ends
/// by itself as soon as the run is gone and all is undone, and not before.
#[expect(unsafe_code, reason = "std has no way to ignore a signal")]
pub(super) fn ignore() {
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGTSTP] {
        // SAFETY: setting a signal to "ignored" installs no handler, so no code of ours can run at
        // a bad moment; it is done before the warden does anything else.
        unsafe {
            libc::signal(signal, libc::SIG_IGN);
        }
    }
}
