//! .NET: events of its runtime as text, one a line, and the counters of `dotnet-counters`.

use super::scan::{after, whole};
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{RuntimeSays, Says, StopKind};
use crate::when::{Domain, Interval, StampMeans, When};
use std::sync::Arc;
use std::time::Duration;

const BY: &str = "dotnet";

/// A suspension that was begun and not yet ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    begun: Option<(When, StopKind, Arc<str>)>,
}

/// Reads a line: `513052  GCSuspendEEBegin_V1`, with microseconds since the trace began, or the event inside an envelope.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    let text = line.text.trim();
    if text == "Timestamp,Provider,Counter Name,Counter Type,Mean/Increment" || counter(text) {
        // A share of time in collections is too coarse to show a stop.
        return Some(BY);
    }
    let (micros, rest) = match whole(text) {
        Some((micros, rest)) if rest.starts_with([' ', '\t']) => (Some(micros), rest.trim_start()),
        _ => (None, text),
    };
    let rest = rest.strip_prefix("Microsoft-Windows-DotNETRuntime/").unwrap_or(rest);
    let end = rest.find([' ', '\t', '(', ',']).unwrap_or(rest.len());
    let (event, payload) = rest.split_at(end);
    let event = event.split_once("_V").map_or(event, |(event, _)| event);
    if !EVENTS.contains(&event) {
        return None;
    }
    let mut line = line.clone();
    let mut own = false;
    match micros.and_then(|micros| i64::try_from(micros).ok()?.checked_mul(1_000)) {
        Some(at) => {
            let when = When {
                domain: Domain::Proc,
                span: Interval::cut(at, Duration::from_micros(1)),
                resolution: Duration::from_micros(1),
            };
            if line.continued || line.when.is_none() {
                (line.when, line.continued, own) = (Some(when), false, true);
            } else {
                line.other = Some(when);
            }
        }
        None if line.continued => return None,
        None => {}
    }
    let mut told = Duration::ZERO;
    match event {
        "GCSuspendEEBegin" | "GC/SuspendEEStart" => {
            let (kind, why) = reason(payload);
            let why = reading.name(why);
            reading.state.dotnet.begun = line.when.map(|when| (when, kind, why));
        }
        "GCRestartEEEnd" | "GC/RestartEEStop" => {
            let begun = reading.state.dotnet.begun.take();
            if let (Some((begun, kind, operation)), Some(ended)) = (begun, line.when)
                && begun.domain == ended.domain
                && let Ok(took) = u64::try_from(ended.span.earliest.saturating_sub(begun.span.earliest))
            {
                told = Duration::from_nanos(took);
                let says = RuntimeSays::Stop {
                    took: told,
                    kind,
                    operation,
                    reaching: None,
                    cpu: None,
                    heap: None,
                    id: None,
                };
                reading.say(&line, SourceKind::Runtime, BY, StampMeans::End, Says::Runtime(says));
            }
        }
        _ => {}
    }
    if own {
        reading.stamped(&line, told, None);
    }
    Some(BY)
}

/// The events around a collection, as the runtime names them and as the tracing library does.
const EVENTS: [&str; 12] = [
    "GCSuspendEEBegin",
    "GCSuspendEEEnd",
    "GCStart",
    "GCEnd",
    "GCRestartEEBegin",
    "GCRestartEEEnd",
    "GC/SuspendEEStart",
    "GC/SuspendEEStop",
    "GC/Start",
    "GC/Stop",
    "GC/RestartEEStart",
    "GC/RestartEEStop",
];

/// Why all threads were stopped: not only to collect.
fn reason(payload: &str) -> (StopKind, &'static str) {
    let value = after(payload, "Reason=").map(|value| value.trim_start_matches('"'));
    let other = match value.and_then(whole) {
        Some((0, _)) => "suspend: other",
        Some((2, _)) => "suspend: appdomain",
        Some((3, _)) => "suspend: code pitching",
        Some((4, _)) => "suspend: shutdown",
        Some((5 | 7, _)) => "suspend: debugger",
        _ => return (StopKind::Gc, "suspend: collection"),
    };
    (StopKind::Safepoint, other)
}

/// `11/30/2026 02:57:14,System.Runtime,% Time in GC since last GC (%),Metric,12`.
fn counter(text: &str) -> bool {
    let mut fields = text.split(',');
    fields
        .next()
        .is_some_and(|stamp| stamp.starts_with(|c: char| c.is_ascii_digit()))
        && fields
            .next()
            .is_some_and(|provider| provider == "System.Runtime" || provider.starts_with("Microsoft."))
        && text
            .rsplit(',')
            .nth(1)
            .is_some_and(|kind| matches!(kind, "Metric" | "Rate"))
}
