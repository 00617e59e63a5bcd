//! Events as they come: kept for the judge, and written to `events.jsonl` at once, so that a killed
//! run leaves its evidence.

use leaseproof_model::event::{Event, EventId, Source, What};
use leaseproof_model::history::{EVENTS_SCHEMA, Header, History, Line};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::OwnerName;
use leaseproof_model::scenario::{Ask, ScenarioId};
use leaseproof_model::verdict::NotOffered;
use leaseproof_proc::clock::stamp_now;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The file of a whole run.
pub struct Log {
    out: Mutex<Output>,
    next_event: AtomicU64,
    next_run: AtomicU32,
}

struct Output {
    file: BufWriter<File>,
    failed: Option<String>,
}

impl Log {
    /// Starts `events.jsonl` with its header.
    #[must_use]
    pub fn start(
        file: File,
        run: &str,
        seed: u64,
        (scenarios, stores): (&[ScenarioId], &[String]),
        require: &[ScenarioId],
    ) -> Arc<Self> {
        let log = Self {
            out: Mutex::new(Output {
                file: BufWriter::with_capacity(32 << 10, file),
                failed: None,
            }),
            next_event: AtomicU64::new(1),
            next_run: AtomicU32::new(1),
        };
        log.line(&Line::Header(Header {
            schema: EVENTS_SCHEMA.to_owned(),
            run: run.to_owned(),
            seed,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            scenarios: scenarios.to_vec(),
            stores: stores.to_vec(),
            require: require.to_vec(),
            key: None,
        }));
        log.flush();
        Arc::new(log)
    }

    fn line(&self, line: &Line) {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        if out.failed.is_some() {
            return;
        }
        let written = serde_json::to_writer(&mut out.file, line)
            .map_err(std::io::Error::from)
            .and_then(|()| out.file.write_all(b"\n"));
        if let Err(error) = written {
            out.failed = Some(error.to_string());
        }
    }

    /// Notes a scenario that is not offered.
    pub fn not_offered(&self, it: &NotOffered) {
        self.line(&Line::NotOffered(it.clone()));
    }

    /// Hands what is buffered to the system.
    pub fn flush(&self) {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = out.file.flush() {
            out.failed.get_or_insert(error.to_string());
        }
    }

    /// Why recording failed, if it did: such a run is never a pass.
    pub fn failure(&self) -> Option<String> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner).failed.clone()
    }
}

struct Kept {
    events: Vec<Event>,
    next_seq: BTreeMap<(Source, Option<OwnerName>), u64>,
    cycle: u32,
}

/// The record of one scenario run. Cheap to clone; all clones are the same record.
#[derive(Clone)]
pub struct Recorder {
    log: Arc<Log>,
    run: u32,
    kept: Arc<(Mutex<Kept>, Condvar)>,
}

impl Recorder {
    /// Starts a scenario's record.
    #[must_use]
    pub fn start(log: &Arc<Log>) -> Self {
        let run = log.next_run.fetch_add(1, Ordering::Relaxed);
        let kept = Kept {
            events: Vec::new(),
            next_seq: BTreeMap::new(),
            cycle: 0,
        };
        Self {
            log: Arc::clone(log),
            run,
            kept: Arc::new((Mutex::new(kept), Condvar::new())),
        }
    }

    /// Whether both are the same record.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.kept, &other.kept)
    }

    /// Writes down what is asked.
    pub fn ask(&self, ask: &Ask) {
        self.log.line(&Line::Scenario {
            run: self.run,
            ask: Box::new(ask.clone()),
        });
    }

    /// The cycle that events belong to from now on.
    pub fn set_cycle(&self, cycle: u32) {
        self.kept.0.lock().unwrap_or_else(PoisonError::into_inner).cycle = cycle;
    }

    /// Records one event and gives back its number.
    pub fn record(&self, source: Source, owner: Option<&OwnerName>, at: Moment, what: What) -> EventId {
        self.record_raw(source, owner, at, what, None)
    }

    /// Records one event with the raw line that it was read from.
    pub fn record_raw(
        &self,
        source: Source,
        owner: Option<&OwnerName>,
        at: Moment,
        what: What,
        raw: Option<String>,
    ) -> EventId {
        let mut kept = self.kept.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Number and place are given under the lock: the order in the file is the order of the record.
        let id = EventId(self.log.next_event.fetch_add(1, Ordering::Relaxed));
        let seq = kept.next_seq.entry((source, owner.cloned())).or_insert(0);
        *seq += 1;
        let event = Event {
            id,
            source,
            seq: *seq,
            at,
            stamp: Some(stamp_now()),
            cycle: kept.cycle,
            owner: owner.cloned(),
            what,
            raw,
        };
        self.log.line(&Line::Event {
            run: self.run,
            event: event.clone(),
        });
        kept.events.push(event);
        drop(kept);
        self.kept.1.notify_all();
        id
    }

    /// Looks at the events from `from` on; gives back the place to go on from.
    pub fn scan(&self, from: usize, mut look: impl FnMut(&Event)) -> usize {
        let kept = self.kept.0.lock().unwrap_or_else(PoisonError::into_inner);
        for event in kept.events.get(from..).unwrap_or_default() {
            look(event);
        }
        kept.events.len()
    }

    /// Waits until there are more than `known` events, for `at_most`.
    pub fn wait_for_more(&self, known: usize, at_most: Duration) {
        let kept = self.kept.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.events.len() <= known {
            drop(self.kept.1.wait_timeout(kept, at_most));
        }
    }

    /// Ends the record.
    #[must_use]
    pub fn finish(&self, ask: Ask, took_ms: u64, complete: bool) -> History {
        if complete {
            self.log.line(&Line::End { run: self.run, took_ms });
        }
        self.log.flush();
        let mut kept = self.kept.0.lock().unwrap_or_else(PoisonError::into_inner);
        History {
            ask,
            events: std::mem::take(&mut kept.events),
            complete,
            took_ms,
        }
    }
}
