//! A store and an owner that exist on paper: every moment is known, so that what is inferred can be
//! compared with what was.

use leaseproof_live::inspect::pace::Pace;
use leaseproof_live::inspect::sample::{Moved, Sample, moved, same_grant};
use leaseproof_model::clock::{BootNanos, MonoNanos, Stamp, WallNanos};
use leaseproof_model::event::{EventId, Held, Reading};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{HolderId, Token};
use leaseproof_model::store::{StoreClock, StoreFacts};
use std::time::Duration;

pub const MS: u64 = 1_000_000;
const START: u64 = 1_000_000 * MS;

/// Something that the store does, so many ms after the first reading (negative: before it).
#[derive(Clone, Debug)]
pub enum Deed {
    Grant(&'static str, u64),
    Renew,
    /// With a TTL of so many ms.
    RenewFor(u64),
    Free,
    Persist,
    Shorten(u64),
    Restart,
    /// Its clock steps by so many ms.
    Step(i64),
    /// It answers nothing from now on, for so many ms.
    Silent(u64),
    /// It refuses from now on, for so many ms.
    Refuse(u64),
}

/// The semantics of Redis.
pub fn redis() -> StoreFacts {
    StoreFacts {
        version: "7.0.15".to_owned(),
        early_slack: Duration::from_millis(1),
        late_bound: Duration::from_millis(10),
        clock: StoreClock::ServerWall,
        ..StoreFacts::of("redis")
    }
}

/// Numbers that look random and are the same each time.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound.max(1)
    }
}

/// The store at a moment.
#[derive(Clone)]
struct State {
    held: Option<(&'static str, u64)>,
    /// ms of the server's clock; none: no expiry.
    expires: Option<i64>,
    ttl: u64,
    epoch: u32,
    ahead_ns: i64,
    silent_until: u64,
    refuses: bool,
}

/// Readings of a span of `span_ms`, taken at the real pace, with round trips of `trip_us`.
pub fn span(deeds: &[(f64, Deed)], span_ms: u64, trip_us: u64, ttl: u64, heartbeat: Option<u64>) -> Vec<Sample> {
    let facts = redis();
    let mut dice = Dice(7);
    let mut pace = Pace::new(heartbeat.map(Duration::from_millis));
    let mut state = State {
        held: None,
        expires: None,
        ttl,
        epoch: 1,
        ahead_ns: 1_234_567_890_123,
        silent_until: 0,
        refuses: false,
    };
    let mut done = 0;
    let mut samples: Vec<Sample> = Vec::new();
    let mut now = START;
    while now <= START + span_ms * MS {
        let there = now + dice.below(trip_us * 1000);
        while let Some((at, deed)) = deeds.get(done) {
            let at = ((START as f64) + at * MS as f64) as u64;
            if at > there {
                break;
            }
            state.apply(at, deed);
            done += 1;
        }
        let back = there + dice.below(trip_us * 1000) + 1000;
        let at = Moment::between(BootNanos(now), BootNanos(back));
        let seen = if there < state.silent_until {
            Err("the store did not answer within 3s".to_owned())
        } else {
            Ok(state.reading(there, at))
        };
        let refused = seen.is_err() && state.refuses;
        let sample = Sample {
            id: EventId(samples.len() as u64 + 1),
            at,
            waited: at,
            stamp: Stamp {
                boot: BootNanos(back),
                mono: MonoNanos(back),
                wall: WallNanos(back as i64 + 1_000_000_000_000),
            },
            seen,
            refused,
        };
        if let Some(last) = samples.iter().rfind(|it| it.reading().is_some())
            && same_grant(last, &sample)
            && moved(last, &sample, &facts) == Moved::Forward
        {
            let moved = last.expires().zip(sample.expires());
            pace.renewal(
                BootNanos((last.at.earliest.0 + sample.at.latest.0) / 2),
                moved.map(|(before, after)| after.earliest.since(before.earliest)),
            );
        }
        samples.push(sample);
        now = pace.next(BootNanos(now)).0.max(back);
    }
    samples
}

impl State {
    fn server(&self, at: u64) -> i64 {
        at as i64 + self.ahead_ns
    }

    fn apply(&mut self, at: u64, deed: &Deed) {
        let server_ms = self.server(at) / MS as i64;
        self.expire(at);
        match deed {
            Deed::Grant(holder, token) => {
                self.held = Some((holder, *token));
                self.expires = Some(server_ms + self.ttl as i64);
            }
            Deed::Renew if self.held.is_some() => self.expires = Some(server_ms + self.ttl as i64),
            Deed::RenewFor(ttl) if self.held.is_some() => self.expires = Some(server_ms + *ttl as i64),
            Deed::Renew | Deed::RenewFor(_) => {}
            Deed::Free => self.held = None,
            Deed::Persist => self.expires = None,
            Deed::Shorten(left) => self.expires = Some(server_ms + *left as i64),
            Deed::Restart => self.epoch += 1,
            Deed::Step(by) => self.ahead_ns += by * MS as i64,
            Deed::Silent(span) => (self.silent_until, self.refuses) = (at + span * MS, false),
            Deed::Refuse(span) => (self.silent_until, self.refuses) = (at + span * MS, true),
        }
    }

    fn expire(&mut self, at: u64) {
        if self
            .expires
            .is_some_and(|expires| self.server(at) / MS as i64 > expires)
        {
            self.held = None;
        }
    }

    fn reading(&mut self, there: u64, at: Moment) -> Reading {
        self.expire(there);
        // TIME is cut to the microsecond.
        let server_ns = self.server(there) / 1000 * 1000;
        let held = self.held.map(|(holder, token)| Held {
            holder: HolderId::from(holder),
            token: Some(Token(token)),
            expires: self.expires.map(|expires| {
                let left = expires * MS as i64 - server_ns;
                Moment {
                    earliest: BootNanos((at.earliest.0 as i64 + left - 1000) as u64),
                    latest: BootNanos((at.latest.0 as i64 + left + MS as i64) as u64),
                }
            }),
            bound: None,
            ttl: None,
            expired: false,
            granted: None,
            renewed: None,
            write_lock: false,
        });
        Reading {
            previous: None,
            held,
            counter: None,
            server_ns: Some(server_ns),
            epoch: Some(format!("run{}/primary", self.epoch)),
        }
    }
}
