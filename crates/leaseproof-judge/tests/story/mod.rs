//! Histories in words: a test says what happened and when, in milliseconds, and gets a record as the
//! lab would write it.
#![allow(dead_code, reason = "each test file tells its own part of the stories")]

pub mod flaws;
pub mod pauses;
pub mod scenarios;

use leaseproof_judge::{Policy, judge};
use leaseproof_model::budget::Budget;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{
    Coverage, Deed, Event, EventId, FaultEvent, FaultKind, FaultPhase, Held, LabDeed, Outcome, OwnerEvent, Reading,
    Said, Source, What, Wire, WireSeen, Write,
};
use leaseproof_model::history::History;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{OwnerName, ProcessId, Token};
use leaseproof_model::scenario::{Ask, PremiseName, ScenarioId, WitnessMode};
use leaseproof_model::store::{ExpiryProof, StoreClock, StoreFacts};
use leaseproof_model::verdict::ScenarioVerdict;
use std::time::Duration;

/// Milliseconds since the story's begin; halves are allowed.
pub type Ms = f64;

/// How far apart the observer's looks are.
pub const LOOK: Ms = 10.0;

/// A moment of the story's clock.
#[must_use]
pub fn at(ms: Ms) -> BootNanos {
    BootNanos(1_000_000_000_000 + (ms * 1_000_000.0).round() as u64)
}

/// From `ms` to a little later: as tight as the rig sees.
#[must_use]
pub fn about(ms: Ms) -> Moment {
    Moment::between(at(ms), at(ms + 0.2))
}

/// The budget of all stories: margin 600 ms.
#[must_use]
pub fn budget() -> Budget {
    Budget {
        ttl: Duration::from_millis(1000),
        heartbeat: Duration::from_millis(250),
        worst_pause: Duration::from_millis(400),
        max_clock_drift: Duration::from_millis(50),
        renew_timeout: Duration::from_millis(100),
        early_slack: Duration::ZERO,
    }
}

/// The TTL of all stories.
pub const TTL: Ms = 1000.0;

/// A story in the making.
pub struct Story {
    pub ask: Ask,
    pub complete: bool,
    events: Vec<Event>,
    counter: u64,
    fault: u64,
    lease: Option<Held>,
    last_look: Ms,
    cycle: u32,
}

impl Story {
    #[must_use]
    pub fn new(scenario: ScenarioId, premises: &[PremiseName]) -> Self {
        Self {
            ask: Ask {
                scenario,
                store: StoreFacts {
                    kind: "redis".to_owned(),
                    version: "7.0.15".to_owned(),
                    early_slack: Duration::from_millis(1),
                    late_bound: Duration::from_millis(1200),
                    late_ttls: 0,
                    ttl_floor: None,
                    ttl_ceiling: None,
                    lock_delay: Duration::ZERO,
                    clock: StoreClock::ServerWall,
                    expired_means: "the key is gone".to_owned(),
                    expiry_proof: ExpiryProof::SeenGone,
                    consistent_reading: true,
                    exact_moments: false,
                    writer_can_block: false,
                    shows_expiry: true,
                    shows_renewals: true,
                },
                budget: budget(),
                key: "canary/story".to_owned(),
                cycles: 1,
                premises: premises.to_vec(),
                availability: false,
                witness: WitnessMode::Record,
                require_token: false,
                store_shows_token: true,
                twin: false,
            },
            complete: true,
            events: Vec::new(),
            counter: 0,
            fault: 0,
            lease: None,
            last_look: 0.0,
            cycle: 0,
        }
    }

    fn push(&mut self, source: Source, owner: Option<&str>, at: Moment, what: What) -> &mut Self {
        let owner = owner.map(OwnerName::from);
        self.events.push(Event {
            id: EventId(0),
            source,
            seq: 0,
            at,
            stamp: None,
            cycle: self.cycle,
            owner,
            what,
            raw: None,
        });
        self
    }

    // The lab.

    pub fn cycle(&mut self, ms: Ms, target: &str) -> &mut Self {
        self.cycle += 1;
        let (target, witness) = (OwnerName::from(target), self.ask.witness);
        self.push(
            Source::Lab,
            None,
            about(ms),
            What::CycleBegan {
                target,
                successor: None,
                witness,
            },
        )
    }

