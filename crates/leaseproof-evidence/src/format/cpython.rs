//! CPython's `gc.DEBUG_STATS`. Its lines have no stamp: only an envelope's says when.

use super::scan::{after, number, span, whole};
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{RuntimeSays, Says, StopKind};
use crate::when::StampMeans;

const BY: &str = "cpython-gc";

/// Reads a line.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    let rest = line.text.strip_prefix("gc: ")?;
    if let Some(generation) = rest.strip_prefix("collecting generation ").and_then(whole) {
        let _ = generation;
        return Some(BY);
    }
    if rest.starts_with("objects in ") {
        return Some(BY);
    }
    if !rest.starts_with("done") {
        return None;
    }
    let before = rest.strip_suffix("s elapsed")?;
    let took = before
        .rsplit(' ')
        .next()
        .and_then(number)
        .and_then(|(seconds, _)| span(seconds, 1e9))?;
    after(rest, " uncollectable").or_else(|| rest.strip_prefix("done, "))?;
    let mut line = line.clone();
    if line.continued && !reading.has_stamps() {
        line.when = None;
    }
    let operation = reading.name("gc");
    let says = RuntimeSays::Stop {
        took,
        kind: StopKind::Gc,
        operation,
        reaching: None,
        cpu: None,
        heap: None,
        id: None,
    };
    reading.say(&line, SourceKind::Runtime, BY, StampMeans::End, Says::Runtime(says));
    Some(BY)
}
