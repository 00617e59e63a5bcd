//! The monitor at work: a thread for the readings, one for the listings, one for the logs, one for
//! HTTP, and one that does nothing but notice when none of them ran.

use super::belief::{Belief, Claim, Report};
use super::board::{Board, Notice, Place};
use super::server;
use super::settings::{LeaseSettings, ReadAnswer, Settings, SourceSettings};
use super::sources::http::Fetcher;
use super::sources::log::LogReader;
use super::sources::tail::Tail;
use super::terms::Terms;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::Token;
use leaseproof_proc::clock::{boot_now, sleep_until, stamp_now};
use leaseproof_store::{Observe, StoreError, open_observer};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use url::Url;

/// How many leases are asked about before the board is told.
const AT_ONCE: usize = 512;

/// How often the pulse beats, and logs are looked at.
const PULSE: Duration = Duration::from_millis(100);

/// A key that is no lease is looked at again only each so many rounds: its value may be large.
const SELDOM: u64 = 30;

/// How many more leases than a prefix's bound are listed, so that those left out have a number.
const BEYOND: usize = 10_000;

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
/// When the store does not answer now, an address can't be used, or a prefix can't be listed.
pub fn start(settings: &Settings) -> Result<Monitor, WatchError> {
    let observer = open_observer(&settings.store, settings.timeout)?;
    let facts = observer.facts().clone();
    let terms = Terms::new(settings.budget, &facts, settings.interval, settings.window);
    let mut board = Board::new(terms, settings.labels);
    board.store.kind = facts.kind;
    board.store.version = facts.version;
    let places: Vec<Place> = settings
        .leases
        .iter()
        .map(|lease| board.add_named(&lease.key, &lease.label, belief(lease)))
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

/// Notices when nothing of us ran: whoever stops us, or takes the processor, stops this thread too.
fn pulse(shared: &Shared) {
    let mut due = boot_now();
    while !shared.stopped() {
        due = due.plus(PULSE);
        std::thread::sleep(due.since(boot_now()));
        let now = boot_now();
        let mut notices = Vec::new();
        shared.board().woke(now.since(due), now, &mut notices);
        shared.tell(notices);
        due = due.max(now);
    }
}

/// Rounds of readings, one an interval, spread over it.
fn rounds(shared: &Shared, mut observer: Box<dyn Observe>, interval: Duration) {
    let mut due = boot_now();
    while !shared.stopped() {
        let began = boot_now();
        round(shared, observer.as_mut(), due, interval);
        let now = boot_now();
        shared.board().own.round = now.since(began);
        // Missed rounds are not made up in a burst.
        due = due.plus(interval).max(now);
        while !shared.stopped() && boot_now() < due {
            sleep_until(due.min(boot_now().plus(PULSE)));
        }
    }
}

fn round(shared: &Shared, observer: &mut dyn Observe, due: BootNanos, interval: Duration) {
    let keys: Vec<(Place, Arc<str>)> = {
        let mut board = shared.board();
        board.own.rounds += 1;
        let seldom = !board.own.rounds.is_multiple_of(SELDOM);
        board
            .iter()
            .filter(|(_, entry)| !(seldom && entry.lease.unreadable.is_some()))
            .map(|(place, entry)| (place, Arc::clone(&entry.key)))
            .collect()
    };
    let parts = u32::try_from(keys.len().div_ceil(AT_ONCE)).unwrap_or(u32::MAX);
    for (part, keys) in (0_u32..).zip(keys.chunks(AT_ONCE)) {
        // Not all at once: the store has others to serve. A tenth of the interval is left for what is late.
        sleep_until(due.plus(interval * 9 / 10 * part / parts));
        if shared.stopped() {
            return;
        }
        let names: Vec<&str> = keys.iter().map(|(_, key)| &**key).collect();
        let answers = observer.read_many(&names);
        let stamp = stamp_now();
        let mut notices = Vec::new();
        let mut board = shared.board();
        match answers {
            Err(error) => {
                board.store_failed(error.to_string(), &mut notices);
                drop(board);
                shared.tell(notices);
                return;
            }
            Ok(answers) => {
                if let Some((at, reading)) = answers.iter().find_map(|it| it.as_ref().ok()) {
                    board.store_saw(*at, reading, stamp, &mut notices);
                }
                for ((place, _), answer) in keys.iter().zip(answers) {
                    match answer {
                        Ok((at, reading)) => board.lease_saw(*place, at, &reading, &mut notices),
                        Err(error) => board.unreadable(*place, error.to_string(), &mut notices),
                    }
                }
            }
        }
        drop(board);
        shared.tell(notices);
    }
    let mut board = shared.board();
    board.store.up = true;
    board.own.last_round = Some(stamp_now());
}

fn listings(shared: &Shared, lister: &mut dyn Observe, settings: &Settings) {
    let mut due = boot_now();
    while !shared.stopped() {
        due = due.plus(settings.rescan).max(boot_now());
        while !shared.stopped() && boot_now() < due {
            sleep_until(due.min(boot_now().plus(PULSE)));
        }
        if !shared.stopped() {
            // What the store does not answer the readings tell.
            let _ = list(shared, lister, settings);
        }
    }
}

type Listed = Result<Result<(), WatchError>, StoreError>;

/// Lists all prefixes once.
fn list(shared: &Shared, lister: &mut dyn Observe, settings: &Settings) -> Listed {
    let mut left_out = 0;
    for prefix in &settings.prefixes {
        let most = prefix.max.saturating_add(BEYOND);
        let Some(listing) = lister.leases_below(&prefix.prefix, most)? else {
            return Ok(Err(WatchError::NoListing(prefix.prefix.clone())));
        };
        let mut board = shared.board();
        let left = board.found(&prefix.prefix, prefix.max, &listing) + listing.not_text;
        if left > 0 && board.own.left_out == 0 {
            let _ = shared.notices.send(Notice::LeftOut {
                prefix: prefix.prefix.clone(),
                max: prefix.max,
            });
        }
        left_out += left;
    }
    shared.board().own.left_out = left_out;
    Ok(Ok(()))
}

/// Asks each endpoint once an interval, for all leases that it tells about.
fn poll_endpoints(runtime: &Runtime, shared: &Shared, settings: &Settings, places: &[Place]) -> Result<(), WatchError> {
    let mut endpoints: BTreeMap<&str, Vec<(Place, Arc<dyn ReadAnswer>)>> = BTreeMap::new();
    for (place, lease) in places.iter().zip(&settings.leases) {
        if let Some(SourceSettings::Endpoint { url, reader }) = lease.owner.as_ref().map(|owner| &owner.source) {
            endpoints.entry(url).or_default().push((*place, Arc::clone(reader)));
        }
    }
    if endpoints.is_empty() {
        return Ok(());
    }
    let patience = settings
        .interval
        .clamp(Duration::from_millis(500), Duration::from_secs(5));
    let fetcher = Fetcher::new(patience).map_err(WatchError::System)?;
    for (url, readers) in endpoints {
        let parsed = Url::parse(url).map_err(|error| WatchError::Endpoint(url.to_owned(), error.to_string()))?;
        runtime.spawn(poll(
            fetcher.clone(),
            parsed,
            readers,
            shared.clone(),
            settings.interval,
        ));
    }
    Ok(())
}

async fn poll(
    fetcher: Fetcher,
    url: Url,
    readers: Vec<(Place, Arc<dyn ReadAnswer>)>,
    shared: Shared,
    interval: Duration,
) {
    let mut beat = tokio::time::interval(interval);
    beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        beat.tick().await;
        let asked = boot_now();
        let body = fetcher.get(&url).await;
        let at = Moment::between(asked, boot_now());
        let heard: Vec<_> = readers
            .iter()
            .map(|(place, reader)| {
                (
                    *place,
                    body.as_ref().map_err(Clone::clone).and_then(|body| reader.read(body)),
                )
            })
            .collect();
        let mut notices = Vec::new();
        {
            let mut board = shared.board();
            for (place, answer) in heard {
                match answer {
                    Err(why) => board.belief_failed(place, &why),
                    Ok(answer) => {
                        let report = Report {
                            at,
                            claim: if answer.holds { Claim::Holds } else { Claim::Free },
                            token: answer.token.map(Token),
                            since: None,
                        };
                        board.reported(place, report, &mut notices);
                    }
                }
            }
        }
        shared.tell(notices);
    }
}

