//! chronyd and chronyc.

use super::scan::{after, has, number, signed, span};
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{ClockSays, Says};
use crate::stamp::written;
use crate::when::{Domain, Interval, StampMeans, When};
use std::time::Duration;

const BY: &str = "chronyd";

/// A report of `chronyc tracking` that is being read.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// The line of the offset, the offset, and the bounds of its error as far as said.
    offset: Option<(u64, Box<str>, i64)>,
    root_delay: Option<Duration>,
    root_dispersion: Option<Duration>,
    reference: Option<When>,
    tracking: bool,
    table: bool,
}

/// Reads a line.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    let text = line.text.trim_start();
    let say = |reading: &mut Reading<'_>, says: ClockSays| {
        reading.say(line, SourceKind::Clock, BY, StampMeans::End, Says::Clock(says));
    };
    let seconds = |needle: &str| {
        after(text, needle)
            .and_then(number)
            .and_then(|(value, _)| signed(value, 1e9))
    };
    if let Some(forward) = match () {
        () if text.starts_with("Forward time jump detected!") => Some(true),
        () if text.starts_with("Backward time jump detected!") => Some(false),
        () => None,
    } {
        say(reading, ClockSays::JumpClaimed { forward });
    } else if let Some(by) = seconds("System clock was stepped by ") {
        say(reading, ClockSays::Stepped { by: Some(by) });
    } else if let Some(by) = seconds("System clock wrong by ") {
        say(reading, ClockSays::Correction { by });
    } else if text.starts_with("Can't synchronise: ") || text.starts_with("Can't synchronize: ") {
        let why = reading.name(text);
        say(reading, ClockSays::NotSynchronised { why });
    } else if text.starts_with("Selected source ") {
        say(reading, ClockSays::Synchronised);
    } else if text.starts_with("Adjustment of ") && has(text, "exceeds the allowed maximum")
        || text.starts_with("Could not step system clock")
    {
        let why = reading.name(text);
        say(reading, ClockSays::NotSynchronised { why });
    } else if !own(line, text) {
        return tool(line, text, reading).or_else(|| table(line, text, reading));
    }
    Some(BY)
}

/// Whether a line is the daemon's, whatever it says.
fn own(line: &Line<'_>, text: &str) -> bool {
    let sentences = [
        "chronyd version ",
        "chronyd exiting",
        "Disabled control of system clock",
        "Running with root privileges",
    ];
    line.author.process.as_deref() == Some("chronyd")
        || (!line.continued && sentences.iter().any(|begin| text.starts_with(begin)))
}

/// `chronyc tracking`: the word fast or slow carries the sign.
fn tool(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    if !line.continued {
        return None;
    }
    // `chronyc -c tracking`: fourteen fields; the offset is *negative* when the clock is fast.
    let fields: Vec<&str> = text.split(',').collect();
    if let [
        _,
        _,
        stratum,
        reference,
        offset,
        _,
        _,
        _,
        _,
        _,
        delay,
        dispersion,
        _,
        leap,
    ] = fields.as_slice()
        && matches!(*leap, "Normal" | "Insert second" | "Delete second" | "Not synchronised")
        && stratum.parse::<u8>().is_ok()
    {
        let value = |text: &str| number(text).map(|(value, _)| value);
        let behind = signed(value(offset)?, 1e9)?;
        let (delay, dispersion) = (span(value(delay)?, 1e9)?, span(value(dispersion)?, 1e9)?);
        let reference = written::seconds(reference.as_bytes()).map(|(nanos, unit, _)| When {
            domain: Domain::Wall,
            span: Interval::cut(nanos, Duration::from_nanos(unit.unsigned_abs())),
            resolution: Duration::from_nanos(unit.unsigned_abs()),
        });
        offset_said(
            line.number,
            line.raw,
            -behind,
            delay / 2 + dispersion,
            reference,
            reading,
        );
        return Some("chronyc");
    }
    // `chronyc -c sources`.
    if let [mode, state, _, stratum, _, reach, _, offset, _, error] = fields.as_slice()
        && matches!(*mode, "^" | "=" | "#")
        && stratum.parse::<u8>().is_ok()
        && reach.bytes().all(|byte| (b'0'..b'8').contains(&byte))
    {
        if *state == "*" {
            let value = |text: &str| number(text).map(|(value, _)| value);
            let (behind, error) = (signed(value(offset)?, 1e9)?, span(value(error)?, 1e9)?);
            offset_said(line.number, line.raw, -behind, error, None, reading);
        }
        return Some("chronyc");
    }
    let (name, value) = text.split_once(':')?;
    let (name, value) = (name.trim_end(), value.trim());
    let seconds = || number(value).and_then(|(value, _)| span(value.abs(), 1e9));
    if name == "Reference ID" {
        flush(reading);
        reading.state.chrony.tracking = true;
        return Some("chronyc");
    }
    if !reading.state.chrony.tracking && name != "System time" {
        let known = [
            "Remote address",
            "Remote port",
            "Local address",
            "Peer delay",
            "Peer dispersion",
            "NTP tests",
            "TX timestamping",
        ];
        return known.contains(&name).then_some("chronyc");
    }
    match name {
        "Ref time (UTC)" => {
            let (mut stamp, _) = written::ctime(value.as_bytes())?;
            stamp.zone = crate::stamp::Zone::Offset(0);
            reading.state.chrony.reference = reading.stamps.calendar(&stamp);
        }
        "System time" => {
            let (value, rest) = number(value)?;
            let nanos = signed(value, 1e9)?;
            let ahead = if has(rest, "fast") {
                nanos
            } else if has(rest, "slow") {
                -nanos
            } else {
                return None;
            };
            reading.state.chrony.tracking = true;
            reading.state.chrony.offset = Some((line.number, line.raw.into(), ahead));
        }
        "Root delay" => reading.state.chrony.root_delay = seconds(),
        "Root dispersion" => reading.state.chrony.root_dispersion = seconds(),
        "Leap status" => {
            if value.starts_with("Not synchronised") {
                let why = reading.name(value);
                reading.say(
                    line,
                    SourceKind::Clock,
                    "chronyc",
                    StampMeans::Observed,
                    Says::Clock(ClockSays::NotSynchronised { why }),
                );
            }
            flush(reading);
        }
        "Stratum" | "Last offset" | "RMS offset" | "Frequency" | "Residual freq" | "Skew" | "Update interval" => {}
        _ => return None,
    }
    Some("chronyc")
}

