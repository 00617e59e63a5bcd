//! From reading to reading: which renewals there were, and what else happened.

use super::sample::{Moved, Sample, moved, same_epoch, same_grant, steady};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::inspect::lease_view::{Change, Happened};
use leaseproof_model::inspect::ms;
use leaseproof_model::moment::Moment;
use leaseproof_model::store::StoreFacts;
use leaseproof_model::truth::Truth;
use std::time::Duration;

/// A renewal between two readings (their places in the span).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Jump {
    /// The last reading before it.
    pub before: usize,
    /// The first reading after it.
    pub after: usize,
    /// Its moment, where the store itself keeps it.
    pub exact: Option<BootNanos>,
}

/// What a span's readings show, one after the other.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Steps {
    /// Renewals, in order.
    pub jumps: Vec<Jump>,
    /// Everything else, in order.
    pub happened: Vec<Happened>,
    /// Where another grant than at the reading before was first seen.
    pub new_grants: Vec<usize>,
    /// The last reading before and the first after the expiry went back. It may be a renewal that set a
    /// shorter TTL.
    pub shortened: Vec<(usize, usize)>,
    /// The last reading of each grant that ended, but where it surely ended early.
    pub ended: Vec<usize>,
}

/// An expiry that is known to this is taken for exact when a lease ends at it.
const SHARP: Duration = Duration::from_millis(100);

/// A lease may be given back in a part of its TTL of which there is no reading, if that is longer than this.
const UNREAD: Duration = Duration::from_millis(100);

/// More than so many are not kept: the store is in trouble by then.
const KEPT: usize = 1000;

/// Goes through the readings of a span.
#[must_use]
pub fn steps(samples: &[Sample], facts: &StoreFacts) -> Steps {
    let mut found = Steps::default();
    let Some(origin) = samples.first().map(|sample| sample.at.earliest) else {
        return found;
    };
    let mut last: Option<usize> = None;
    let mut silent: Option<usize> = None;
    for (at, sample) in samples.iter().enumerate() {
        if sample.seen.is_err() {
            silent.get_or_insert(at);
            continue;
        }
        if let Some(first) = silent.take() {
            found.silence(samples, origin, first, at);
        }
        if let Some(before) = last {
            found.step(samples, facts, origin, (before, at));
        }
        last = Some(at);
    }
    if let Some(first) = silent {
        found.silence(samples, origin, first, samples.len());
    }
    found
}

impl Steps {
    fn tell(&mut self, between_ms: (f64, f64), what: Change, says: String) {
        if self.happened.len() < KEPT {
            self.happened.push(Happened { between_ms, what, says });
        }
    }

    fn silence(&mut self, samples: &[Sample], origin: BootNanos, first: usize, end: usize) {
        let from = samples[first].at.earliest;
        let to = samples[end - 1].at.latest;
        let why = samples[first].seen.as_ref().err().cloned().unwrap_or_default();
        let span = (ms(from.since(origin)), ms(to.since(origin)));
        let lasted = span.1 - span.0;
        let (what, says) = match samples[first..end].iter().all(|sample| sample.refused) {
            true => (
                Change::Refused,
                format!("the store refused this user for at least {lasted:.0} ms: {why}"),
            ),
            false => (
                Change::Silent,
                format!("the store did not answer for at least {lasted:.0} ms: {why}"),
            ),
        };
        self.tell(span, what, says);
    }

