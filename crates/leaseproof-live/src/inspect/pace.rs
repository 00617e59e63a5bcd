//! When to read next: often enough to place a renewal, and never more than [`MOST`] times a second.
//!
//! A renewal is placed between two readings. Where one is expected, readings lie closer; elsewhere
//! they are spread, at distances that no heartbeat is a multiple of.

use leaseproof_model::clock::BootNanos;
use std::collections::VecDeque;
use std::time::Duration;

/// So many readings in any one second.
pub const MOST: usize = 50;

const SECOND: Duration = Duration::from_secs(1);

/// Between two readings where nothing is expected: forty a second, and ten are left for what is.
const SPREAD: [Duration; 3] = [
    Duration::from_millis(23),
    Duration::from_millis(25),
    Duration::from_millis(27),
];

/// Between two readings where a renewal is expected.
const CLOSE: Duration = Duration::from_millis(5);

/// So long before and after the expected moment readings are close.
const AROUND: Duration = Duration::from_millis(12);

/// The pace of one span.
#[derive(Debug)]
pub struct Pace {
    asked: VecDeque<BootNanos>,
    turn: usize,
    heartbeat: Option<Duration>,
    last_renewal: Option<BootNanos>,
}

impl Pace {
    /// A pace; `heartbeat` is the plan's, if there is one.
    #[must_use]
    pub fn new(heartbeat: Option<Duration>) -> Self {
        Self {
            asked: VecDeque::new(),
            turn: 0,
            heartbeat,
            last_renewal: None,
        }
    }

    /// Notes a renewal that was seen, by which the expiry moved this far: with one TTL that is the time
    /// since the renewal before, and known much better than either moment.
    pub fn renewal(&mut self, at: BootNanos, moved: Option<Duration>) {
        self.heartbeat = moved.or(self.heartbeat);
        self.last_renewal = Some(at);
    }

    /// When to ask next, after asking at `now`.
    pub fn next(&mut self, now: BootNanos) -> BootNanos {
        self.asked.push_back(now);
        while self.asked.front().is_some_and(|first| now.since(*first) >= SECOND) {
            self.asked.pop_front();
        }
        self.turn += 1;
        let spread = now.plus(SPREAD[self.turn % SPREAD.len()]);
        let wanted = match self.expected(now) {
            Some(at) if now.plus(CLOSE) >= at.minus(AROUND) => now.plus(CLOSE),
            // Not past the begin of the close part.
            Some(at) => spread.min(at.minus(AROUND)).max(now.plus(CLOSE)),
            None => spread,
        };
        match self.asked.front() {
            Some(first) if self.asked.len() >= MOST => wanted.max(first.plus(SECOND)),
            _ => wanted,
        }
    }

    /// The next moment, of those one heartbeat apart, whose close part is not over yet.
    fn expected(&self, now: BootNanos) -> Option<BootNanos> {
        let (last, heartbeat) = (self.last_renewal?, self.heartbeat?);
        if heartbeat < AROUND * 4 {
            return None;
        }
        let past = now.minus(AROUND).since(last);
        let beats = past.as_nanos().div_ceil(heartbeat.as_nanos()).max(1);
        Some(last.plus(heartbeat * u32::try_from(beats).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn never_more_than_the_bound_in_any_second() {
        for heartbeat in [50, 130, 333, 1000, 3000] {
            let mut pace = Pace::new(None);
            let mut asked = Vec::new();
            let mut now = BootNanos(5000 * MS);
            let mut beat = now;
            while now < BootNanos(15_000 * MS) {
                if now >= beat {
                    pace.renewal(beat, Some(Duration::from_millis(heartbeat)));
                    beat = beat.plus(Duration::from_millis(heartbeat));
                }
                asked.push(now);
                let next = pace.next(now);
                assert!(next >= now.plus(CLOSE), "{heartbeat}: {next} after {now}");
                now = next;
            }
            for window in asked.windows(MOST + 1) {
                let span = window[MOST].since(window[0]);
                assert!(span >= SECOND, "{heartbeat}: {} readings in {span:?}", MOST + 1);
            }
            assert!(asked.len() > 350, "{heartbeat}: {} readings", asked.len());
        }
    }

    #[test]
    fn close_where_a_renewal_is_expected() {
        let mut pace = Pace::new(Some(Duration::from_secs(1)));
        pace.renewal(BootNanos(0), None);
        let mut now = BootNanos(500 * MS);
        let mut near = 0;
        while now < BootNanos(1100 * MS) {
            now = pace.next(now);
            near += u32::from((BootNanos(988 * MS)..=BootNanos(1012 * MS)).contains(&now));
        }
        assert!(near >= 5, "{near}");
    }
}
