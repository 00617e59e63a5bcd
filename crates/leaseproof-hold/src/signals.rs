//! Signals to `hold`, as something that can be waited for. One that was ignored when it started stays ignored, for
//! the command as well: that is how `nohup` works.

use crate::wait::drain;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, io};

/// What is passed on.
const TAKEN: [i32; 6] = [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2];

/// What must not hold a guardian up, nor end it.
const SHUNNED: [i32; 9] = [
    SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGTTIN, SIGTTOU,
];

/// See the module.
#[derive(Debug)]
pub struct Signals {
    woken: UnixStream,
    came: Vec<(i32, Arc<AtomicBool>)>,
}

impl Signals {
    /// Takes them over.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn take() -> io::Result<Self> {
        let (woken, wakes) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        let ignored = ignored();
        let mut came = Vec::new();
        for signal in TAKEN.into_iter().filter(|signal| !ignored.contains(signal)) {
            let flag = Arc::new(AtomicBool::new(false));
            // The flag first: whoever is woken must see it.
            signal_hook::flag::register(signal, Arc::clone(&flag))?;
            signal_hook::low_level::pipe::register(signal, wakes.try_clone()?)?;
            came.push((signal, flag));
        }
        Ok(Self { woken, came })
    }

    /// Those that came since the last call.
    pub fn pending(&self) -> Vec<i32> {
        drain(&self.woken);
        let came = self.came.iter().filter(|(_, flag)| flag.swap(false, Ordering::SeqCst));
        came.map(|(signal, _)| *signal).collect()
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.woken.as_fd()
    }
}

/// Lets signals that a terminal, or a `kill` of the whole group, may send pass by. They are handled and not ignored:
/// an ignored one would stay so in the command.
///
/// # Errors
/// When the system refuses.
pub fn shun() -> io::Result<()> {
    let ignored = ignored();
    for signal in SHUNNED.into_iter().filter(|signal| !ignored.contains(signal)) {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    Ok(())
}

/// The signals that this process was started to ignore.
fn ignored() -> Vec<i32> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask
        .and_then(|text| u64::from_str_radix(text.trim(), 16).ok())
        .unwrap_or(0);
    (1..=64).filter(|signal| mask & (1 << (signal - 1)) != 0).collect()
}
