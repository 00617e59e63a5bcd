//! A tape of readings and reports for the tests of the pure core.

#![allow(dead_code, reason = "each test file uses a part of this fixture")]

use leaseproof_live::watch::belief::{Belief, Claim, Report};
use leaseproof_live::watch::board::{Board, Place};
use leaseproof_live::watch::notices::Notice;
use leaseproof_live::watch::terms::Terms;
use leaseproof_model::budget::Budget;
use leaseproof_model::clock::{BootNanos, Stamp, WallNanos};
use leaseproof_model::event::{Held, Reading};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{HolderId, Token};
use leaseproof_model::store::StoreClock;
use std::time::Duration;

pub const KEY: &str = "jobs/daily";

/// A board with one lease, on a store like Redis: TTL 3 s, heartbeat 1 s, read once a second.
pub struct Tape {
    pub board: Board,
    pub place: Place,
    pub notices: Vec<Notice>,
    /// What the server's clock is ahead of the boot clock, in ms.
    pub server_ahead_ms: i64,
    pub epoch: &'static str,
    /// By how much the store's expiry is known worse than a round trip.
    pub coarse_ms: u64,
    /// The most that a session's lease lives after a sign of life, where the store shows no expiry.
    pub bound_ms: Option<u64>,
    /// The TTL that the store states, where it does.
    pub stated_ms: Option<u64>,
    /// When the next reading's expiry was looked at, where that was before.
    pub expiry_seen: Option<Moment>,
}

pub fn terms() -> Terms {
    Terms {
        budget: Budget::standard(),
        interval: Duration::from_secs(1),
        window: Duration::from_secs(300),
        clock: StoreClock::ServerWall,
        shows_expiry: true,
        shows_renewals: true,
        most_granted: None,
    }
}

pub fn ms(ms: u64) -> BootNanos {
    // No test begins with the machine.
    BootNanos((1_000_000 + ms) * 1_000_000)
}

pub fn at(from: u64, to: u64) -> Moment {
    Moment::between(ms(from), ms(to))
}

impl Tape {
    pub fn new() -> Self {
        Self::with(Belief::default())
    }

    pub fn with(belief: Belief) -> Self {
        Self::of(Some(belief))
    }

    /// One whose plan names no owner.
    pub fn without_owner() -> Self {
        Self::of(None)
    }

    fn of(belief: Option<Belief>) -> Self {
        let mut board = Board::new(terms(), 1000);
        let place = board.add_named(KEY, KEY, belief);
        Self {
            board,
            place,
            notices: Vec::new(),
            server_ahead_ms: 0,
            epoch: "one/primary",
            coarse_ms: 0,
            bound_ms: None,
            stated_ms: None,
            expiry_seen: None,
        }
    }

    /// A reading at `when` ms, whose round trip takes 2 ms: holder, token, and when it expires.
    pub fn read(&mut self, when: u64, held: Option<(&str, Option<u64>, Option<u64>)>, counter: Option<u64>) {
        let during = at(when, when + 2);
        let coarse = self.coarse_ms;
        let reading = Reading {
            previous: None,
            held: held.map(|(holder, token, expires)| Held {
                holder: HolderId::from(holder),
                token: token.map(Token),
                expires: expires.map(|end| at(end - coarse / 2, end + 2 + coarse / 2)),
                bound: self.bound_ms.map(Duration::from_millis),
                ttl: self.stated_ms.map(Duration::from_millis),
                expired: false,
                granted: None,
                renewed: None,
                write_lock: false,
            }),
            counter: counter.map(Token),
            server_ns: Some(i64::try_from(ms(when + 1).0).expect("it fits") + self.server_ahead_ms * 1_000_000),
            epoch: Some(self.epoch.to_owned()),
        };
        let stamp = Stamp {
            boot: ms(when + 2),
            wall: WallNanos(i64::try_from(ms(when + 2).0).expect("it fits")),
            ..Stamp::default()
        };
        self.board.store_saw(during, &reading, stamp, &mut self.notices);
        let expiry = self.expiry_seen.take();
        self.board
            .lease_saw_expiry(self.place, during, expiry, &reading, &mut self.notices);
    }

    /// As `held`, with the expiry of an earlier look.
    pub fn stale(&mut self, when: u64, renewed: u64, seen: Moment) {
        self.expiry_seen = Some(seen);
        self.held(when, renewed);
    }

    /// A lease held by `me` with token 1, renewed at `renewed`.
    pub fn held(&mut self, when: u64, renewed: u64) {
        self.read(when, Some(("me#1", Some(1), Some(renewed + 3000))), Some(1));
    }

    pub fn report(&mut self, from: u64, to: u64, claim: Claim, token: Option<u64>) {
        self.report_since(from, to, claim, token, None);
    }

    pub fn report_since(&mut self, from: u64, to: u64, claim: Claim, token: Option<u64>, since: Option<Moment>) {
        let report = Report {
            at: at(from, to),
            claim,
            token: token.map(Token),
            since,
        };
        self.board.reported(self.place, report, &mut self.notices);
    }

    /// The lease's series on the page at `when` ms.
    pub fn series(&self, name: &str, when: u64) -> Option<f64> {
        let page = leaseproof_live::watch::page::render(&self.board, ms(when));
        let start = format!("leaseproof_watch_{name}");
        page.lines()
            .find_map(|line| {
                let rest = line.strip_prefix(&start)?;
                let rest = rest.strip_prefix("{lease=\"jobs/daily\"}").unwrap_or(rest);
                rest.strip_prefix(' ')
            })
            .map(|text| text.parse().expect("a number"))
    }
}
