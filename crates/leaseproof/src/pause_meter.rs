//! How long this process was stopped, at worst: what `worst_pause` in the budget is to be compared with.

use leaseproof_store::boot_now;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long each sleep is meant to be.
const SLEEP: Duration = Duration::from_millis(1);

/// A thread that sleeps a millisecond again and again, and keeps by how much it overslept at worst.
///
/// It sees whatever stops the whole process, or starves it: a stop signal, a freezer, throttling, a suspended
/// machine, a collection that stops all threads. It costs about a thousand wake-ups a second.
#[derive(Debug)]
pub struct PauseMeter {
    worst_ns: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl PauseMeter {
    /// Starts it.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start() -> io::Result<Self> {
        let worst_ns = Arc::new(AtomicU64::new(0));
        let stop = Arc::new(AtomicBool::new(false));
        let (worst, end) = (Arc::clone(&worst_ns), Arc::clone(&stop));
        let thread = std::thread::Builder::new()
            .name("pause-meter".to_owned())
            .spawn(move || {
                let mut before = boot_now();
                while !end.load(Ordering::Relaxed) {
                    std::thread::sleep(SLEEP);
                    let now = boot_now();
                    let excess = now.since(before).saturating_sub(SLEEP);
                    worst.fetch_max(u64::try_from(excess.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
                    before = now;
                }
            })?;
        Ok(Self {
            worst_ns,
            stop,
            thread: Some(thread),
        })
    }

    /// The worst so far, to about 0.1 ms on an idle machine.
    #[must_use]
    pub fn worst(&self) -> Duration {
        Duration::from_nanos(self.worst_ns.load(Ordering::Relaxed))
    }
}

impl Drop for PauseMeter {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It can't have panicked: it does arithmetic only.
            let _ = thread.join();
        }
    }
}
