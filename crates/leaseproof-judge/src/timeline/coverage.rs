//! Which spans a source was watching. "Nobody took the key" holds only inside.

use super::Fault;
use leaseproof_model::budget::Budget;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Coverage, Event, FaultKind, Reading, Source};
use std::time::Duration;

/// Whether one of the observer's own looks between two moments took so long that an owner's renewal
/// may have gone unanswered.
pub(crate) fn answered_slowly(
    readings: &[(&Event, &Reading)],
    from: BootNanos,
    until: BootNanos,
    budget: &Budget,
) -> bool {
    let first = readings.partition_point(|(event, _)| event.at.latest < from);
    readings[first..]
        .iter()
        .take_while(|(event, _)| event.at.earliest <= until)
        .any(|(event, _)| event.at.uncertainty() > budget.renew_timeout / 2)
}

/// When a fault kept the store's server from doing anything.
fn still(fault: &Fault<'_>) -> Option<(BootNanos, BootNanos)> {
    let (began, ended) = (fault.began()?, fault.ended()?);
    if let Some(until) = fault.failover.and_then(|failover| failover.nobody_until) {
        return (began.latest < until).then_some((began.latest, until));
    }
    // One that starts anew serves nobody until it answers.
    let until = match fault.kind {
        FaultKind::PauseStore => ended.earliest,
        _ => ended.latest,
    };
    (fault.stops_store() && began.latest < until).then_some((began.latest, until))
}

/// Whether one of these begins or ends between two moments. (A look may be asked before the server stops and be
/// answered when it goes on.)
fn beside(still: &[(BootNanos, BootNanos)], from: BootNanos, until: BootNanos) -> bool {
    let within = |at: BootNanos| from <= at && at <= until;
    still.iter().any(|(began, ended)| within(*began) || within(*ended))
}

/// What the observer of the store watched.
#[derive(Clone, Default, Debug)]
pub(crate) struct StoreCoverage {
    spans: Vec<(BootNanos, BootNanos)>,
    /// The longest time between two looks.
    pub(crate) longest_gap: Duration,
}

impl StoreCoverage {
    /// From what the lab stated; without a statement, from the readings themselves, whose longest
    /// distance is then the gap. A recording that was cut has no statement, and what it shows
    /// between two readings is still known.
    ///
    /// A server that stands still or is dead, by the kernel's word, grants nothing to anybody: there the
    /// absence of looks hides nothing. A look within `edge` of that is as good as one right beside it.
    pub(crate) fn new(
        stated: &[&Coverage],
        readings: &[(&Event, &Reading)],
        faults: &[Fault<'_>],
        edge: Duration,
    ) -> Self {
        let mut spans = Vec::new();
        let mut longest_gap = Duration::ZERO;
        let of_store: Vec<_> = stated.iter().filter(|it| it.source == Source::Store).collect();
        for coverage in &of_store {
            if coverage.dropped == 0 && coverage.from < coverage.until {
                spans.push((coverage.from, coverage.until));
                longest_gap = longest_gap.max(coverage.longest_gap);
            }
        }
        if of_store.is_empty()
            && let (Some(first), Some(last)) = (readings.first(), readings.last())
        {
            spans.push((first.0.at.earliest, last.0.at.latest));
            for pair in readings.windows(2) {
                longest_gap = longest_gap.max(pair[1].0.at.latest.since(pair[0].0.at.earliest));
            }
        }
        let still: Vec<_> = faults.iter().filter_map(still).collect();
        spans.extend(&still);
        spans.sort_unstable();
        let mut joined: Vec<(BootNanos, BootNanos)> = Vec::new();
        for span in spans {
            match joined.last_mut() {
                Some(last) if span.0 <= last.1 => last.1 = last.1.max(span.1),
                // The look before it and the one after it are as near as looks are to each other.
                Some(last) if span.0.since(last.1) <= edge && beside(&still, last.1.minus(edge), span.0.plus(edge)) => {
                    longest_gap = longest_gap.max(span.0.since(last.1));
                    last.1 = last.1.max(span.1);
                }
                _ => joined.push(span),
            }
        }
        Self {
            spans: joined,
            longest_gap,
        }
    }

    /// Whether all of `from..=until` was watched.
    pub(crate) fn covers(&self, from: BootNanos, until: BootNanos) -> bool {
        match self.spans.partition_point(|span| span.0 <= from) {
            0 => false,
            n => until <= self.spans[n - 1].1,
        }
    }

    /// Whether anything was watched at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }
}
