//! The lease as a span's readings show it.

use super::offset::offset;
use super::renewals::{left, renewals, ttl};
use super::sample::Sample;
use super::steps::{Steps, steps};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::Held;
use leaseproof_model::inspect::lease_view::{LeaseNow, LeaseView, Watched};
use leaseproof_model::inspect::{Range, ms};
use leaseproof_model::store::StoreFacts;
use std::time::Duration;

/// How a span was watched.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// Whether it ended before its time.
    pub cut: bool,
    /// How late this process woke for a reading, at worst.
    pub own_lag: Duration,
}

/// The view, and the steps that it was made from; none without a reading. `words` says what the store
/// shows as the TTL.
#[must_use]
pub fn view(
    samples: &[Sample],
    facts: &StoreFacts,
    span: Span,
    words: &dyn Fn(Option<&Held>, BootNanos) -> String,
) -> Option<(LeaseView, Steps)> {
    let first = samples.iter().find(|sample| sample.reading().is_some())?;
    let last = samples.iter().rfind(|sample| sample.reading().is_some())?;
    let steps = steps(samples, facts);
    let ttl = ttl(samples, &steps, facts);
    let view = LeaseView {
        watched: watched(samples, span),
        at_first: now(first, words),
        at_last: now(last, words),
        granted_ttl: ttl.range.clone(),
        ttl_varies: ttl.varies,
        renewals: renewals(samples, &steps, &ttl, facts),
        happened: steps.happened.clone(),
        clock: offset(samples, facts),
    };
    Some((view, steps))
}

fn now(sample: &Sample, words: &dyn Fn(Option<&Held>, BootNanos) -> String) -> LeaseNow {
    let reading = sample.reading();
    let all = reading.and_then(|reading| reading.held.as_ref());
    let held = sample.held();
    LeaseNow {
        held: held.is_some(),
        holder: held.map(|held| held.holder.to_string()),
        token: held.and_then(|held| held.token).map(|token| token.0),
        counter: reading.and_then(|reading| reading.counter).map(|token| token.0),
        left: left(sample).map(|(least, most)| Range::between(least, most)),
        ttl_words: words(all, sample.at.earliest),
        epoch: reading.and_then(|reading| reading.epoch.clone()),
    }
}

fn watched(samples: &[Sample], span: Span) -> Watched {
    let good: Vec<&Sample> = samples.iter().filter(|sample| sample.reading().is_some()).collect();
    let mut trips: Vec<Duration> = good.iter().map(|sample| sample.waited.uncertainty()).collect();
    trips.sort_unstable();
    let begin = samples.first().map_or(BootNanos(0), |sample| sample.at.earliest);
    let end = samples.last().map_or(BootNanos(0), |sample| sample.at.latest);
    let holes = good.windows(2).map(|pair| pair[1].at.latest.since(pair[0].at.earliest));
    // What was asked before the first answer and after the last is a hole as well.
    let at_begin = good.first().map(|first| first.at.latest.since(begin));
    let at_end = good.last().map(|last| end.since(last.at.earliest));
    let unseen_at_end = good.last().map(|last| end.since(last.at.latest)).unwrap_or_default();
    Watched {
        span_ms: ms(end.since(begin)),
        readings: good.len() as u64,
        failed: (samples.len() - good.len()) as u64,
        failure: samples
            .iter()
            .rev()
            .find_map(|sample| sample.seen.as_ref().err().cloned()),
        longest_hole_ms: ms(holes.chain(at_begin).chain(at_end).max().unwrap_or_default()),
        unseen_at_end_ms: ms(unseen_at_end),
        round_trip_ms: ms(trips.get(trips.len() / 2).copied().unwrap_or_default()),
        longest_round_trip_ms: ms(trips.last().copied().unwrap_or_default()),
        own_lag_ms: ms(span.own_lag),
        cut: span.cut,
    }
}
