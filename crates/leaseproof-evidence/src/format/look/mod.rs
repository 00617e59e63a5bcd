//! What `leaseproof inspect --save` leaves: the readings, as they came, and the answer that was made of them.
//!
//! A look's words are evidence, and no verdict: what it *saw* becomes records, what it concluded does not.
//!
//! - `readings`: `events.jsonl`, one reading a line
//! - `answer`: `inspect.json`, or what `inspect --json` printed

mod answer;
mod readings;

use crate::evidence::ProblemKind;
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::when::{Domain, Interval, When};
use leaseproof_model::history::{EVENTS_SCHEMA, Header};
use leaseproof_model::inspect::{INSPECT_SCHEMA, Inspection};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// What read it.
pub(crate) const BY: &str = "inspect";

/// What is remembered between lines of one file.
#[derive(Default)]
pub(crate) struct State {
    /// The key, once the first line has said that the file is a look's.
    key: Option<Arc<str>>,
    /// The store's clock was told: once is enough.
    timed: bool,
}

/// Reads a line.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    let fields = line.fields.as_ref()?;
    if let Some(header) = fields.get("header") {
        return header_of(header, line, reading);
    }
    if reading.state.look.key.is_some() && fields.contains_key("event") {
        return readings::read(Value::Object(fields.clone()), line, reading);
    }
    let schema = fields.get("schema")?.as_str()?;
    if !schema.starts_with("leaseproof.inspect/") {
        return None;
    }
    if schema != INSPECT_SCHEMA {
        unknown_schema(schema, line, reading);
        return Some(BY);
    }
    match serde_json::from_value::<Inspection>(Value::Object(fields.clone())) {
        Ok(seen) => answer::read(&seen, line, reading),
        Err(error) => {
            let says = format!("it is no whole answer of inspect: {error}");
            reading.problem(Some(line.number), ProblemKind::Other, says);
        }
    }
    Some(BY)
}

/// The first line of a record: of a look, or of a run of `verify`, which is judged by itself.
fn header_of(header: &Value, line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    let schema = header.get("schema")?.as_str()?;
    if !schema.starts_with("leaseproof.events/") {
        return None;
    }
    if schema != EVENTS_SCHEMA {
        unknown_schema(schema, line, reading);
        return Some(BY);
    }
    let header: Header = serde_json::from_value(header.clone()).ok()?;
    if header.is_look() {
        reading.state.look.key = Some(Arc::from(header.key.unwrap_or_default()));
    } else {
        let says = format!(
            "it is the record of a kept run of verify ({}), which is judged by itself: give its folder, unpacked and alone",
            header.run
        );
        reading.problem(Some(line.number), ProblemKind::Other, says);
    }
    Some(BY)
}

fn unknown_schema(schema: &str, line: &Line<'_>, reading: &mut Reading<'_>) {
    let says = format!(
        "its schema is {schema}, which this version of leaseproof does not know: read it with the one that wrote it"
    );
    reading.problem(Some(line.number), ProblemKind::Other, says);
}

/// A moment on the wall clock of the host that looked.
fn wall(earliest: i64, latest: i64) -> When {
    When {
        domain: Domain::Wall,
        span: Interval {
            earliest: earliest.min(latest),
            latest: latest.max(earliest),
        },
        resolution: Duration::from_micros(1),
    }
}
