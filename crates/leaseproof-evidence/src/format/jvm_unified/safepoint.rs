//! Safepoints: the spans in which all of a JVM's threads stand still, in five layouts.

use super::super::scan::{after, number, span, whole};
use super::BY;
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{RuntimeSays, Says, StopKind};
use crate::when::StampMeans;
use std::time::Duration;

fn nanos(text: &str, name: &str) -> Option<Duration> {
    let (value, rest) = whole(after(text, name)?)?;
    rest.starts_with(" ns").then(|| Duration::from_nanos(value))
}

/// `Safepoint "Op", Time since last: N ns, Reaching safepoint: N ns, …, Total: N ns`: five layouts, read by names.
pub(super) fn safepoint(
    line: &Line<'_>,
    text: &str,
    reading: &mut Reading<'_>,
    told: &mut Duration,
    ran: &mut Option<Duration>,
) -> bool {
    let Some((operation, rest)) = text.get(11..).and_then(|text| text.split_once('"')) else {
        return false;
    };
    let Some(total) = nanos(rest, ", Total: ") else {
        return false;
    };
    let since = nanos(rest, ", Time since last: ");
    let operation = reading.name(operation);
    *told = total;
    *ran = since;
    // The stamps and spans of consecutive safepoints close to a chain. Where they don't, lines are missing, and the hole
    // must not be called running.
    if let (Some(when), Some(since), Some(last)) = (line.when, since, reading.state.jvm_unified.last_end)
        && last.domain == when.domain
    {
        let apart = when.span.earliest.saturating_sub(last.span.latest);
        let explained = crate::when::nanos(since.saturating_add(total));
        let hole = apart.saturating_sub(explained);
        if hole
            > crate::when::nanos(when.resolution)
                .saturating_mul(2)
                .saturating_add(20_000_000)
        {
            let hole = Duration::from_nanos(hole.unsigned_abs());
            reading.say(
                line,
                SourceKind::Runtime,
                BY,
                StampMeans::Observed,
                Says::Runtime(RuntimeSays::LinesLost { hole }),
            );
        }
    }
    reading.state.jvm_unified.last_end = line.when;
    let says = RuntimeSays::Stop {
        took: total,
        kind: StopKind::Safepoint,
        operation,
        reaching: nanos(rest, ", Reaching safepoint: "),
        cpu: None,
        heap: None,
        id: None,
    };
    reading.say(line, SourceKind::Runtime, BY, StampMeans::End, Says::Runtime(says));
    true
}

pub(super) fn entering(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> bool {
    let operation = reading.name(text.get(27..).unwrap_or_default());
    if let Some(when) = line.when {
        reading.state.jvm_unified.entered = Some((operation, when));
    }
    true
}

/// `Total time for which application threads were stopped: 0.0104763 seconds, Stopping threads took: 0.0000101 seconds`.
pub(super) fn stopped(line: &Line<'_>, text: &str, reading: &mut Reading<'_>, told: &mut Duration) -> bool {
    let seconds = |needle: &str| number(after(text, needle)?).and_then(|(value, _)| span(value, 1e9));
    let Some(took) = seconds("stopped: ") else { return false };
    let operation = match reading.state.jvm_unified.entered.take() {
        Some((operation, _)) => operation,
        None => reading.name("stopped"),
    };
    *told = took;
    let says = RuntimeSays::Stop {
        took,
        kind: StopKind::Safepoint,
        operation,
        reaching: seconds("Stopping threads took: "),
        cpu: None,
        heap: None,
        id: None,
    };
    reading.state.jvm_unified.last_end = line.when;
    reading.say(line, SourceKind::Runtime, BY, StampMeans::End, Says::Runtime(says));
    true
}

pub(super) fn application(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> bool {
    let Some(ran) = number(text.get(18..).unwrap_or_default()).and_then(|(value, _)| span(value, 1e9)) else {
        return false;
    };
    reading.say(
        line,
        SourceKind::Runtime,
        BY,
        StampMeans::End,
        Says::Runtime(RuntimeSays::Ran { lasted: ran }),
    );
    true
}
