//! The warden outlives the signals that end its run.

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
