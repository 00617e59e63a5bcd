//! ntpd, ntpsec, ntpdate, ntpq, timesyncd, timedatectl, adjtimex.

use super::scan::{after, has, number, signed, span, unit};
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{ClockSays, Says};
use crate::stamp::{counted, written};
use crate::when::{Domain, Interval, StampMeans, When};
use std::time::Duration;

/// Reads a line.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    let text = line.text.trim();
    let say = |reading: &mut Reading<'_>, by: &'static str, means: StampMeans, says: ClockSays| {
        reading.say(line, SourceKind::Clock, by, means, Says::Clock(says));
        Some(by)
    };
    for needle in ["time reset ", "clock_step ", "CLOCK: time stepped by "] {
        if let Some(rest) = after(text, needle)
            && let Some((value, _)) = number(rest)
            && (needle.starts_with("CLOCK") || rest.trim_end().ends_with('s'))
        {
            let by = signed(value, 1e9);
            return say(reading, "ntpd", StampMeans::End, ClockSays::Stepped { by });
        }
    }
    if text.starts_with("step time server ") {
        let by = after(text, "offset ")
            .and_then(number)
            .and_then(|(value, _)| signed(value, 1e9));
        return say(reading, "ntpdate", StampMeans::End, ClockSays::Stepped { by });
    }
    if text.starts_with("adjust time server ") {
        let by = after(text, "offset ")
            .and_then(number)
            .and_then(|(value, _)| signed(value, 1e9))?;
        return say(reading, "ntpdate", StampMeans::End, ClockSays::Correction { by });
    }
    if text.starts_with("synchronized to ")
        || text.starts_with("Contacted time server ")
        || text.starts_with("Initial clock synchronization to ")
    {
        return say(reading, "ntp", StampMeans::Emitted, ClockSays::Synchronised);
    }
    if text.starts_with("Timed out waiting for reply from ") || text == "no servers reachable" {
        let why = reading.name(text);
        return say(reading, "ntp", StampMeans::Emitted, ClockSays::NotSynchronised { why });
    }
    if text.starts_with("System time changed. Resyncing") {
        return say(reading, "timesyncd", StampMeans::End, ClockSays::Stepped { by: None });
    }
    if !line.continued {
        return None;
    }
    if let Some(rest) = text.strip_prefix("System clock synchronized: ") {
        let says = match rest {
            "yes" => ClockSays::Synchronised,
            _ => ClockSays::NotSynchronised { why: text.into() },
        };
        return say(reading, "timedatectl", StampMeans::Observed, says);
    }
    if let Some(rest) = text.strip_prefix("Offset: ") {
        let (value, rest) = number(rest)?;
        let ahead = signed(value, unit(rest)?)?;
        // timesyncd's offset is what it will add: positive where the clock is behind.
        return say(
            reading,
            "timedatectl",
            StampMeans::Observed,
            ClockSays::Offset {
                ahead: -ahead,
                error: None,
            },
        );
    }
    clocks(line, text, reading)
        .or_else(|| ntpq(line, text, reading))
        .or_else(|| adjtimex(line, text, reading))
}

/// `CLOCK_REALTIME 1796007815.2362182` and the others, read right after another: an anchor.
fn clocks(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    let (name, value) = text.split_once(' ')?;
    let value = value.trim().trim_start_matches('=').trim();
    let read = |domain| written::seconds(value.as_bytes()).map(|(nanos, unit, _)| counted(domain, nanos, unit));
    match name {
        "CLOCK_REALTIME" => {
            let when = read(Domain::Wall)?;
            reading.state.last = Some((when, line.author.clone(), line.layers));
        }
        "CLOCK_MONOTONIC" | "CLOCK_BOOTTIME" => {
            let domain = if name == "CLOCK_BOOTTIME" {
                Domain::Boot
            } else {
                Domain::Mono
            };
            let (mono, wall) = (read(domain)?, reading.state.last.as_ref().map(|(when, ..)| *when));
            if let Some(wall) = wall {
                // One is read after the other: a millisecond, generously.
                let late = When {
                    span: Interval {
                        latest: wall.span.latest + 1_000_000,
                        ..wall.span
                    },
                    ..wall
                };
                reading.anchor(line, late, mono);
            }
        }
        "CLOCK_MONOTONIC_RAW" | "CLOCK_TAI" => {}
        _ => return None,
    }
    Some("clocks")
}

/// `*192.0.2.1 .GPS. 1 u 33 64 377 0.123 -0.456 0.078`: milliseconds.
fn ntpq(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    if text.starts_with("remote ") && has(text, "refid") && has(text, "jitter") {
        return Some("ntpq");
    }
    let columns: Vec<&str> = text.split_whitespace().collect();
    let [
        remote,
        _refid,
        stratum,
        kind,
        _when,
        _poll,
        reach,
        delay,
        offset,
        jitter,
    ] = columns.as_slice()
    else {
        return None;
    };
    let numbers = [delay, offset, jitter].map(|text| text.parse::<f64>().ok());
    let [Some(delay), Some(offset), Some(jitter)] = numbers else {
        return None;
    };
    if stratum.parse::<u8>().is_err() || kind.len() != 1 || u16::from_str_radix(reach, 8).is_err() {
        return None;
    }
    if remote.starts_with('*') {
        let says = ClockSays::Offset {
            // ntpq shows what must be added: positive where the clock is behind.
            ahead: -signed(offset, 1e6)?,
            error: span(delay / 2.0 + jitter, 1e6),
        };
        reading.say(line, SourceKind::Clock, "ntpq", StampMeans::Observed, Says::Clock(says));
    }
    Some("ntpq")
}

/// `adjtimex --print`: only whether the kernel counts its clock as synchronised.
fn adjtimex(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    let (name, value) = text.split_once(':').or_else(|| text.split_once(" = "))?;
    let (name, value) = (name.trim(), value.trim());
    match name {
        "return value" if value == "5" => {
            let why = reading.name("the kernel counts its clock as not synchronised");
            reading.say(
                line,
                SourceKind::Clock,
                "adjtimex",
                StampMeans::Observed,
                Says::Clock(ClockSays::NotSynchronised { why }),
            );
        }
        "raw time" => {
            let at = after(value, " = ").and_then(|at| written::seconds(at.as_bytes()));
            if let Some((nanos, unit, _)) = at {
                let when = When {
                    domain: Domain::Wall,
                    span: Interval::cut(nanos, Duration::from_nanos(unit.unsigned_abs())),
                    resolution: Duration::from_nanos(unit.unsigned_abs()),
                };
                reading.state.last = Some((when, line.author.clone(), line.layers));
            }
        }
        "mode" | "offset" | "frequency" | "maxerror" | "esterror" | "status" | "time_constant" | "precision"
        | "tolerance" | "tick" | "return value"
            if value
                .split(' ')
                .next()
                .is_some_and(|value| value.parse::<i64>().is_ok()) => {}
        _ => return None,
    }
    Some("adjtimex")
}