    pub fn end_cycle(&mut self, ms: Ms) -> &mut Self {
        self.push(Source::Lab, None, about(ms), What::CycleEnded)
    }

    pub fn lab(&mut self, ms: Ms, deed: Deed, holder: &str, token: u64) -> &mut Self {
        let deed = LabDeed {
            deed,
            holder: Some(holder.into()),
            token: Some(Token(token)),
            outcome: Outcome::Applied,
        };
        self.push(Source::Lab, Some("lab"), about(ms), What::LabDid(deed))
    }

    pub fn watched(&mut self, from: Ms, until: Ms) -> &mut Self {
        let coverage = Coverage {
            source: Source::Store,
            owner: None,
            from: at(from),
            until: at(until),
            longest_gap: Duration::from_micros((LOOK * 1500.0) as u64),
            dropped: 0,
        };
        self.push(Source::Lab, None, about(until), What::Coverage(coverage))
    }

    pub fn note(&mut self, ms: Ms, what: What) -> &mut Self {
        self.push(Source::Lab, None, about(ms), what)
    }

    /// Something that the witness says of an owner.
    pub fn of_owner(&mut self, ms: Ms, owner: &str, what: What) -> &mut Self {
        self.push(Source::Witness, Some(owner), about(ms), what)
    }

    // Processes and faults.

    pub fn started(&mut self, ms: Ms, owner: &str) -> &mut Self {
        let slot = owner[..1].to_owned();
        let process = ProcessId {
            pid: 100 + ms as u32,
            start_ticks: 7,
        };
        let restart = !owner.ends_with('1');
        self.push(
            Source::Process,
            Some(owner),
            about(ms),
            What::Started { process, slot, restart },
        )
    }

    pub fn ended(&mut self, ms: Ms, owner: &str, by_lab: bool) -> &mut Self {
        let what = What::Ended {
            status: (!by_lab).then_some(0),
            signal: by_lab.then_some(9),
            by_lab,
        };
        self.push(Source::Process, Some(owner), about(ms), what)
    }

    pub fn fault(&mut self, owner: &str, kind: FaultKind, phases: &[(FaultPhase, Ms)]) -> &mut Self {
        self.fault += 1;
        for (phase, ms) in phases {
            let pauses = matches!(
                kind,
                FaultKind::PauseTree | FaultKind::PauseParent | FaultKind::PauseChild
            );
            let undone = *phase == FaultPhase::Undone;
            let event = FaultEvent {
                fault: self.fault,
                kind,
                phase: *phase,
                method: if pauses { "sigstop" } else { "lab" }.to_owned(),
                processes: Vec::new(),
                threads: (pauses && *phase == FaultPhase::Confirmed).then_some((3, 3)),
                cpu_flat: (pauses && undone).then_some(true),
                looks_agree: (pauses && undone).then_some(true),
                kernel_witness: None,
                note: None,
            };
            self.push(Source::Fault, Some(owner), about(*ms), What::Fault(event));
        }
        self
    }

    pub fn paused(&mut self, owner: &str, kind: FaultKind, from: Ms, until: Ms) -> &mut Self {
        use FaultPhase as P;
        self.fault(
            owner,
            kind,
            &[
                (P::Asked, from - 1.0),
                (P::Confirmed, from),
                (P::Due, until - 0.4),
                (P::Undone, until),
            ],
        )
    }

    // The store.

    fn look(&mut self, ms: Ms) -> &mut Self {
        let reading = Reading {
            previous: Some(at((ms - LOOK).max(0.0))),
            held: self.lease.clone(),
            counter: Some(Token(self.counter)),
            server_ns: None,
            epoch: Some("run".to_owned()),
        };
        self.last_look = ms;
        self.push(Source::Store, None, about(ms), What::Reading(reading))
    }

    /// A reading of a grant that began just before `ms`.
    pub fn granted(&mut self, ms: Ms, holder: &str, token: u64) -> &mut Self {
        self.granted_for(ms, holder, token, TTL)
    }

