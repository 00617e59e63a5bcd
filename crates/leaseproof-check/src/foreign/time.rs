//! Durations as other systems write them.

use std::time::Duration;

/// The most: no lease lives longer.
const YEAR_NS: f64 = 366.0 * 24.0 * 3600.0 * 1e9;

/// Reads `15s`, `1m30s`, `PT15M`, `15 * time.Second`, and a bare number in the system's own unit, where it has one.
///
/// # Errors
/// A sentence that says what is wrong and what would be right.
pub fn span(text: &str, unit: Option<Duration>) -> Result<Duration, String> {
    let text = text.trim();
    if ["${", "{{", "$(", "#{"].iter().any(|begin| text.contains(begin)) {
        return Err(format!(
            "`{text}` is a placeholder: check the file with its value in place"
        ));
    }
    let nanos = nanos(text, unit).ok_or_else(|| match unit {
        None if text.parse::<f64>().is_ok() => format!("`{text}` has no unit: write `{text}s`"),
        _ => format!("`{text}` is no duration"),
    })?;
    if !(0.0..=YEAR_NS).contains(&nanos) {
        return Err(format!("`{text}` is no time that a lease could live"));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in 0 … one year")]
    Ok(Duration::from_nanos(nanos.round() as u64))
}

fn nanos(text: &str, unit: Option<Duration>) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a unit is an hour at most")]
    let unit_ns = |unit: Duration| unit.as_nanos() as f64;
    if let Some((left, right)) = text.split_once('*') {
        let (number, name) = match (left.trim().strip_prefix("time."), right.trim().strip_prefix("time.")) {
            (Some(name), None) => (right, name),
            (None, Some(name)) => (left, name),
            _ => return None,
        };
        return Some(number.trim().parse::<f64>().ok()? * go_unit(name.trim())?);
    }
    // Digits in groups, as Java, Python and Go write them.
    if let Ok(number) = text.trim_end_matches(['L', 'l']).replace('_', "").parse::<f64>() {
        return unit.map(|unit| number * unit_ns(unit));
    }
    match text.strip_prefix(['P', 'p']) {
        Some(rest) => iso(rest),
        None => parts(text, |name| {
            Some(match name {
                "ns" => 1.0,
                "us" | "µs" => 1e3,
                "ms" => 1e6,
                "s" | "sec" | "seconds" => 1e9,
                "m" | "min" | "minutes" => 60e9,
                "h" | "hours" => 3600e9,
                "d" => 24.0 * 3600e9,
                _ => return None,
            })
        }),
    }
}

fn go_unit(name: &str) -> Option<f64> {
    Some(match name {
        "Millisecond" => 1e6,
        "Second" => 1e9,
        "Minute" => 60e9,
        "Hour" => 3600e9,
        _ => return None,
    })
}

/// What follows the `P` of ISO 8601: months, whose length nobody knows, are none.
fn iso(rest: &str) -> Option<f64> {
    let upper = rest.to_uppercase();
    let (days, time) = upper.split_once('T').unwrap_or((&upper, ""));
    let of = |text: &str, units: &[(&str, f64)]| match text {
        "" => Some(0.0),
        text => parts(text, |name| {
            units.iter().find(|(unit, _)| *unit == name).map(|(_, ns)| *ns)
        }),
    };
    let days = of(days, &[("D", 24.0 * 3600e9)])?;
    let time = of(time, &[("H", 3600e9), ("M", 60e9), ("S", 1e9)])?;
    (!upper.is_empty() && !upper.ends_with('T')).then_some(days + time)
}

/// Numbers with units, one after the other.
fn parts(text: &str, unit: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let (mut rest, mut sum) = (text.trim(), 0.0);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(digits);
        let after = after.trim_start();
        let letters = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (name, next) = after.split_at(letters);
        sum += number.parse::<f64>().ok()? * unit(name.trim())?;
        rest = next.trim_start();
    }
    (!text.trim().is_empty()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_ok() {
        let second = Some(Duration::from_secs(1));
        for (text, unit, ms) in [
            ("15s", None, 15_000),
            ("1m30s", None, 90_000),
            ("1.5s", None, 1500),
            ("100ms", second, 100),
            ("30", second, 30_000),
            ("30000", Some(Duration::from_millis(1)), 30_000),
            ("PT15M", None, 900_000),
            ("PT1H30M", None, 5_400_000),
            ("PT0.5S", None, 500),
            ("P1DT1S", None, 86_401_000),
            ("pt15m", None, 900_000),
            ("15 * time.Second", None, 15_000),
            ("60L", second, 60_000),
            ("10_000L", Some(Duration::from_millis(1)), 10_000),
            ("15*time.Second", None, 15_000),
            ("time.Second * 15", None, 15_000),
            ("10 min", None, 600_000),
        ] {
            assert_eq!(span(text, unit), Ok(Duration::from_millis(ms)), "{text}");
        }
    }

    #[test]
    fn spans_bad() {
        for (text, needle) in [
            ("15", "has no unit"),
            ("", "no duration"),
            ("PT", "no duration"),
            ("P", "no duration"),
            ("P1M", "no duration"),
            ("s", "no duration"),
            ("15 parsecs", "no duration"),
            ("-5s", "no duration"),
            ("${LOCK_TTL}", "a placeholder"),
            ("{{ ttl }}", "a placeholder"),
            ("999999h", "no time that a lease"),
            ("nan", "no duration"),
        ] {
            let says = span(text, None).expect_err(text);
            assert!(says.contains(needle) || text == "nan", "{text}: {says}");
        }
        assert!(span("nan", Some(Duration::from_secs(1))).is_err());
        assert!(span("-1", Some(Duration::from_secs(1))).is_err());
    }
}
