//! Stamps with a day, each way of writing them a function: the stamp, and how many bytes it took.

use super::digits::{clock, digit, four, fraction, is, two};
use super::zone::zone;
use super::{Written, Zone};

const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];
const DAYS: [&[u8; 3]; 7] = [b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun"];

fn month(bytes: &[u8], at: usize) -> Option<i8> {
    let name = bytes.get(at..at + 3)?;
    let index = MONTHS.iter().position(|month| month.as_slice() == name)?;
    i8::try_from(index + 1).ok()
}

fn weekday(bytes: &[u8]) -> bool {
    bytes
        .get(..3)
        .is_some_and(|name| DAYS.iter().any(|day| day.as_slice() == name))
}

/// `2026-11-30T02:56:49.064Z`, `2026-11-30 02:56:54,844`, `2026/11/30 03:03:17`: the stamp and its length.
pub(crate) fn iso(bytes: &[u8]) -> Option<(Written, usize)> {
    let year = four(bytes, 0)?;
    let dash = *bytes.get(4)?;
    if dash != b'-' && dash != b'/' {
        return None;
    }
    let month = two(bytes, 5)?;
    is(bytes, 7, dash)?;
    let day = two(bytes, 8)?;
    let between = *bytes.get(10)?;
    if between != b'T' && between != b' ' && between != b't' {
        return None;
    }
    let second = clock(bytes, 11)?;
    let (nanos, unit, used) = fraction(bytes, 19);
    let (zone, zone_used) = zone(bytes, 19 + used);
    let sound = (1970..2200).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    sound.then_some((
        Written {
            year: i16::try_from(year).ok(),
            month: i8::try_from(month).ok()?,
            day: i8::try_from(day).ok()?,
            second,
            nanos,
            unit,
            zone,
        },
        19 + used + zone_used,
    ))
}

/// `Nov 30 00:53:20`, `Nov  3 00:53:20.123456`.
pub(crate) fn syslog(bytes: &[u8]) -> Option<(Written, usize)> {
    let month = month(bytes, 0)?;
    is(bytes, 3, b' ')?;
    let day = match bytes.get(4)? {
        b' ' => digit(bytes, 5)?,
        _ => two(bytes, 4)?,
    };
    is(bytes, 6, b' ')?;
    let second = clock(bytes, 7)?;
    let (nanos, unit, used) = fraction(bytes, 15);
    Some((
        Written {
            year: None,
            month,
            day: i8::try_from(day).ok()?,
            second,
            nanos,
            unit,
            zone: Zone::None,
        },
        15 + used,
    ))
}

/// `Mon 2026-11-30 00:53:20.123456 UTC`.
pub(crate) fn full(bytes: &[u8]) -> Option<(Written, usize)> {
    if !weekday(bytes) {
        return None;
    }
    is(bytes, 3, b' ')?;
    let (stamp, used) = iso(bytes.get(4..)?)?;
    Some((stamp, 4 + used))
}

/// `Mon Nov 30 02:59:16 2026`, `Mon Nov 30 02:56:59 UTC 2026`.
pub(crate) fn ctime(bytes: &[u8]) -> Option<(Written, usize)> {
    if !weekday(bytes) {
        return None;
    }
    is(bytes, 3, b' ')?;
    let (mut stamp, used) = syslog(bytes.get(4..)?)?;
    let mut at = 4 + used;
    let (found, zone_used) = zone(bytes, at);
    if zone_used > 0 && bytes.get(at + 1).is_some_and(u8::is_ascii_uppercase) {
        stamp.zone = found;
        at += zone_used;
    }
    is(bytes, at, b' ')?;
    stamp.year = i16::try_from(four(bytes, at + 1)?).ok();
    Some((stamp, at + 5))
}

/// `30/Nov/2026:03:03:19.019`, `30/Nov/2026:03:03:29 +0000`.
pub(crate) fn access(bytes: &[u8]) -> Option<(Written, usize)> {
    day_month_year(bytes, b'/', b':')
}

/// `30 Nov 2026 02:54:32.235`, `Mon, 30 Nov 2026 02:57:19 GMT`.
pub(crate) fn day_first(bytes: &[u8]) -> Option<(Written, usize)> {
    let skip = if weekday(bytes) && bytes.get(3..5) == Some(b", ") {
        5
    } else {
        0
    };
    let (written, used) = day_month_year(bytes.get(skip..)?, b' ', b' ')?;
    Some((written, skip + used))
}

/// Day, month's name and year, with `between` them, and `before` the time of day.
fn day_month_year(bytes: &[u8], between: u8, before: u8) -> Option<(Written, usize)> {
    let day = two(bytes, 0)?;
    is(bytes, 2, between)?;
    let month = month(bytes, 3)?;
    is(bytes, 6, between)?;
    let year = four(bytes, 7)?;
    is(bytes, 11, before)?;
    let second = clock(bytes, 12)?;
    let (nanos, unit, used) = fraction(bytes, 20);
    let (zone, zone_used) = zone(bytes, 20 + used);
    Some((
        Written {
            year: i16::try_from(year).ok(),
            month,
            day: i8::try_from(day).ok()?,
            second,
            nanos,
            unit,
            zone,
        },
        20 + used + zone_used,
    ))
}

#[cfg(test)]
mod tests {
    use super::super::digits::seconds;
    use super::*;

    fn shown(read: Option<(Written, usize)>) -> String {
        read.map_or_else(
            || "none".to_owned(),
            |(w, used)| {
                format!(
                    "{:?} {}-{} {} {} /{} {:?} {used}",
                    w.year, w.month, w.day, w.second, w.nanos, w.unit, w.zone
                )
            },
        )
    }

    #[test]
    fn calendar_ok() {
        for (read, want) in [
            (
                iso(b"2026-11-30T02:56:49.064Z [x"),
                "Some(2026) 11-30 10609 64000000 /1000000 Offset(0) 24",
            ),
            (
                iso(b"2026-11-30 02:56:54,844 - WARN"),
                "Some(2026) 11-30 10614 844000000 /1000000 None 23",
            ),
            (
                iso(b"2026-11-30T08:23:08.727+0530]"),
                "Some(2026) 11-30 30188 727000000 /1000000 Offset(19800) 28",
            ),
            (
                iso(b"2026/11/30 03:03:17 msg"),
                "Some(2026) 11-30 10997 0 /1000000000 None 19",
            ),
            (
                iso(b"2026-11-30 02:57:18.096562479 +0000 UTC m=+29.07"),
                "Some(2026) 11-30 10638 96562479 /1 Offset(0) 39",
            ),
            (
                iso(b"2014-06-16T07:57:14.622+0200: 1"),
                "Some(2014) 6-16 28634 622000000 /1000000 Offset(7200) 28",
            ),
            (syslog(b"Nov  3 00:53:20 host"), "None 11-3 3200 0 /1000000000 None 15"),
            (
                full(b"Mon 2026-11-30 00:53:20 UTC node"),
                "Some(2026) 11-30 3200 0 /1000000000 Offset(0) 27",
            ),
            (
                ctime(b"Mon Nov 30 02:59:16 2026]"),
                "Some(2026) 11-30 10756 0 /1000000000 None 24",
            ),
            (
                ctime(b"Mon Nov 30 02:57:02 UTC 2026:"),
                "Some(2026) 11-30 10622 0 /1000000000 Offset(0) 28",
            ),
            (
                access(b"30/Nov/2026:03:03:19.019]"),
                "Some(2026) 11-30 10999 19000000 /1000000 None 24",
            ),
            (
                day_first(b"30 Nov 2026 02:54:32.235 #"),
                "Some(2026) 11-30 10472 235000000 /1000000 None 24",
            ),
            (
                day_first(b"Mon, 30 Nov 2026 02:57:19 GMT"),
                "Some(2026) 11-30 10639 0 /1000000000 Offset(0) 29",
            ),
        ] {
            assert_eq!(shown(read), want);
        }
    }

    #[test]
    fn calendar_bad() {
        for text in [
            "",
            "2026-13-30T02:56:49Z",
            "2026-11-3 02:56:49",
            "20261130T025649",
            "2026-11-30T25:00:00",
            "1234-11-30T02:56:49Z",
            "2026-11/30 02:56:49",
        ] {
            assert_eq!(iso(text.as_bytes()), None, "{text}");
        }
        assert_eq!(syslog(b"Now 30 00:00:00"), None);
        assert_eq!(access(b"30/11/2026:03:03:19"), None);
        assert_eq!(seconds(b"1796007276"), None, "a whole number is no stamp");
    }
}
