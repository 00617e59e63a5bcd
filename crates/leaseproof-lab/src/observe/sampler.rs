//! The sampler: reads the lease again and again on a thread of its own, and records what changes.
//!
//! Far from any expected change it reads at a calm rate. Near the expiry it reads quickly, so that the
//! end of a grant and the begin of the next are known to a few milliseconds.

use super::sameness::same_state;
use crate::bundle::Recorder;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Coverage, Reading, Source, What};
use leaseproof_model::moment::Moment;
use leaseproof_proc::clock::boot_now;
use leaseproof_store::{Observe, StoreError};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often to look.
#[derive(Clone, Copy, Debug)]
pub struct SamplerSettings {
    /// Far from any expected change.
    pub calm: Duration,
    /// Around the expiry, and while a successor is awaited.
    pub quick: Duration,
    /// A gap between two looks that is longer than this ends the coverage.
    pub gap: Duration,
}

/// An unchanged state is recorded anyway this often, so that the record shows that somebody looked.
const STILL: Duration = Duration::from_millis(500);

/// A write lock that stays away for this long, past an expiry, is held by a frozen writer.
const FROZEN: Duration = Duration::from_millis(400);

/// No member is preferred to the one that was asked before.
const AS_BEFORE: usize = usize::MAX;

/// Between two looks at whether looking goes on.
const RESTING: Duration = Duration::from_millis(3);

/// A running sampler; it stops when dropped.
pub struct Sampler {
    stop: Arc<AtomicBool>,
    excused: Arc<AtomicBool>,
    resting: Arc<AtomicBool>,
    preferred: Arc<AtomicUsize>,
    looked: Arc<AtomicU64>,
    strange: Arc<Mutex<Option<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Starts looking at `key`.
    ///
    /// # Errors
    /// When no thread can be had.
    pub fn start(
        observer: Box<dyn Observe>,
        key: String,
        recorder: Recorder,
        settings: SamplerSettings,
    ) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let excused = Arc::new(AtomicBool::new(false));
        let excuse = Arc::clone(&excused);
        let resting = Arc::new(AtomicBool::new(false));
        let rests = Arc::clone(&resting);
        let preferred = Arc::new(AtomicUsize::new(AS_BEFORE));
        let prefers = Arc::clone(&preferred);
        let looked = Arc::new(AtomicU64::new(0));
        let looking = Arc::clone(&looked);
        let strange = Arc::new(Mutex::new(None));
        let estranged = Arc::clone(&strange);
        let thread = std::thread::Builder::new()
            .name("sampler".to_owned())
            .stack_size(256 << 10)
            .spawn(move || {
                // A gap between two looks costs a cycle: an ordinary thread waits its turn behind a build.
                let _ = leaseproof_proc::priority::raise_this_thread();
                let mut look = Look {
                    observer,
                    key,
                    recorder,
                    settings,
                    last: None,
                    untold: None,
                    told: None,
                    span: None,
                    blocked_since: None,
                    excused: excuse,
                    strange: estranged,
                };
                let mut more = true;
                // One look comes after the stop was asked for: the story's end is covered too.
                while more {
                    more = !stopped.load(Ordering::Relaxed);
                    if more && rests.load(Ordering::Acquire) {
                        std::thread::sleep(RESTING);
                        continue;
                    }
                    let member = prefers.swap(AS_BEFORE, Ordering::Relaxed);
                    if member != AS_BEFORE {
                        look.observer.prefer(member);
                    }
                    let pace = look.once();
                    looking.store(look.last.as_ref().map_or(0, |(at, _)| at.latest.0), Ordering::Relaxed);
                    std::thread::sleep(pace);
                }
                look.close();
            })?;
        Ok(Self {
            stop,
            excused,
            resting,
            preferred,
            looked,
            strange,
            thread: Some(thread),
        })
    }

    /// Says that the store is down by our own doing: looks that fail meanwhile are no lateness of ours.
    pub fn excuse(&self, excused: bool) {
        self.excused.store(excused, Ordering::Relaxed);
    }

    /// Stops looking for a while, or goes on: a store that can't answer is not asked in vain, and answers the
    /// first question sooner.
    pub fn rest(&self, resting: bool) {
        self.resting.store(resting, Ordering::Release);
    }

    /// Looks through this member of the store from now on.
    pub fn prefer(&self, member: usize) {
        self.preferred.store(member, Ordering::Relaxed);
    }

    /// When the last look ended.
    #[must_use]
    pub fn looked(&self) -> BootNanos {
        BootNanos(self.looked.load(Ordering::Relaxed))
    }

    /// What the last look found in the key's place, if it was nothing that a lease could be.
    #[must_use]
    pub fn found_strange(&self) -> Option<String> {
        self.strange.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stops and waits for the last coverage to be written.
    pub fn stop(mut self) {
        self.halt();
    }

    fn halt(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A sampler that panicked has written no coverage, and without coverage nothing is proven.
            let _ = thread.join();
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.halt();
    }
}

/// A span without a gap.
struct Span {
    from: BootNanos,
    until: BootNanos,
    longest_gap: Duration,
}

