//! Durations as Go writes them: `1.5s`, `24h0m0s`, `200ms`.

use std::time::Duration;

/// The duration of such a text; nothing for what is none.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut sum = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        // The longer names first: `ms` is no `m`.
        let (unit, seconds) = [
            ("ns", 1e-9),
            ("us", 1e-6),
            ("µs", 1e-6),
            ("ms", 1e-3),
            ("h", 3600.0),
            ("m", 60.0),
            ("s", 1.0),
        ]
        .into_iter()
        .find(|(unit, _)| rest.starts_with(unit))?;
        rest = &rest[unit.len()..];
        sum += Duration::try_from_secs_f64(number * seconds).ok()?;
    }
    (!text.is_empty()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_writes_durations_so() {
        for (text, millis) in [
            ("10s", Some(10_000)),
            ("1.5s", Some(1500)),
            ("24h0m0s", Some(86_400_000)),
            ("200ms", Some(200)),
            ("0s", Some(0)),
            ("", None),
            ("10", None),
            ("s", None),
            ("1.2.3s", None),
            ("-1s", None),
        ] {
            assert_eq!(parse(text), millis.map(Duration::from_millis), "{text}");
        }
    }
}
