//! Spans counted by length, and the gaps between stamps.

use crate::evidence::{Gap, Gaps, Usual};
use crate::place::{FileId, Place};
use crate::when::{Domain, When};
use std::time::Duration;

/// Sixteen steps to each doubling: a quantile is at most a sixteenth too long.
const STEPS: usize = 16;

/// Spans, counted by length.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    count: u64,
    longest: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: vec![0; 64 * STEPS],
            count: 0,
            longest: 0,
        }
    }
}

impl Histogram {
    fn slot(nanos: u64) -> usize {
        let nanos = nanos.max(1);
        let power = nanos.ilog2() as usize;
        let step = if power >= 4 {
            (nanos >> (power - 4)) & 15
        } else {
            (nanos << (4 - power)) & 15
        };
        power * STEPS + step as usize
    }

    pub(crate) fn add(&mut self, nanos: u64) {
        if let Some(count) = self.counts.get_mut(Self::slot(nanos)) {
            *count += 1;
        }
        self.count += 1;
        self.longest = self.longest.max(nanos);
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The length that `part` of all do not pass, in thousandths.
    pub(crate) fn quantile(&self, thousandths: u64) -> Duration {
        let wanted = (self.count * thousandths).div_ceil(1000).max(1);
        let mut seen = 0;
        for (slot, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                let (power, step) = (slot / STEPS, (slot % STEPS) as u64);
                let base = 1_u64 << power.min(63);
                let top = base
                    .saturating_add((base / 16).max(1).saturating_mul(step + 1))
                    .saturating_sub(1);
                return Duration::from_nanos(top.min(self.longest));
            }
        }
        Duration::ZERO
    }

    pub(crate) fn usual(&self) -> Usual {
        Usual {
            count: self.count,
            median: self.quantile(500),
            p99: self.quantile(990),
            longest: Duration::from_nanos(self.longest),
        }
    }
}

/// How many of the widest gaps are kept.
const WIDEST: usize = 16;

/// The gaps between the stamps of one file.
#[derive(Clone, Debug, Default)]
pub(crate) struct GapMeter {
    last: Option<(When, u64)>,
    spans: Histogram,
    widest: Vec<Gap>,
    pub(crate) back: u64,
    pub(crate) first_back: Option<u64>,
}

/// Where a file's clock went back by more than threads that write side by side explain.
const BACK_NS: i64 = 1_000_000_000;

impl GapMeter {
    /// A stamp was seen. `told`: how much before it the line itself tells a stop of. `ran`: how long the runtime says
    /// that it ran before that.
    pub(crate) fn stamp(&mut self, file: FileId, line: u64, when: When, told: Duration, ran: Option<Duration>) {
        if when.domain == Domain::Store || when.domain == Domain::Index {
            return;
        }
        let Some((last, last_line)) = self.last else {
            self.last = Some((when, line));
            return;
        };
        if last.domain != when.domain {
            self.last = Some((when, line));
            return;
        }
        let span = when.span.middle().saturating_sub(last.span.middle());
        if span < 0 {
            if span < -BACK_NS {
                self.back += 1;
                self.first_back.get_or_insert(line);
                self.last = Some((when, line));
            }
            return;
        }
        let nanos = span
            .unsigned_abs()
            .saturating_sub(u64::try_from(told.as_nanos()).unwrap_or(u64::MAX));
        self.spans.add(nanos);
        let took = Duration::from_nanos(nanos);
        let least = self.widest.last().map_or(Duration::ZERO, |gap| gap.took);
        if (self.widest.len() < WIDEST || took > least) && nanos > 0 {
            let told = crate::when::nanos(told);
            let gap = Gap {
                from: Place { file, line: last_line },
                to: Place { file, line },
                began: last,
                ended: When {
                    span: when.span.shifted(-told),
                    ..when
                },
                wall: None,
                took,
                ran,
            };
            let at = self.widest.partition_point(|other| other.took >= took);
            self.widest.insert(at, gap);
            self.widest.truncate(WIDEST);
        }
        self.last = Some((when, line));
    }

    pub(crate) fn finish(self) -> Gaps {
        Gaps {
            count: self.spans.count(),
            median: self.spans.quantile(500),
            p99: self.spans.quantile(990),
            widest: self.widest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_ok() {
        let mut spans = Histogram::default();
        for ms in 1..=1000_u64 {
            spans.add(ms * 1_000_000);
        }
        let (median, p99) = (spans.quantile(500).as_millis(), spans.quantile(990).as_millis());
        assert!((500..=532).contains(&median), "{median}");
        assert!((990..=1000).contains(&p99), "{p99}");
        assert_eq!(spans.usual().longest.as_millis(), 1000);
    }

    #[test]
    fn nothing_bad() {
        assert_eq!(Histogram::default().quantile(500), Duration::ZERO);
        let mut one = Histogram::default();
        one.add(0);
        one.add(u64::MAX);
        assert_eq!(one.usual().longest, Duration::from_nanos(u64::MAX));
    }
}