    pub fn granted_for(&mut self, ms: Ms, holder: &str, token: u64, ttl: Ms) -> &mut Self {
        self.counter = self.counter.max(token);
        let expires = Some(about(ms - 2.0 + ttl));
        self.lease = Some(Held {
            holder: holder.into(),
            token: Some(Token(token)),
            expires,
            bound: None,
            expired: false,
            granted: None,
            renewed: None,
            write_lock: false,
        });
        self.look(ms)
    }

    /// Changes the lease as the next reading shows it.
    pub fn shown(&mut self, ms: Ms, change: impl FnOnce(&mut Held)) -> &mut Self {
        change(self.lease.as_mut().expect("the story has a lease"));
        self.look(ms)
    }

    pub fn renewed(&mut self, ms: Ms) -> &mut Self {
        self.shown(ms, |held| held.expires = Some(about(ms - 2.0 + TTL)))
    }

    /// A lease of the past is seen renewed, whoever has it at the end of the story.
    pub fn renewed_at(&mut self, ms: Ms, holder: &str, token: u64) -> &mut Self {
        let (lease, counter) = (self.lease.clone(), self.counter);
        self.counter = token;
        self.granted(ms, holder, token);
        (self.lease, self.counter) = (lease, counter);
        self
    }

    /// The key is seen free.
    pub fn free(&mut self, ms: Ms) -> &mut Self {
        self.lease = None;
        self.look(ms)
    }

    /// The key is seen free, and the counter has moved on: a grant came and went between two looks.
    pub fn counted(&mut self, ms: Ms, counter: u64) -> &mut Self {
        self.counter = self.counter.max(counter);
        self.free(ms)
    }

    // Owners.

    pub fn said(&mut self, ms: Ms, owner: &str, event: OwnerEvent) -> &mut Self {
        self.said_with(ms, owner, event, |_| ())
    }

    pub fn said_with(&mut self, ms: Ms, owner: &str, event: OwnerEvent, change: impl FnOnce(&mut Said)) -> &mut Self {
        let mut said = Said {
            event,
            token: None,
            boot: Some(at(ms)),
            wall_ns: None,
            valid_until: None,
            thread: None,
            grant: None,
            attempt: None,
            reason: None,
            definite: None,
        };
        change(&mut said);
        self.push(Source::Owner, Some(owner), about(ms), What::Said(said))
    }

    pub fn attempt(&mut self, ms: Ms, owner: &str, event: OwnerEvent, attempt: u64) -> &mut Self {
        self.said_with(ms, owner, event, |said| said.attempt = Some(attempt))
    }

    pub fn acquired(&mut self, ms: Ms, owner: &str, token: u64) -> &mut Self {
        self.said_with(ms, owner, OwnerEvent::Acquired, |said| said.token = Some(Token(token)))
    }

    // The resource.

    pub fn wrote(&mut self, ms: Ms, owner: &str, token: u64) -> &mut Self {
        self.wrote_with(ms, owner, token, |_| ())
    }

    pub fn wrote_with(&mut self, ms: Ms, owner: &str, token: u64, change: impl FnOnce(&mut Write)) -> &mut Self {
        let mut write = Write {
            serial: 0,
            connection: u64::from(owner.as_bytes()[0]),
            token: (token > 0).then_some(Token(token)),
            bad_token: None,
            accepted: true,
            highest: None,
            mode: self.ask.witness,
            claims_owner: None,
            begun: None,
            arrived: None,
            replay: false,
        };
        change(&mut write);
        self.push(Source::Witness, Some(owner), about(ms), What::Write(write))
    }

    /// Writes every 50 ms from `from` to before `until`.
    pub fn works(&mut self, from: Ms, until: Ms, owner: &str, token: u64) -> &mut Self {
        let mut ms = from;
        while ms < until {
            self.wrote(ms, owner, token);
            ms += 50.0;
        }
        self
    }

    /// Renews every 250 ms from `from` to before `until`, and says so.
    pub fn renews(&mut self, from: Ms, until: Ms, owner: &str) -> &mut Self {
        let mut ms = from;
        while ms < until {
            self.renewed(ms);
            self.said(ms, owner, OwnerEvent::Renewed);
            ms += 250.0;
        }
        self
    }

