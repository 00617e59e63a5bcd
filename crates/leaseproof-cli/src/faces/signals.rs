//! Ctrl-C and Ctrl-Z: a flag that the run watches, so that every guard undoes its fault on the way out.

use leaseproof_model::verdict::Verdict;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// The watch.
pub struct Stop {
    /// Set once the run must end.
    pub flag: Arc<AtomicBool>,
    suspend: Arc<AtomicBool>,
}

/// So many Ctrl-C and we leave everything to the warden.
const IMPATIENT: u8 = 3;

/// Starts watching. Without a thread for it, the signals keep their usual meaning, and the warden undoes.
pub fn watch() -> Stop {
    let stop = Stop {
        flag: Arc::new(AtomicBool::new(false)),
        suspend: Arc::new(AtomicBool::new(false)),
    };
    let (flag, suspend) = (Arc::clone(&stop.flag), Arc::clone(&stop.suspend));
    let asked = AtomicU8::new(0);
    if let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGTSTP]) {
        std::thread::spawn(move || {
            for signal in &mut signals {
                flag.store(true, Ordering::Relaxed);
                if signal == SIGTSTP {
                    suspend.store(true, Ordering::Relaxed);
                } else if asked.fetch_add(1, Ordering::Relaxed) + 1 >= IMPATIENT {
                    eprintln!(
                        "ended at once: the warden undoes every fault and ends the owners; the bundle is partial, \
                         and the run's keys and store files are left"
                    );
                    std::process::exit(i32::from(Verdict::CannotTell.exit_status()));
                }
            }
        });
    }
    stop
}

impl Stop {
    /// Stops this process, if Ctrl-Z asked for it; returns after `fg`.
    pub fn suspend_if_asked(&self) {
        if self.suspend.swap(false, Ordering::Relaxed) {
            eprintln!("everything is undone and the owners are ended; after `fg` the partial bundle is closed");
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP);
        }
    }
}