    fn step(&mut self, samples: &[Sample], facts: &StoreFacts, origin: BootNanos, (before, after): (usize, usize)) {
        let (a, b) = (&samples[before], &samples[after]);
        let between = (ms(a.at.earliest.since(origin)), ms(b.at.latest.since(origin)));
        let steady = steady(a, b, facts);
        if steady == Truth::No {
            let says = "the store's clock stepped against this host's: no renewal is inferred across it".to_owned();
            self.tell(between, Change::ClockStepped, says);
        }
        if !same_epoch(a, b) {
            let says = "another process of the store answers, or in another role: it was restarted, or failed over";
            self.tell(between, Change::EpochChanged, says.to_owned());
        }
        match (a.held(), b.held()) {
            (None, Some(held)) => {
                self.new_grants.push(after);
                self.tell(between, Change::Granted, format!("granted to {}", held.holder));
            }
            (Some(_), None) => {
                let (what, says) = end_of(a, b, facts);
                if what != Change::EndedEarly {
                    self.ended.push(before);
                }
                self.tell(between, what, says);
            }
            (Some(old), Some(new)) if old.holder != new.holder || old.token != new.token => {
                self.new_grants.push(after);
                self.ended.push(before);
                let says = match old.holder == new.holder {
                    // One text for all grants, or a holder that writes its lease again: nobody can tell.
                    true => format!("written anew: {} has it under another token", new.holder),
                    false => format!(
                        "taken over: {} held it, now {}{}",
                        old.holder,
                        new.holder,
                        still_left(a, b)
                    ),
                };
                self.tell(between, Change::Taken, says);
            }
            (Some(_), Some(held)) if same_grant(a, b) => match moved(a, b, facts) {
                Moved::Back if steady == Truth::Yes && long_over(b, facts).is_some() => {
                    let over = ms(long_over(b, facts).unwrap_or_default());
                    let says = format!(
                        "its TTL shows it as over for {over:.0} ms at least, and it is there: the clock that shows it \
                         stepped back; that is no expiry"
                    );
                    self.tell(between, Change::ClockStepped, says);
                }
                // What comes back from there was brought by nobody that is known.
                Moved::Forward if long_over(a, facts).is_some() => {}
                Moved::Forward if steady == Truth::Yes => self.jumps.push(Jump {
                    before,
                    after,
                    exact: held.renewed.filter(|_| facts.exact_moments),
                }),
                Moved::Back if steady == Truth::Yes => {
                    self.shortened.push((before, after));
                    self.tell(between, Change::Shortened, "somebody shortened its TTL".to_owned());
                }
                Moved::Removed => {
                    let says = "somebody took its expiry off: it now stays until it is deleted".to_owned();
                    self.tell(between, Change::ExpiryRemoved, says);
                }
                _ => {}
            },
            _ => {}
        }
    }
}

/// How long a lease that is held in a reading should have been gone, at least, where that is longer than the store takes.
fn long_over(sample: &Sample, facts: &StoreFacts) -> Option<Duration> {
    let held = sample.held().filter(|held| !held.expired)?;
    let over = sample.at.earliest.since(held.expires?.latest);
    (over > facts.late_bound).then_some(over)
}

/// What was left of the TTL of a lease that is another's in the next reading, in words: it did not run out.
fn still_left(a: &Sample, b: &Sample) -> String {
    match a.expires() {
        Some(expires) if expires.after(between(a, b)) == Truth::Yes => {
            let left = ms(expires.earliest.since(b.at.latest));
            format!(", at least {left:.0} ms before the first one's TTL had run out: released, deleted or overwritten")
        }
        _ => String::new(),
    }
}

/// Why a lease that `a` shows is free in `b`.
fn end_of(a: &Sample, b: &Sample, facts: &StoreFacts) -> (Change, String) {
    // Of the stores that are known here one drops keys when its memory is full.
    let evicted = if facts.kind == "redis" {
        "evicted or lost"
    } else {
        "or lost"
    };
    match a.expires() {
        Some(_) if long_over(a, facts).is_some() => (
            Change::Ended,
            "free, and its TTL said nothing any more: run out, released or deleted; the store does not say which"
                .to_owned(),
        ),
        Some(expires) if expires.after(between(a, b)) == Truth::Yes => {
            let early = ms(expires.earliest.since(b.at.latest));
            let says = format!(
                "free at least {early:.0} ms before its TTL had run out: released, deleted, {evicted}; the store does \
                 not say which"
            );
            (Change::EndedEarly, says)
        }
        // Where the expiry is known to no better than this, one that ended in the last of its TTL need not have expired.
        Some(expires) if expires.uncertainty() > SHARP && a.at.latest < expires.latest => {
            let left = ms(expires.latest.since(a.at.earliest));
            let says = format!(
                "free, with {left:.0} ms of its TTL left at the most: run out, released or deleted; the store does not \
                 say which"
            );
            (Change::Ended, says)
        }
        // It was seen with more than that left, and next when it was over: nobody saw what came between.
        Some(expires) if expires.latest.since(a.at.latest) > UNREAD => {
            let left = ms(expires.latest.since(a.at.earliest));
            let unseen = ms(b.at.latest.since(a.at.earliest));
            let says = format!(
                "free, with {left:.0} ms of its TTL left when it was last seen, {unseen:.0} ms before: run out, released or \
                 deleted; the store does not say which"
            );
            (Change::Ended, says)
        }
        Some(_) => (Change::Expired, "free: its TTL ran out without a renewal".to_owned()),
        None if facts.shows_expiry => (
            Change::EndedEarly,
            format!("free, though it had no expiry: released, deleted, {evicted}; the store does not say which"),
        ),
        None => (
            Change::Ended,
            "free: released, deleted, or its session ended; the store does not say which".to_owned(),
        ),
    }
}

fn between(a: &Sample, b: &Sample) -> Moment {
    Moment::between(a.at.earliest, b.at.latest)
}
