//! The monitor at work: a thread for the readings, one for the listings, one for the logs, one for
//! HTTP, and one that does nothing but notice when none of them ran.

mod endpoints;
mod listings;
mod logs;
mod pulse;
mod readings;

use self::endpoints::poll_endpoints;
use self::listings::{list, listings};
use self::logs::Logs;
use self::pulse::pulse;
use self::readings::{may_look, rounds};
use super::belief::Belief;
use super::board::{Board, Place};
use super::notices::Notice;
use super::server;
use super::settings::{LeaseSettings, Settings};
use super::terms::Terms;
use super::untold::untold;
use leaseproof_model::clock::BootNanos;
use leaseproof_proc::clock::{boot_now, sleep_until};
use leaseproof_store::{StoreError, open_observer};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// How often the pulse beats, and logs are looked at.
const PULSE: Duration = Duration::from_millis(100);

/// What keeps the monitor from starting.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The address.
    #[error("metrics can't be served at {0}: {1}\n  name another address with listen in [watch], or --listen")]
    Listen(SocketAddr, std::io::Error),
    /// A prefix on a store that can't list.
    #[error("this store can't list the leases below `{0}`: name them by key in [[watch.lease]]")]
    NoListing(String),
    /// An owner's endpoint.
    #[error("the owner's endpoint {0} can't be used: {1}")]
    Endpoint(String, String),
    /// The system.
    #[error("{0}")]
    System(String),
}

/// A running monitor.
#[derive(Debug)]
pub struct Monitor {
    /// Where metrics are served.
    pub address: SocketAddr,
    board: Arc<Mutex<Board>>,
    notices: Receiver<Notice>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    runtime: Option<Runtime>,
}

/// What the threads share.
#[derive(Clone)]
struct Shared {
    board: Arc<Mutex<Board>>,
    notices: Sender<Notice>,
    stop: Arc<AtomicBool>,
}

impl Shared {
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Sleeps, but not beyond the end of it all.
    fn wait_until(&self, at: BootNanos) {
        while !self.stopped() && boot_now() < at {
            sleep_until(at.min(boot_now().plus(PULSE)));
        }
    }

    fn tell(&self, notices: Vec<Notice>) {
        for notice in notices {
            // Nobody listens any more: it ends.
            let _ = self.notices.send(notice);
        }
    }
}

/// Starts the monitor.
///
/// # Errors
/// When the store does not answer now, or refuses to show a lease of the plan, an address can't be used, or a prefix
/// can't be listed.
pub fn start(settings: &Settings) -> Result<Monitor, WatchError> {
    let mut observer = open_observer(&settings.store, settings.timeout)?;
    let facts = observer.facts().clone();
    let terms = Terms::new(settings.budget, &facts, settings.interval, settings.window);
    let mut board = Board::new(terms, settings.labels);
    // It has just answered.
    board.store.up = true;
    board.store.kind = facts.kind;
    board.store.version = facts.version;
    let places: Vec<Place> = settings
        .leases
        .iter()
        .map(|lease| board.add_named(lease.key.clone(), &lease.label, belief(lease)))
        .collect();
    let (sender, notices) = channel();
    let shared = Shared {
        board: Arc::new(Mutex::new(board)),
        notices: sender,
        stop: Arc::new(AtomicBool::new(false)),
    };
    let mut threads = Vec::new();
    if !settings.prefixes.is_empty() {
        let mut lister = open_observer(&settings.store, settings.timeout)?;
        // The first time at once, so that a refusal is seen before anything runs.
        list(&shared, lister.as_mut(), settings)??;
        let (shared, settings) = (shared.clone(), settings.clone());
        threads.push(thread("listings", move || {
            listings(&shared, lister.as_mut(), &settings)
        })?);
    }
    may_look(&shared, observer.as_mut())?;
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(4)
        .thread_name("http")
        .enable_all()
        .build()
        .map_err(|error| WatchError::System(format!("no event loop: {error}")))?;
    let listener = runtime
        .block_on(tokio::net::TcpListener::bind(settings.listen))
        .map_err(|error| WatchError::Listen(settings.listen, error))?;
    let address = listener
        .local_addr()
        .map_err(|error| WatchError::Listen(settings.listen, error))?;
    runtime.spawn(server::serve(listener, Arc::clone(&shared.board)));
    poll_endpoints(&runtime, &shared, settings, &places)?;
    if let Some(logs) = Logs::new(settings, &places) {
        let shared = shared.clone();
        threads.push(thread("logs", move || logs.follow(&shared))?);
    }
    let beat = shared.clone();
    threads.push(thread("pulse", move || pulse(&beat))?);
    let (reader, interval) = (shared.clone(), settings.interval);
    threads.push(thread("readings", move || rounds(&reader, observer, interval))?);
    Ok(Monitor {
        address,
        board: shared.board,
        notices,
        stop: shared.stop,
        threads,
        runtime: Some(runtime),
    })
}

impl Monitor {
    /// The board; readings wait while it is looked at.
    pub fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why nothing can be said by what is known now, each reason a line; none: it suffices.
    #[must_use]
    pub fn untold(&self) -> Vec<String> {
        untold(&self.board(), boot_now())
    }

    /// The next notice, if one comes within `patience`.
    #[must_use]
    pub fn notice(&self, patience: Duration) -> Option<Notice> {
        self.notices.recv_timeout(patience).ok()
    }

    /// Ends it.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A panic was told when it happened.
            let _ = thread.join();
        }
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.end();
    }
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, WatchError> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map_err(|error| WatchError::System(format!("no thread for {name}: {error}")))
}

fn belief(lease: &LeaseSettings) -> Option<Belief> {
    let owner = lease.owner.as_ref()?;
    Some(Belief {
        name: owner.name.as_deref().map(Box::from),
        ..Belief::default()
    })
}
