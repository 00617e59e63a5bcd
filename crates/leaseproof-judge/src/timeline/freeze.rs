//! When a process surely did not run, and when it possibly did not.

use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::FaultKind;
use leaseproof_model::moment::Moment;
use std::time::Duration;

/// One pause of an owner, or of a part of it.
#[derive(Clone, Debug)]
pub(crate) struct Freeze {
    /// Tree, parent or child.
    pub(crate) kind: FaultKind,
    /// From before the first system call to surely running again.
    pub(crate) possible: (BootNanos, BootNanos),
    /// From surely stopped to the first moment at which it may run again.
    pub(crate) sure: Option<(BootNanos, BootNanos)>,
    /// When it ran again; `None` while it does not.
    pub(crate) thaw: Option<Moment>,
    /// How many threads it stopped.
    pub(crate) threads: Option<u32>,
}

/// Disjoint spans in order, with the sum of all before each, so that overlaps are found by halving.
#[derive(Clone, Default, Debug)]
pub(crate) struct Spans {
    spans: Vec<(BootNanos, BootNanos)>,
    before: Vec<Duration>,
}

impl Spans {
    pub(crate) fn new(mut all: Vec<(BootNanos, BootNanos)>) -> Self {
        all.retain(|(from, until)| from < until);
        all.sort_unstable();
        let mut spans: Vec<(BootNanos, BootNanos)> = Vec::with_capacity(all.len());
        for (from, until) in all {
            match spans.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(until),
                _ => spans.push((from, until)),
            }
        }
        let mut sum = Duration::ZERO;
        let before = spans
            .iter()
            .map(|(from, until)| {
                let so_far = sum;
                sum += until.since(*from);
                so_far
            })
            .collect();
        Self { spans, before }
    }

    /// How much of the time before `at` lies in the spans.
    fn until(&self, at: BootNanos) -> Duration {
        match self.spans.partition_point(|span| span.0 < at) {
            0 => Duration::ZERO,
            n => self.before[n - 1] + at.min(self.spans[n - 1].1).since(self.spans[n - 1].0),
        }
    }

    /// How much of `from..until` lies outside the spans.
    pub(crate) fn outside(&self, from: BootNanos, until: BootNanos) -> Duration {
        if until <= from {
            return Duration::ZERO;
        }
        until
            .since(from)
            .saturating_sub(self.until(until).saturating_sub(self.until(from)))
    }

    /// The moment at which `span` of time outside the spans has gone by since `from`.
    pub(crate) fn advance(&self, from: BootNanos, span: Duration) -> BootNanos {
        let mut at = from;
        let mut left = span;
        let first = self.spans.partition_point(|it| it.1 <= from);
        for (start, end) in &self.spans[first..] {
            let free = start.since(at);
            if left <= free {
                break;
            }
            left -= free;
            at = *end;
        }
        at.plus(left)
    }

    /// Whether all of `from..=until` lies in one span.
    pub(crate) fn contain(&self, from: BootNanos, until: BootNanos) -> bool {
        match self.spans.partition_point(|span| span.0 <= from) {
            0 => false,
            n => until <= self.spans[n - 1].1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> BootNanos {
        BootNanos(ms * 1_000_000)
    }

    #[test]
    fn time_outside_the_spans_is_counted() {
        let spans = Spans::new(vec![(at(10), at(20)), (at(40), at(50)), (at(15), at(25))]);
        assert_eq!(spans.outside(at(0), at(60)), Duration::from_millis(35));
        assert_eq!(spans.outside(at(12), at(45)), Duration::from_millis(15));
        assert_eq!(spans.outside(at(60), at(70)), Duration::from_millis(10));
        assert_eq!(spans.outside(at(70), at(60)), Duration::ZERO);
    }

    #[test]
    fn advancing_skips_the_spans() {
        let spans = Spans::new(vec![(at(10), at(20)), (at(40), at(50))]);
        assert_eq!(spans.advance(at(0), Duration::from_millis(10)), at(10));
        assert_eq!(spans.advance(at(0), Duration::from_millis(11)), at(21));
        assert_eq!(spans.advance(at(12), Duration::from_millis(25)), at(55));
        assert!(spans.contain(at(12), at(20)));
        assert!(!spans.contain(at(12), at(21)));
    }
}
