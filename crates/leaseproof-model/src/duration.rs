//! Durations as people write them: a number and a unit.

use std::time::Duration;

/// Reads `250ms`, `1.5s`, `2m` or `1h`. A bare number is refused: nobody knows its unit.
///
/// # Errors
/// A sentence that says what is wrong and what would be right.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| c.is_ascii_alphabetic() || c == 'µ')
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let unit = unit.trim();
    let scale_ns: f64 = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        "" => return Err(format!("`{text}` has no unit: write `{trimmed}ms` or `{trimmed}s`")),
        other => {
            return Err(format!(
                "`{other}` in `{text}` is no unit of time: use ns, us, ms, s, m or h"
            ));
        }
    };
    let number: f64 = number
        .trim()
        .parse()
        .map_err(|_| format!("`{text}` is no duration: write a number and a unit, such as `1500ms`"))?;
    if !number.is_finite() || number < 0.0 {
        return Err(format!("`{text}` is no duration: it must not be negative"));
    }
    let nanos = number * scale_ns;
    if nanos > 366.0 * 24.0 * 3600e9 {
        return Err(format!("`{text}` is more than a year: no lease lives that long"));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be in 0 … one year"
    )]
    Ok(Duration::from_nanos(nanos.round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_ok() {
        for (text, ms) in [
            ("250ms", 250),
            ("1.5s", 1500),
            ("2m", 120_000),
            (" 3 s ", 3000),
            ("1h", 3_600_000),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
    }

    #[test]
    fn durations_bad() {
        for (text, needle) in [
            ("3", "has no unit"),
            ("3 parsecs", "no unit of time"),
            ("-1s", "no duration"),
            ("s", "no duration"),
            ("9000h", "more than a year"),
            ("", "has no unit"),
        ] {
            let said = parse_duration(text).expect_err(text);
            assert!(said.contains(needle) || said.contains("negative"), "{text}: {said}");
        }
    }
}
