//! What the store shows, looked at all the time: the truth about who held the lease when.

use super::stage::lock;
use leaseproof_model::clock::BootNanos;
use leaseproof_proc::clock::stamp_now;
use leaseproof_store::{StoreUrl, open_observer};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a look may take.
const TIMEOUT: Duration = Duration::from_millis(800);
/// Between two looks.
const BETWEEN: Duration = Duration::from_millis(20);

/// A change of what the store shows.
#[derive(Clone, PartialEq, Debug)]
pub struct Seen {
    /// It was so from between these (ns since 1970).
    pub earliest: i64,
    pub latest: i64,
    pub holder: Option<String>,
    pub token: Option<u64>,
}

/// The thread that looks.
pub struct Looks {
    seen: Arc<Mutex<Vec<Seen>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Looks {
    /// Begins to look.
    ///
    /// # Errors
    /// When the URL is none.
    pub fn start(url: &str, key: &str) -> Result<Self, String> {
        let url = url.parse::<StoreUrl>().map_err(|error| format!("{url}: {error}"))?;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let (theirs, stopped, key) = (Arc::clone(&seen), Arc::clone(&stop), key.to_owned());
        let thread = std::thread::spawn(move || look(&url, &key, &theirs, &stopped));
        Ok(Self {
            seen,
            stop,
            thread: Some(thread),
        })
    }

    /// All changes so far.
    pub fn all(&self) -> Vec<Seen> {
        lock(&self.seen).clone()
    }

    /// Who holds it now.
    pub fn holder(&self) -> Option<String> {
        lock(&self.seen).last().and_then(|it| it.holder.clone())
    }

    /// Waits until what is seen is as wanted.
    pub fn wait(&self, patience: Duration, wanted: impl Fn(&[Seen]) -> bool) -> bool {
        let until = Instant::now() + patience;
        loop {
            if wanted(&lock(&self.seen)) {
                return true;
            }
            if Instant::now() > until {
                return false;
            }
            std::thread::sleep(BETWEEN);
        }
    }
}

impl Drop for Looks {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn look(url: &StoreUrl, key: &str, seen: &Mutex<Vec<Seen>>, stop: &AtomicBool) {
    let now = stamp_now();
    let boot_to_wall = now.wall.0 - i64::try_from(now.boot.0).unwrap_or(0);
    let wall = |at: BootNanos| i64::try_from(at.0).unwrap_or(0) + boot_to_wall;
    let mut observer = None;
    let mut last = wall(now.boot);
    while !stop.load(Ordering::SeqCst) {
        std::thread::sleep(BETWEEN);
        let Some(open) = &mut observer else {
            observer = open_observer(url, TIMEOUT).ok();
            continue;
        };
        let Ok((at, reading)) = open.read(key) else {
            observer = None;
            continue;
        };
        let held = reading.held.filter(|it| !it.expired);
        let now = Seen {
            earliest: last,
            latest: wall(at.latest),
            holder: held.as_ref().map(|it| it.holder.to_string()),
            token: held.as_ref().and_then(|it| it.token).map(|it| it.0),
        };
        last = wall(at.earliest);
        let mut seen = lock(seen);
        if seen.last().map(|it| &it.holder) != Some(&now.holder) {
            seen.push(now);
        }
    }
}