fn offset_said(number: u64, raw: &str, ahead: i64, error: Duration, when: Option<When>, reading: &mut Reading<'_>) {
    let line = Line {
        number,
        raw,
        text: "".into(),
        when,
        other: None,
        author: crate::record::Author::default(),
        fields: None,
        layers: crate::reading::line::Layers::default(),
        continued: true,
    };
    let says = ClockSays::Offset {
        ahead,
        error: Some(error),
    };
    reading.say(
        &line,
        SourceKind::Clock,
        "chronyc",
        StampMeans::Observed,
        Says::Clock(says),
    );
}

fn flush(reading: &mut Reading<'_>) {
    let state = std::mem::take(&mut reading.state.chrony);
    if let Some((number, raw, ahead)) = state.offset {
        // The bound that NTP itself gives: half the way there and back, and what may have been lost since.
        let error = state.root_delay.unwrap_or_default() / 2 + state.root_dispersion.unwrap_or_default();
        offset_said(number, &raw, ahead, error, state.reference, reading);
    }
}

/// Tables: chronyd's own logs, and what `chronyc sources` prints.
fn table(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    if text.starts_with("====") {
        return Some("chrony-table");
    }
    if text.starts_with("Date (UTC) Time ")
        || text.starts_with("MS Name/IP address")
        || text.starts_with("Name/IP Address")
    {
        reading.state.chrony.table = true;
        if text.starts_with("Date (UTC)") {
            reading.stamps.stated_utc();
        }
        return Some("chrony-table");
    }
    if !reading.state.chrony.table {
        return None;
    }
    // tracking.log: `date time ip st freq skew offset L Co sd rem delay disp maxerr`, in UTC. The offset is what was
    // corrected: positive where the clock was behind.
    let columns: Vec<&str> = text.split_whitespace().collect();
    if !line.continued
        && let [
            _ip,
            stratum,
            _freq,
            _skew,
            offset,
            leap,
            _co,
            _sd,
            _rem,
            _delay,
            _disp,
            most,
        ] = columns.as_slice()
        && leap.len() == 1
        && stratum.parse::<u8>().is_ok()
        && let (Ok(offset), Ok(most)) = (offset.parse::<f64>(), most.parse::<f64>())
    {
        if *leap != "?" {
            let says = ClockSays::Offset {
                ahead: -signed(offset, 1e9)?,
                error: span(most, 1e9),
            };
            reading.say(
                line,
                SourceKind::Clock,
                "chrony-table",
                StampMeans::Observed,
                Says::Clock(says),
            );
        }
        return Some("chrony-table");
    }
    (!line.continued || text.starts_with(['^', '=', '#']) || columns.len() > 6).then_some("chrony-table")
}

/// The file is over.
pub(crate) fn end(reading: &mut Reading<'_>) {
    flush(reading);
}
