//! A record written by hand: events in any order, ids given when it is done.

use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::*;
use leaseproof_model::history::History;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{HolderId, OwnerName, ProcessId, Token};
use leaseproof_model::scenario::Ask;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

/// Boot time at the scenario's start.
pub const ZERO: u64 = 90_000_000_000_000;

/// Milliseconds after the scenario's start.
pub fn boot(ms: f64) -> BootNanos {
    BootNanos(ZERO + (ms * 1e6) as u64)
}

/// An event that has no id yet.
#[derive(Copy, Clone, Debug)]
pub struct Ref(usize);

pub struct Tape {
    events: Vec<Event>,
    pub cycle: Cell<u32>,
}

impl Tape {
    pub fn new() -> Self {
        Self {
            events: Vec::new(),
            cycle: Cell::new(0),
        }
    }

    pub fn add(&mut self, source: Source, owner: Option<&str>, at: Moment, what: What, raw: Option<String>) -> Ref {
        self.events.push(Event {
            id: EventId(0),
            source,
            seq: 0,
            at,
            stamp: None,
            cycle: self.cycle.get(),
            owner: owner.map(OwnerName::from),
            what,
            raw,
        });
        Ref(self.events.len() - 1)
    }

    pub fn lab(&mut self, ms: f64, what: What) -> Ref {
        self.add(Source::Lab, None, Moment::exact(boot(ms)), what, None)
    }

    pub fn started(&mut self, ms: f64, owner: &str, pid: u32) -> Ref {
        let what = What::Started {
            process: ProcessId { pid, start_ticks: 900 },
            slot: owner[..1].to_owned(),
            restart: false,
        };
        self.add(Source::Process, Some(owner), Moment::exact(boot(ms)), what, None)
    }

    pub fn said(&mut self, ms: f64, owner: &str, event: OwnerEvent, token: Option<u64>, valid_ms: Option<f64>) -> Ref {
        let word = serde_json::to_value(event).unwrap();
        let raw = match token {
            Some(token) => format!("{{\"lease\":{word},\"token\":{token}}}"),
            None => format!("{{\"lease\":{word}}}"),
        };
        let said = Said {
            event,
            token: token.map(Token),
            boot: Some(boot(ms)),
            wall_ns: None,
            valid_until: valid_ms.map(boot),
            thread: None,
            grant: None,
            attempt: None,
            reason: (event == OwnerEvent::Lost).then(|| "not the holder".to_owned()),
            definite: None,
        };
        let at = Moment::between(boot(ms), boot(ms + 0.6));
        self.add(Source::Owner, Some(owner), at, What::Said(said), Some(raw))
    }

    pub fn write(&mut self, ms: f64, owner: &str, serial: u64, token: u64, accepted: bool, ask: &Ask) -> Ref {
        let write = Write {
            serial,
            connection: 3,
            token: Some(Token(token)),
            bad_token: None,
            accepted,
            highest: Some(Token(token)),
            mode: ask.witness,
            claims_owner: None,
            begun: None,
            arrived: None,
            replay: false,
        };
        self.add(
            Source::Witness,
            Some(owner),
            Moment::exact(boot(ms)),
            What::Write(write),
            None,
        )
    }

    /// One reading: the holder, its token, when it was granted and when it expires.
    pub fn read(&mut self, ms: f64, held: Option<(&str, u64, f64, f64)>) -> Ref {
        let held = held.map(|(holder, token, granted, expires)| Held {
            holder: HolderId::from(holder),
            token: Some(Token(token)),
            expires: Some(Moment::exact(boot(expires))),
            bound: None,
            ttl: None,
            expired: expires < ms,
            granted: Some(boot(granted)),
            renewed: None,
            write_lock: expires < ms,
        });
        let reading = Reading {
            previous: Some(boot(ms - 20.0)),
            held,
            counter: None,
            server_ns: None,
            epoch: None,
        };
        let at = Moment::between(boot(ms - 0.4), boot(ms + 0.4));
        self.add(Source::Store, None, at, What::Reading(reading), None)
    }

    pub fn fault(&mut self, ms: f64, fault: u64, owner: &str, phase: FaultPhase) -> Ref {
        let held = matches!(phase, FaultPhase::Confirmed | FaultPhase::Due | FaultPhase::Undone);
        let event = FaultEvent {
            fault,
            kind: FaultKind::PauseTree,
            phase,
            method: "sigstop".to_owned(),
            processes: vec![ProcessId {
                pid: 4711,
                start_ticks: 900,
            }],
            threads: held.then_some((4, 4)),
            cpu_flat: (phase == FaultPhase::Undone).then_some(true),
            looks_agree: Some(true),
            kernel_witness: None,
            note: None,
        };
        self.add(
            Source::Fault,
            Some(owner),
            Moment::exact(boot(ms)),
            What::Fault(event),
            None,
        )
    }

    pub fn coverage(&mut self, source: Source, owner: Option<&str>, from: f64, until: f64, gap_ms: u64) -> Ref {
        let coverage = Coverage {
            source,
            owner: owner.map(OwnerName::from),
            from: boot(from),
            until: boot(until),
            longest_gap: Duration::from_millis(gap_ms),
            dropped: 0,
        };
        self.add(
            Source::Lab,
            None,
            Moment::exact(boot(until)),
            What::Coverage(coverage),
            None,
        )
    }

    /// Sorts by time and gives ids from `first_id`; the ids in the order of `refs` come along.
    pub fn finish(self, ask: Ask, first_id: u64, took_ms: u64) -> (History, Vec<EventId>) {
        let mut order: Vec<usize> = (0..self.events.len()).collect();
        order.sort_by_key(|&at| (self.events[at].at.latest, at));
        let mut ids = vec![EventId(0); order.len()];
        let mut seqs: BTreeMap<(Source, Option<OwnerName>), u64> = BTreeMap::new();
        let mut events = Vec::with_capacity(order.len());
        for (place, &at) in order.iter().enumerate() {
            let mut event = self.events[at].clone();
            event.id = EventId(first_id + place as u64);
            let seq = seqs.entry((event.source, event.owner.clone())).or_default();
            *seq += 1;
            event.seq = *seq;
            ids[at] = event.id;
            events.push(event);
        }
        let history = History {
            ask,
            events,
            complete: true,
            took_ms,
        };
        (history, ids)
    }
}

impl Ref {
    pub fn id(self, ids: &[EventId]) -> EventId {
        ids[self.0]
    }
}
