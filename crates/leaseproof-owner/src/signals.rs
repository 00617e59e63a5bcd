//! The request to release, as something that can be waited for.

use signal_hook::consts::{SIGINT, SIGTERM};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// SIGTERM and SIGINT, seen as a readable descriptor and a flag.
#[derive(Debug)]
pub struct Signals {
    woken: UnixStream,
    asked: Arc<AtomicBool>,
}

impl Signals {
    /// Takes over both signals.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn take() -> io::Result<Self> {
        let (woken, wakes) = UnixStream::pair()?;
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGINT] {
            // The flag first: whoever is woken must see it.
            signal_hook::flag::register(signal, Arc::clone(&asked))?;
            signal_hook::low_level::pipe::register(signal, wakes.try_clone()?)?;
        }
        Ok(Self { woken, asked })
    }

    /// Whether it was asked to release.
    #[must_use]
    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    /// What becomes readable when it is.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.woken.as_fd()
    }
}
