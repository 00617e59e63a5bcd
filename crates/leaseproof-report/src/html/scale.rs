//! The time axis: moments to pixels, linear always, so that lengths on the picture can be compared.

use leaseproof_model::clock::BootNanos;
use leaseproof_model::moment::Moment;

/// A window of time and its width in pixels.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Scale {
    pub(crate) from: BootNanos,
    pub(crate) to: BootNanos,
    pub(crate) width: f64,
}

impl Scale {
    /// The whole of a record, at 100 pixels a second where that stays between a screen and a long scroll.
    pub(crate) fn whole(from: BootNanos, to: BootNanos) -> Self {
        let seconds = to.since(from).as_secs_f64();
        Self {
            from,
            to,
            width: (seconds * 100.0).clamp(976.0, 6000.0).round(),
        }
    }

    /// A window that fits a screen.
    pub(crate) fn window(from: BootNanos, to: BootNanos) -> Self {
        Self { from, to, width: 976.0 }
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.to.since(self.from).as_secs_f64().max(1e-6)
    }

    /// The pixel of a moment; outside the window it lies outside 0 to width.
    pub(crate) fn x(&self, at: BootNanos) -> f64 {
        let ahead = if at >= self.from {
            at.since(self.from).as_secs_f64()
        } else {
            -self.from.since(at).as_secs_f64()
        };
        ahead / self.seconds() * self.width
    }

    pub(crate) fn middle(&self, at: Moment) -> f64 {
        (self.x(at.earliest) + self.x(at.latest)) / 2.0
    }

    /// The part of a span that is inside the window, in pixels; at least a hair wide so that it shows.
    pub(crate) fn clip(&self, from: BootNanos, to: BootNanos) -> Option<(f64, f64)> {
        if to < self.from || from > self.to || to < from {
            return None;
        }
        let left = self.x(from).max(0.0);
        let right = self.x(to).min(self.width);
        Some((left, (right - left).max(1.0)))
    }

    /// The ticks: seconds from `zero`, with steps of 1, 2 or 5 that are at least 80 pixels apart.
    pub(crate) fn ticks(&self, zero: BootNanos) -> Vec<(f64, String)> {
        let least = 80.0 * self.seconds() / self.width;
        let mut step = 1e-6;
        'found: for power in -6..7 {
            for factor in [1.0, 2.0, 5.0] {
                step = factor * 10f64.powi(power);
                if step >= least {
                    break 'found;
                }
            }
        }
        let start = self.from.since(zero).as_secs_f64();
        let digits = if step >= 1.0 {
            0
        } else if step >= 0.1 {
            1
        } else if step >= 0.01 {
            2
        } else {
            3
        };
        let first = (start / step).ceil() as i64;
        let last = ((start + self.seconds()) / step).floor() as i64;
        (first..=last)
            .map(|n| {
                let at = n as f64 * step;
                ((at - start) / self.seconds() * self.width, format!("{at:.digits$} s"))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn equal_spans_are_equally_wide_ok() {
        let from = BootNanos(5_000_000_000);
        let scale = Scale::whole(from, from.plus(Duration::from_secs(30)));
        let at = |s| scale.x(from.plus(Duration::from_secs(s)));
        assert!((at(2) - at(1) - (at(29) - at(28))).abs() < 1e-6);
        assert!(scale.x(BootNanos(0)) < 0.0);
    }

    #[test]
    fn ticks_count_from_the_start_of_the_scenario_ok() {
        let zero = BootNanos(1_000_000_000);
        let scale = Scale::window(zero.plus(Duration::from_secs(7)), zero.plus(Duration::from_secs(8)));
        let ticks = scale.ticks(zero);
        assert_eq!(ticks[0], (0.0, "7.0 s".to_owned()));
        assert_eq!(ticks.len(), 11);
    }
}
