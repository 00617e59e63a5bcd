//! The worst value of the last minutes, so that no scrape misses what was over before it came.

use leaseproof_model::clock::BootNanos;
use std::time::Duration;

/// In how many parts the window moves on.
const PARTS: usize = 6;

/// The greatest value noted within a sliding window. Small: there is one for each lease.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Worst {
    /// The worst of each part; not a number where nothing was noted.
    parts: [f32; PARTS],
    /// The number of the newest part.
    newest: u32,
}

impl Default for Worst {
    fn default() -> Self {
        Self {
            parts: [f32::NAN; PARTS],
            newest: 0,
        }
    }
}

impl Worst {
    /// Notes a value at `now`.
    pub fn note(&mut self, value: f64, now: BootNanos, window: Duration) {
        self.advance(part_of(now, window));
        let slot = &mut self.parts[self.newest as usize % PARTS];
        #[expect(clippy::cast_possible_truncation, reason = "seven digits of a duration are enough")]
        let value = value as f32;
        // What is no number is less than any other here.
        *slot = slot.max(value);
    }

    /// The worst of the window that ends at `now`; `None` if nothing was noted in it.
    #[must_use]
    pub fn at(mut self, now: BootNanos, window: Duration) -> Option<f64> {
        self.advance(part_of(now, window));
        let worst = self.parts.into_iter().fold(f32::NAN, f32::max);
        // The digits that a float has no room for are nobody's.
        (!worst.is_nan()).then(|| (f64::from(worst) * 1e6).round() / 1e6)
    }

    fn advance(&mut self, part: u32) {
        let steps = part.saturating_sub(self.newest).min(PARTS as u32);
        for step in 1..=steps {
            let gone = part - steps + step;
            self.parts[gone as usize % PARTS] = f32::NAN;
        }
        self.newest = self.newest.max(part);
    }
}

/// One part less than the window's parts is a whole window: the newest is only begun.
fn part_of(now: BootNanos, window: Duration) -> u32 {
    let length = u64::try_from(window.as_nanos()).unwrap_or(u64::MAX) / (PARTS as u64 - 1);
    u32::try_from(now.0 / length.max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_secs(300);

    fn at(seconds: u64) -> BootNanos {
        BootNanos(seconds * 1_000_000_000)
    }

    #[test]
    fn the_worst_is_remembered_for_the_window_and_no_longer_than_a_part_more() {
        let mut worst = Worst::default();
        assert_eq!(worst.at(at(1000), WINDOW), None);
        worst.note(2.0, at(1000), WINDOW);
        worst.note(7.0, at(1010), WINDOW);
        worst.note(1.0, at(1200), WINDOW);
        assert_eq!(worst.at(at(1310), WINDOW), Some(7.0));
        assert_eq!(worst.at(at(1370), WINDOW), Some(1.0));
        assert_eq!(worst.at(at(9000), WINDOW), None);
    }
}
