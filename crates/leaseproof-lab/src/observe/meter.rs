//! The starvation meter: how late an ordinary thread wakes on this machine.
//!
//! The lab's own threads are raised, so that a busy machine doesn't make them late; the owners' are not.
//! An owner that was starved of the CPU may lose its lease without any fault of its code. This thread is
//! ordinary, as the owner's are: where it wakes late, so may they, and no loss of a lease is held against
//! them then.

use crate::bundle::Recorder;
use leaseproof_model::event::{Source, What};
use leaseproof_model::moment::Moment;
use leaseproof_proc::clock::boot_now;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long it sleeps between two looks at the clock.
const NAP: Duration = Duration::from_millis(10);

/// A running meter; it stops when dropped.
pub struct Meter {
    stop: Arc<AtomicBool>,
    told: Arc<Mutex<Vec<Recorder>>>,
    thread: Option<JoinHandle<()>>,
}

impl Meter {
    /// Starts it; a wake-up that is late by `bound` or more is told to every record that listens.
    ///
    /// # Errors
    /// When no thread can be had.
    pub fn start(bound: Duration) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let told: Arc<Mutex<Vec<Recorder>>> = Arc::default();
        let (stopped, listeners) = (Arc::clone(&stop), Arc::clone(&told));
        let thread = std::thread::Builder::new()
            .name("meter".to_owned())
            .stack_size(128 << 10)
            .spawn(move || {
                while !stopped.load(Ordering::Relaxed) {
                    let asked = boot_now();
                    std::thread::sleep(NAP);
                    let woke = boot_now();
                    let by = woke.since(asked.plus(NAP));
                    if by >= bound {
                        let at = Moment::between(asked.plus(NAP), woke);
                        for recorder in listeners.lock().unwrap_or_else(PoisonError::into_inner).iter() {
                            recorder.record(Source::Lab, None, at, What::Starved { by });
                        }
                    }
                }
            })?;
        Ok(Self {
            stop,
            told,
            thread: Some(thread),
        })
    }

    /// Tells this record from now on.
    pub fn tell(&self, recorder: &Recorder) {
        self.told
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(recorder.clone());
    }

    /// Tells it no more: its scenario is over.
    pub fn forget(&self, recorder: &Recorder) {
        self.told
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|it| !it.is(recorder));
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
