//! The time axis of an incident: UTC, linear, from nanoseconds since 1970 to pixels.

use crate::words::day;
use leaseproof_model::diagnosis::Span;

const MS: i64 = 1_000_000;
const SECOND: i64 = 1000 * MS;
const MINUTE: i64 = 60 * SECOND;
const DAY: i64 = 24 * 60 * MINUTE;

/// What ticks may be apart.
const STEPS: [i64; 27] = [
    MS,
    2 * MS,
    5 * MS,
    10 * MS,
    20 * MS,
    50 * MS,
    100 * MS,
    200 * MS,
    500 * MS,
    SECOND,
    2 * SECOND,
    5 * SECOND,
    10 * SECOND,
    15 * SECOND,
    30 * SECOND,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    60 * MINUTE,
    180 * MINUTE,
    360 * MINUTE,
    720 * MINUTE,
    DAY,
    7 * DAY,
];

/// The least distance of two ticks, in pixels.
const APART: f64 = 96.0;

/// A window of time and its width in pixels.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) width: f64,
}

impl Axis {
    /// A window that fits a screen.
    pub(crate) fn window(from: i64, to: i64) -> Self {
        Self {
            from,
            to: to.max(from.saturating_add(MS)),
            width: 976.0,
        }
    }

    /// All of it, at 60 pixels a second where that stays between a screen and a long scroll.
    pub(crate) fn whole(from: i64, to: i64) -> Self {
        let seconds = to.saturating_sub(from) as f64 / SECOND as f64;
        Self {
            width: (seconds * 60.0).clamp(976.0, 4000.0).round(),
            ..Self::window(from, to)
        }
    }

    pub(crate) fn length(&self) -> i64 {
        self.to.saturating_sub(self.from)
    }

    pub(crate) fn x(&self, at: i64) -> f64 {
        at.saturating_sub(self.from) as f64 / self.length() as f64 * self.width
    }

    /// The middle of a moment, for the place of its mark.
    pub(crate) fn middle(&self, when: Span) -> f64 {
        (self.x(when.earliest) + self.x(when.latest)) / 2.0
    }

    /// Whether some of it is inside.
    pub(crate) fn shows(&self, from: i64, to: i64) -> bool {
        from <= self.to && to >= self.from
    }

    /// The part of a span that is inside, in pixels: from, and how wide; at least a hair.
    pub(crate) fn clip(&self, from: i64, to: i64) -> Option<(f64, f64)> {
        if to < from || !self.shows(from, to) {
            return None;
        }
        let left = self.x(from).max(0.0);
        Some((left, (self.x(to).min(self.width) - left).max(1.0)))
    }

    /// The ticks, with the time of day, or the day where a day is small.
    pub(crate) fn ticks(&self) -> Vec<(f64, String)> {
        let least = self.length() as f64 * APART / self.width;
        let step = STEPS
            .into_iter()
            .find(|step| *step as f64 >= least)
            .unwrap_or_else(|| (least / DAY as f64).ceil() as i64 * DAY);
        let mut ticks = Vec::new();
        let mut at = self.from.div_euclid(step).saturating_mul(step);
        while at <= self.to && ticks.len() < 100 {
            if at >= self.from {
                let text = if step >= DAY {
                    day(at.div_euclid(SECOND))
                } else {
                    of_day(at, if step >= SECOND { 0 } else { 3 })
                };
                ticks.push((self.x(at), text));
            }
            at = at.saturating_add(step);
        }
        ticks
    }
}

/// `18:16:01.761`: the time of day, UTC.
fn of_day(at: i64, digits: usize) -> String {
    let ms = at.div_euclid(MS).rem_euclid(DAY / MS);
    let (hours, minutes, seconds) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
    if digits == 0 {
        format!("{hours:02}:{minutes:02}:{seconds:02}")
    } else {
        format!("{hours:02}:{minutes:02}:{seconds:02}.{:03}", ms % 1000)
    }
}

/// `18:16:01.761`, and `±500 ms` where it is not known to the ms.
pub(crate) fn moment(when: Span) -> String {
    let half = when.latest.saturating_sub(when.earliest).max(0) / 2;
    let mut text = of_day(when.earliest.saturating_add(half), 3);
    if half >= 2 * MS {
        let ms = half as f64 / MS as f64;
        let unsure = if ms >= 1000.0 {
            format!(" ±{:.2} s", ms / 1000.0)
        } else {
            format!(" ±{ms:.0} ms")
        };
        text.push_str(&unsure);
    }
    text
}

/// `2026-11-30 18:16:01.761 UTC`.
pub(crate) fn date(at: i64) -> String {
    format!("{} {} UTC", day(at.div_euclid(SECOND)), of_day(at, 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: i64 = 1_796_062_561_761_000_000;

    #[test]
    fn moments_are_utc_and_say_what_is_not_known_of_them() {
        let exact = Span {
            earliest: AT,
            latest: AT,
        };
        assert_eq!(moment(exact), "18:16:01.761");
        assert_eq!(date(AT), "2026-11-30 18:16:01.761 UTC");
        let second = Span {
            earliest: AT,
            latest: AT + SECOND,
        };
        assert_eq!(moment(second), "18:16:02.261 ±500 ms");
    }

    #[test]
    fn ticks_fit_a_second_and_a_year() {
        for (length, first) in [
            (SECOND, "18:16:01.800"),
            (60 * SECOND, "18:16:10"),
            (400 * DAY, "2027-01-"),
        ] {
            let ticks = Axis::window(AT, AT + length).ticks();
            assert!((2..=11).contains(&ticks.len()), "{ticks:?}");
            assert!(ticks[0].1.starts_with(first) || length > DAY, "{ticks:?}");
        }
    }
}