    pub fn wire(&mut self, ms: Ms, owner: &str, seen: WireSeen) -> &mut Self {
        self.push(
            Source::Relay,
            Some(owner),
            about(ms),
            What::Wire(Wire {
                connection: 1,
                seen,
                bytes: 40,
            }),
        )
    }

    pub fn shim(&mut self, ms: Ms, owner: &str, count: u64, offset_ns: i64) -> &mut Self {
        self.push(
            Source::Shim,
            Some(owner),
            about(ms),
            What::WallReads {
                count,
                offset_ns,
                mapped: true,
            },
        )
    }

    /// Drops what does not match.
    pub fn without(&mut self, drop: impl Fn(&Event) -> bool) -> &mut Self {
        self.events.retain(|event| !drop(event));
        self
    }

    /// Changes every event.
    pub fn each(&mut self, change: impl FnMut(&mut Event)) -> &mut Self {
        self.events.iter_mut().for_each(change);
        self
    }

    /// The record, in order of time, numbered as the lab numbers it.
    #[must_use]
    pub fn history(&self) -> History {
        let mut events = self.events.clone();
        events.sort_by_key(|event| event.at.latest);
        let mut serial = 0;
        for (place, event) in events.iter_mut().enumerate() {
            event.id = EventId(place as u64 + 1);
            event.seq = place as u64;
            if let What::Write(write) = &mut event.what {
                serial += 1;
                write.serial = serial;
            }
        }
        History {
            ask: self.ask.clone(),
            events,
            complete: self.complete,
            took_ms: 1000,
        }
    }

    #[must_use]
    pub fn judged(&self) -> ScenarioVerdict {
        judge(&self.history(), None, &Policy::default())
    }
}

/// The codes found, each once, that move a verdict (breach and availability), with certainty yes.
#[must_use]
pub fn accusations(verdict: &ScenarioVerdict) -> Vec<String> {
    use leaseproof_model::rule::Class;
    let mut codes: Vec<String> = verdict
        .findings
        .iter()
        .filter(|it| matches!(it.class, Class::Breach | Class::Availability))
        .map(|it| it.rule.clone() + if it.certainty.is_yes() { "" } else { "?" })
        .collect();
    codes.sort();
    codes.dedup();
    codes
}

/// All codes found, each once.
#[must_use]
pub fn codes(verdict: &ScenarioVerdict) -> Vec<String> {
    let mut codes: Vec<String> = verdict.findings.iter().map(|it| it.rule.clone()).collect();
    codes.sort();
    codes.dedup();
    codes
}

/// One more round of a cycle, `length` nanoseconds after the one before: names, tokens and numbers go on.
pub fn repeat(cycle: &History, round: u64, length: u64, into: &mut Vec<Event>) {
    let tokens = 3 * round;
    let later = |at: BootNanos| BootNanos(at.0 + round * length);
    let both = |at: Moment| Moment {
        earliest: later(at.earliest),
        latest: later(at.latest),
    };
    let next = |token: Token| Token(token.0 + tokens);
    for event in &cycle.events {
        let mut event = event.clone();
        event.at = both(event.at);
        event.cycle += u32::try_from(round).expect("a small number");
        event.id = EventId(into.len() as u64 + 1);
        event.seq = into.len() as u64;
        match &mut event.what {
            What::Started { .. } if round > 0 => continue,
            What::Reading(reading) => {
                reading.previous = reading.previous.map(later);
                reading.counter = reading.counter.map(next);
                if let Some(held) = &mut reading.held {
                    let name = held.holder.as_str().split('#').next().expect("a name").to_owned();
                    held.token = held.token.map(next);
                    held.holder = format!("{name}#{}", held.token.map_or(0, |token| token.0)).into();
                    held.expires = held.expires.map(both);
                }
            }
            What::Write(write) => {
                write.token = write.token.map(next);
                write.serial = into.len() as u64 + 1;
            }
            What::Said(said) => {
                said.token = said.token.map(next);
                said.boot = said.boot.map(later);
            }
            What::Fault(fault) => fault.fault += round * 10,
            What::Coverage(coverage) => {
                // One span for all: the observer never stopped.
                if round == 0 {
                    coverage.until = BootNanos(u64::MAX);
                } else {
                    continue;
                }
            }
            _ => {}
        }
        into.push(event);
    }
}
