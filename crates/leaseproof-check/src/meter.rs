//! The worst pause that the leaseproof library's own meter saw, from its page of metrics.

use std::path::Path;
use std::time::Duration;

/// The series of the library's exposition.
const SERIES: &str = "leaseproof_worst_pause_seconds";

/// The worst pause on a page of metrics, and its line, counted from 1; `None` where it is not on it.
#[must_use]
pub fn worst(text: &str) -> Option<(Duration, usize)> {
    let of_line = |(at, line): (usize, &str)| {
        let rest = line.trim().strip_prefix(SERIES)?;
        let rest = match rest.strip_prefix('{') {
            Some(labels) => labels.split_once('}')?.1,
            None => rest,
        };
        let seconds: f64 = rest.split_whitespace().next()?.parse().ok()?;
        Some((Duration::try_from_secs_f64(seconds).ok()?, at + 1))
    };
    text.lines()
        .enumerate()
        .filter_map(of_line)
        .max_by_key(|(pause, _)| *pause)
}

/// The same of a file.
///
/// # Errors
/// When it can't be read, or has no such series.
pub fn read(path: &Path) -> Result<(Duration, usize), String> {
    let shown = path.display();
    let bytes = std::fs::read(path).map_err(|error| format!("the meter's page {shown} can't be read: {error}"))?;
    let text = String::from_utf8_lossy(&bytes);
    worst(&text).ok_or_else(|| {
        let is_there = |line: &str| line.strip_prefix(SERIES).is_some_and(|rest| rest.starts_with(['{', ' ', '\t']));
        if let Some(at) = text.lines().position(|line| is_there(line.trim())) {
            return format!(
                "{shown}:{}: {SERIES} is there, and has no value of seconds (NaN: nothing was measured yet): read the page \
                 again while the lease is held, or give --observed",
                at + 1
            );
        }
        format!("{shown}: it has no {SERIES}: give the library's metrics (`curl …/metrics > {shown}`), or --observed")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worst_ok() {
        for (text, ms, line) in [
            (
                "# TYPE leaseproof_worst_pause_seconds gauge\nleaseproof_worst_pause_seconds 1.5\n",
                1500,
                2,
            ),
            ("leaseproof_worst_pause_seconds{key=\"a b\"} 0.25 1700000000\n", 250, 1),
            (
                "leaseproof_worst_pause_seconds 0.1\nleaseproof_worst_pause_seconds{k=\"b\"} 2.5e0\n",
                2500,
                2,
            ),
        ] {
            assert_eq!(worst(text), Some((Duration::from_millis(ms), line)), "{text}");
        }
    }

    #[test]
    fn read_bad() {
        let page = std::env::temp_dir().join(format!("meter-{}.txt", std::process::id()));
        for (text, needle) in [
            (
                "a 1\nleaseproof_worst_pause_seconds NaN\n",
                ":2: leaseproof_worst_pause_seconds is there",
            ),
            (
                "leaseproof_worst_pause_seconds{k=\"a\"} NaN\n",
                ":1: leaseproof_worst_pause_seconds is there",
            ),
            (
                "leaseproof_worst_pause_seconds_total 1\n",
                "it has no leaseproof_worst_pause_seconds",
            ),
        ] {
            std::fs::write(&page, text).expect("written");
            let says = read(&page).expect_err(text);
            assert!(says.contains(needle), "{says}");
        }
        let _ = std::fs::remove_file(&page);
    }

    #[test]
    fn worst_bad() {
        for text in [
            "",
            "other 1",
            "leaseproof_worst_pause_seconds",
            "leaseproof_worst_pause_seconds_total 1",
            "leaseproof_worst_pause_seconds NaN",
            "leaseproof_worst_pause_seconds -1",
            "leaseproof_worst_pause_seconds{k=\"a\" 1",
        ] {
            assert_eq!(worst(text), None, "{text}");
        }
    }
}