/// Gives `reading` what is known of its expiry from an earlier reading of the same state.
fn narrow(reading: &mut Reading, earlier: &Reading) {
    let known = earlier.held.as_ref().and_then(|held| held.expires);
    if let (Some(held), Some(known)) = (&mut reading.held, known)
        && let Some(expires) = held.expires
        && known.uncertainty() < expires.uncertainty()
    {
        held.expires = Some(known);
    }
}

struct Look {
    observer: Box<dyn Observe>,
    key: String,
    recorder: Recorder,
    settings: SamplerSettings,
    last: Option<(Moment, Reading)>,
    /// The last look, as it was, where it was not recorded.
    untold: Option<(Moment, Reading)>,
    told: Option<BootNanos>,
    span: Option<Span>,
    blocked_since: Option<BootNanos>,
    excused: Arc<AtomicBool>,
    strange: Arc<Mutex<Option<String>>>,
}

impl Look {
    fn once(&mut self) -> Duration {
        let past_expiry = self.past_expiry();
        let read = if past_expiry {
            // The proof that no writer is frozen before its commit counts only after the expiry.
            match self.observer.read_proving_expiry(&self.key) {
                Ok(read) => {
                    self.blocked_since = None;
                    Ok(read)
                }
                Err(StoreError::Blocked) => {
                    self.blocked();
                    self.observer.read(&self.key)
                }
                Err(error) => Err(error),
            }
        } else {
            self.observer.read(&self.key)
        };
        let strange = match &read {
            Err(StoreError::Unexpected(what) | StoreError::OtherProtocol(what)) => Some(what.clone()),
            _ => None,
        };
        *self.strange.lock().unwrap_or_else(PoisonError::into_inner) = strange;
        let Ok((at, mut reading)) = read else {
            // A store that doesn't answer shows as a gap in the coverage.
            return self.settings.calm;
        };
        self.cover(at);
        let changed = self.last.as_ref().is_none_or(|(_, last)| !same_state(last, &reading));
        if changed {
            reading.previous = self.last.as_ref().map(|(at, _)| at.earliest);
        }
        let untold = self.untold.take();
        if changed && let Some((at, reading)) = untold {
            // What was so up to the change. On a store that shows whole seconds a renewal may change
            // nothing but how late the expiry can be: without this look a key that is gone right after it
            // would seem never to have been renewed.
            self.recorder.record(Source::Store, None, at, What::Reading(reading));
        }
        if changed || self.told.is_none_or(|told| at.latest.since(told) >= STILL) {
            self.told = Some(at.latest);
            self.recorder
                .record(Source::Store, None, at, What::Reading(reading.clone()));
        } else {
            self.untold = Some((at, reading.clone()));
        }
        if !changed && let Some((_, last)) = &self.last {
            // Of one expiry the narrowest reading is kept: "the same" is not transitive, and a wide
            // reading in between must not carry the comparison along.
            narrow(&mut reading, last);
        }
        self.last = Some((at, reading));
        self.pace()
    }

    /// A transaction of a running writer lasts milliseconds; one that lasts this long belongs to a
    /// frozen one.
    fn blocked(&mut self) {
        let now = boot_now();
        let since = *self.blocked_since.get_or_insert(now);
        if now.since(since) >= FROZEN {
            self.blocked_since = Some(now.plus(Duration::from_secs(3600)));
            self.recorder
                .record(Source::Lab, None, Moment::between(since, now), What::WriterFrozen);
        }
    }

    fn past_expiry(&self) -> bool {
        let held = self.last.as_ref().and_then(|(_, reading)| reading.held.as_ref());
        held.and_then(|held| held.expires)
            .is_some_and(|expires| boot_now() > expires.latest)
            && held.is_some_and(|held| !(held.expired && held.write_lock))
    }

    fn pace(&self) -> Duration {
        let Some((_, reading)) = &self.last else {
            return self.settings.calm;
        };
        let Some(held) = &reading.held else {
            return self.settings.quick;
        };
        let Some(expires) = held.expires else {
            return self.settings.quick;
        };
        let now = boot_now();
        if now.plus(self.settings.calm * 2) < expires.earliest {
            self.settings.calm
        } else {
            self.settings.quick
        }
    }

    fn cover(&mut self, at: Moment) {
        match &mut self.span {
            Some(span) if at.latest.since(span.until) <= self.settings.gap => {
                span.longest_gap = span.longest_gap.max(at.latest.since(span.until));
                span.until = at.latest;
            }
            _ => {
                let gap = self.span.as_ref().map(|span| at.latest.since(span.until));
                self.close();
                if let Some(by) = gap.filter(|_| !self.excused.load(Ordering::Relaxed)) {
                    let what = "sampling the store".to_owned();
                    self.recorder.record(Source::Lab, None, at, What::RigLate { by, what });
                }
                self.span = Some(Span {
                    from: at.earliest,
                    until: at.latest,
                    longest_gap: Duration::ZERO,
                });
            }
        }
    }

    fn close(&mut self) {
        if let Some(span) = self.span.take() {
            let coverage = Coverage {
                source: Source::Store,
                owner: None,
                from: span.from,
                until: span.until,
                longest_gap: span.longest_gap,
                dropped: 0,
            };
            self.recorder
                .record(Source::Lab, None, Moment::exact(boot_now()), What::Coverage(coverage));
        }
    }
}