/// The logs under watch.
struct Logs {
    logs: Vec<OneLog>,
    settings: Settings,
    pause: Duration,
}

struct OneLog {
    place: Place,
    tail: Tail,
    reader: LogReader,
    /// When it was last seen to have nothing more.
    looked: BootNanos,
}

impl Logs {
    fn new(settings: &Settings, places: &[Place]) -> Option<Self> {
        let logs: Vec<OneLog> = places
            .iter()
            .zip(&settings.leases)
            .filter_map(|(place, lease)| match &lease.owner.as_ref()?.source {
                SourceSettings::Log(path) => Some(OneLog {
                    place: *place,
                    tail: Tail::new(path),
                    reader: LogReader::default(),
                    looked: BootNanos(0),
                }),
                SourceSettings::Endpoint { .. } => None,
            })
            .collect();
        let pause = if logs.len() > 50 { settings.interval } else { PULSE };
        (!logs.is_empty()).then(|| Self {
            logs,
            settings: settings.clone(),
            pause: pause.min(Duration::from_secs(1)),
        })
    }

    fn follow(mut self, shared: &Shared) {
        while !shared.stopped() {
            for log in &mut self.logs {
                log.look(shared, &self.settings);
            }
            let dropped = self.logs.iter().map(|log| log.tail.dropped).sum();
            shared.board().own.log_dropped = dropped;
            std::thread::sleep(self.pause);
        }
    }
}

impl OneLog {
    fn look(&mut self, shared: &Shared, settings: &Settings) {
        let asked = boot_now();
        let looked = match self.tail.look() {
            Ok(looked) => looked,
            Err(error) => {
                shared.board().belief_failed(self.place, &error.to_string());
                return;
            }
        };
        if looked.restarted {
            self.reader.restart();
        }
        let earliest = if looked.old { BootNanos(0) } else { self.looked };
        let arrived = Moment::between(earliest, boot_now());
        self.looked = asked;
        let reports: Vec<Report> = looked
            .lines
            .iter()
            .filter_map(|line| self.reader.line(&(settings.read_line)(line)?, arrived))
            .collect();
        if reports.is_empty() {
            return;
        }
        let mut notices = Vec::new();
        {
            let mut board = shared.board();
            for report in reports {
                board.reported(self.place, report, &mut notices);
            }
        }
        shared.tell(notices);
    }
}
