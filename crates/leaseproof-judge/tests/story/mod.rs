//! Histories in words: a test says what happened and when, in milliseconds, and gets a record as the
//! lab would write it.
#![allow(dead_code, reason = "each test file tells its own part of the stories")]

mod faults;
pub mod flaws;
mod owner;
pub mod pauses;
pub mod rounds;
pub mod scenarios;
pub mod server;
mod store;

use leaseproof_judge::{Policy, judge};
use leaseproof_model::budget::Budget;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Coverage, Deed, Event, EventId, Held, LabDeed, Outcome, Source, What};
use leaseproof_model::history::History;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{OwnerName, Token};
use leaseproof_model::scenario::{Ask, PremiseName, ScenarioId, WitnessMode};
use leaseproof_model::store::{StoreClock, StoreFacts};
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
                    version: "7.0.15".to_owned(),
                    early_slack: Duration::from_millis(1),
                    late_bound: Duration::from_millis(1200),
                    clock: StoreClock::ServerWall,
                    expired_means: "the key is gone".to_owned(),
                    ..StoreFacts::of("redis")
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
            if let What::Fill(fill) = &mut event.what {
                fill.after = serial;
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
