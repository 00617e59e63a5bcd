//! The zone behind a stamp.

use super::Zone;
use super::digits::two;

/// `Z`, `+0000`, `+00:00`, ` +0000 UTC`, ` UTC`: the zone, and how many bytes it took.
pub(super) fn zone(bytes: &[u8], at: usize) -> (Zone, usize) {
    let numeric = |at: usize| -> Option<(i32, usize)> {
        let sign = match bytes.get(at)? {
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        let hours = two(bytes, at + 1)?;
        let (minutes, used) = match bytes.get(at + 3) {
            Some(b':') => (two(bytes, at + 4)?, 6),
            _ => (two(bytes, at + 3)?, 5),
        };
        if bytes.get(at + used).is_some_and(u8::is_ascii_digit) {
            return None;
        }
        (hours < 15 && minutes < 60).then_some((sign * (hours * 3600 + minutes * 60), used))
    };
    let ends = |at: usize| !bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
    if bytes.get(at) == Some(&b'Z') && ends(at + 1) {
        return (Zone::Offset(0), 1);
    }
    if let Some((east, used)) = numeric(at) {
        return (Zone::Offset(east), used);
    }
    if bytes.get(at) == Some(&b' ') {
        if let Some((east, used)) = numeric(at + 1) {
            // Go writes the name behind the number.
            let named = [&b" UTC"[..], b" GMT"]
                .iter()
                .any(|name| bytes.get(at + 1 + used..).is_some_and(|rest| rest.starts_with(name)));
            return (Zone::Offset(east), 1 + used + if named { 4 } else { 0 });
        }
        for (name, east) in NAMES {
            let after = at + 1 + name.len();
            if bytes.get(at + 1..after) == Some(name.as_bytes()) && ends(after) {
                return (Zone::Offset(*east), 1 + name.len());
            }
        }
    }
    (Zone::None, 0)
}

/// Names of zones that mean one thing in the world. `IST`, `CST`, `BST` mean several, and count as none.
const NAMES: &[(&str, i32)] = &[
    ("UTC", 0),
    ("GMT", 0),
    ("CET", 3600),
    ("CEST", 7200),
    ("EET", 7200),
    ("EEST", 10800),
    ("MSK", 10800),
    ("JST", 32400),
    ("EST", -18000),
    ("EDT", -14400),
    ("PST", -28800),
    ("PDT", -25200),
];
