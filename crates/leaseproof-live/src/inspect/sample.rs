//! One reading of a span, and what two of them show of each other.

use leaseproof_model::clock::{BootNanos, Stamp};
use leaseproof_model::event::{EventId, Held, Reading};
use leaseproof_model::moment::Moment;
use leaseproof_model::store::{StoreClock, StoreFacts};
use leaseproof_model::truth::Truth;
use std::time::Duration;

/// A reading, or why there is none.
#[derive(Clone, PartialEq, Debug)]
pub struct Sample {
    /// Its number in the saved record.
    pub id: EventId,
    /// From before it was asked to after it was answered; of a reading that took several questions, the one that counts.
    pub at: Moment,
    /// From before the first question to after the last answer.
    pub waited: Moment,
    /// This host's clocks when it was answered.
    pub stamp: Stamp,
    /// What it shows.
    pub seen: Result<Reading, String>,
    /// Nothing, since the store answered and refused this user.
    pub refused: bool,
}

impl Sample {
    /// The reading, if there is one.
    #[must_use]
    pub fn reading(&self) -> Option<&Reading> {
        self.seen.as_ref().ok()
    }

    /// The lease, if somebody holds it by the store's own clock.
    #[must_use]
    pub fn held(&self) -> Option<&Held> {
        self.reading()?.held.as_ref().filter(|held| !held.expired)
    }

    /// When the lease will expire, on this host's boot clock.
    #[must_use]
    pub fn expires(&self) -> Option<Moment> {
        self.held()?.expires
    }
}

/// How far two clocks may drift apart between two readings without a step: a clock that is slewed
/// moves by 0.05 % at most.
fn drift(between: Duration) -> i128 {
    2_000_000 + i128::try_from(between.as_nanos() / 1000).unwrap_or(i128::MAX)
}

/// Whether the store's clock went on steadily from `a` to `b`, against this host's boot clock.
#[must_use]
pub fn steady(a: &Sample, b: &Sample, facts: &StoreFacts) -> Truth {
    if facts.clock != StoreClock::ServerWall {
        return Truth::Yes;
    }
    let server = |sample: &Sample| sample.reading().and_then(|reading| reading.server_ns);
    let (Some(first), Some(then)) = (server(a), server(b)) else {
        return Truth::CannotTell;
    };
    let slack = drift(b.at.latest.since(a.at.earliest));
    let offset = |server: i64, at: BootNanos| i128::from(server) - i128::from(at.0);
    let jumped_ahead = offset(then, b.at.latest) - slack > offset(first, a.at.earliest);
    let fell_back = offset(then, b.at.earliest) + slack < offset(first, a.at.latest);
    Truth::from(!jumped_ahead && !fell_back)
}

/// The expiry on the clock by which the store ends the lease, as an interval in ns.
fn expiry(sample: &Sample, facts: &StoreFacts) -> Option<(i128, i128)> {
    let expires = sample.expires()?;
    let wide = |at: BootNanos| i128::from(at.0);
    let server = sample.reading().and_then(|reading| reading.server_ns);
    // A server shows a moment of its own clock, which is sharper than what a round trip makes of it.
    if let (StoreClock::ServerWall, Some(server)) = (facts.clock, server) {
        let earliest = i128::from(server) + wide(expires.earliest) - wide(sample.at.earliest);
        let latest = i128::from(server) + wide(expires.latest) - wide(sample.at.latest);
        if earliest <= latest {
            return Some((earliest, latest));
        }
    }
    Some((wide(expires.earliest), wide(expires.latest)))
}

/// How the expiry moved from `a` to `b`, both of one grant.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Moved {
    /// It is where it was, as far as can be seen.
    Not,
    /// It jumped forward.
    Forward,
    /// It went back.
    Back,
    /// It is gone.
    Removed,
}

/// How the expiry moved.
#[must_use]
pub fn moved(a: &Sample, b: &Sample, facts: &StoreFacts) -> Moved {
    let (Some(before), Some(after)) = (a.held(), b.held()) else {
        return Moved::Not;
    };
    if facts.exact_moments && after.renewed > before.renewed {
        return Moved::Forward;
    }
    match (expiry(a, facts), expiry(b, facts)) {
        (Some(before), Some(after)) if after.0 > before.1 => Moved::Forward,
        (Some(before), Some(after)) if after.1 < before.0 => Moved::Back,
        (Some(_), None) if after.bound.is_none() => Moved::Removed,
        _ => Moved::Not,
    }
}

/// Whether both readings show one grant: one holder, one token, one epoch of the store.
#[must_use]
pub fn same_grant(a: &Sample, b: &Sample) -> bool {
    match (a.held(), b.held()) {
        (Some(before), Some(after)) => before.holder == after.holder && before.token == after.token && same_epoch(a, b),
        _ => false,
    }
}

/// Whether one process of the store answered both, in one role; a store that does not say is taken as one.
#[must_use]
pub fn same_epoch(a: &Sample, b: &Sample) -> bool {
    match (a.reading(), b.reading()) {
        (Some(before), Some(after)) => match (&before.epoch, &after.epoch) {
            (Some(before), Some(after)) => before == after,
            _ => true,
        },
        _ => false,
    }
}
