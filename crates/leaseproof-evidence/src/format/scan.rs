//! Small parts that many formats share: what stands between two texts, and spans of time as programs write them.

use std::time::Duration;

/// What follows a text.
pub(crate) fn after<'a>(text: &'a str, needle: &str) -> Option<&'a str> {
    let at = memchr::memmem::find(text.as_bytes(), needle.as_bytes())?;
    text.get(at + needle.len()..)
}

/// What stands between two texts.
pub(crate) fn between<'a>(text: &'a str, left: &str, right: &str) -> Option<&'a str> {
    let rest = after(text, left)?;
    rest.get(..rest.find(right)?)
}

/// Whether a text is in another.
pub(crate) fn has(text: &str, needle: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), needle.as_bytes()).is_some()
}

/// The first word.
pub(crate) fn word(text: &str) -> &str {
    let end = text.find([' ', ',', ';', ')', '\t', '\n']).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// A number at the begin, whole or with a point or comma.
pub(crate) fn number(text: &str) -> Option<(f64, &str)> {
    let end = text
        .char_indices()
        .find(|(at, c)| !(c.is_ascii_digit() || *c == '.' || *c == ',' || (*at == 0 && (*c == '-' || *c == '+'))))
        .map_or(text.len(), |(at, _)| at);
    let (digits, rest) = text.split_at(end);
    let digits = digits.trim_end_matches([',', '.']);
    let value: f64 = if digits.contains(',') {
        digits.replace(',', ".").parse()
    } else {
        digits.parse()
    }
    .ok()?;
    value.is_finite().then_some((value, rest))
}

/// A whole number at the begin.
pub(crate) fn whole(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    Some((digits.parse().ok()?, rest))
}

/// So many units of so many nanoseconds each.
pub(crate) fn span(value: f64, unit_ns: f64) -> Option<Duration> {
    let nanos = value * unit_ns;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be in range"
    )]
    (0.0..9e18)
        .contains(&nanos)
        .then(|| Duration::from_nanos(nanos.round() as u64))
}

/// A signed one, in nanoseconds.
pub(crate) fn signed(value: f64, unit_ns: f64) -> Option<i64> {
    let nanos = value * unit_ns;
    #[expect(clippy::cast_possible_truncation, reason = "checked to be in range")]
    (nanos.abs() < 9e18).then(|| nanos.round() as i64)
}

/// The nanoseconds of a unit's name.
pub(crate) fn unit(name: &str) -> Option<f64> {
    Some(match name {
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "s" | "sec" | "secs" | "second" | "seconds" => 1e9,
        "m" | "min" | "minutes" => 60e9,
        "h" | "hours" => 3600e9,
        "d" => 86400e9,
        _ => return None,
    })
}

/// `4.852142211s`, `1m2s`, `363.8µs`: a span as Go writes it, and what follows.
pub(crate) fn go_span(text: &str) -> Option<(Duration, &str)> {
    let mut rest = text;
    let mut total = Duration::ZERO;
    let mut any = false;
    while let Some((value, after)) = number(rest).filter(|(value, _)| *value >= 0.0) {
        let end = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let (name, more) = after.split_at(end);
        let Some(unit) = unit(name) else { break };
        total = total.saturating_add(span(value, unit)?);
        any = true;
        rest = more;
    }
    any.then_some((total, rest))
}

/// `key="v w"` or `key=v`: a field of a logfmt text.
pub(crate) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut from = 0;
    while let Some(at) = text.get(from..)?.find(name) {
        let at = from + at;
        let ends = at + name.len();
        let begins = at == 0
            || !text
                .as_bytes()
                .get(at - 1)
                .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'-');
        if begins && text.as_bytes().get(ends) == Some(&b'=') {
            let value = text.get(ends + 1..)?;
            if let Some(quoted) = value.strip_prefix('"') {
                return quoted.get(..quoted.find('"')?);
            }
            return Some(word(value));
        }
        from = ends;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_ok() {
        for (text, nanos) in [
            ("4.852142211s", 4_852_142_211_u128),
            ("1m2s", 62_000_000_000),
            ("363.8µs rest", 363_800),
            ("5s, x", 5_000_000_000),
            ("100ms", 100_000_000),
        ] {
            assert_eq!(go_span(text).map(|(span, _)| span.as_nanos()), Some(nanos), "{text}");
        }
        assert_eq!(number("30284,932: x"), Some((30284.932, ": x")));
        assert_eq!(field("k=1 msg=\"a b\" token=7", "msg"), Some("a b"));
        assert_eq!(field("xtoken=3 token=7", "token"), Some("7"));
    }

    #[test]
    fn spans_bad() {
        for text in ["", "s", "12", "12parsecs", "-5s", "1e309s"] {
            assert_eq!(go_span(text), None, "{text}");
        }
    }
}
