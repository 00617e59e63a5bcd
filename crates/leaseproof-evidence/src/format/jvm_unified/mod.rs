//! HotSpot's unified logging, JDK 9 and later.

mod collection;
mod decorations;
mod safepoint;

use super::scan::has;
use crate::reading::Reading;
use crate::reading::line::{Layers, Line};
use crate::record::{Author, SourceKind};
use crate::says::{RuntimeSays, Says};
use crate::when::{StampMeans, When};
use decorations::Decorated;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

const BY: &str = "jvm-unified";

/// What the lines of one JVM still need from the ones before.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// A safepoint that was entered and not yet left: JDK 9 to 12.
    entered: Option<(Arc<str>, When)>,
    /// The stamp of the last safepoint's end.
    last_end: Option<When>,
    /// Decorations that come again on every line.
    words: decorations::Words,
}

/// Whether a line without decorations can only be this format's.
fn undecorated(raw: &str) -> bool {
    (raw.starts_with("GC(") && (has(raw, " Pause ") || has(raw, " Concurrent "))) || raw.starts_with("Safepoint \"")
}

/// Reads a line; `false` where it is no line of this format.
pub(crate) fn read(number: u64, raw: &str, reading: &mut Reading<'_>) -> bool {
    let decorated = match raw.as_bytes().first() {
        Some(b'[') => decorations::read(raw, &mut reading.state.jvm_unified.words, &mut reading.stamps),
        Some(b'G' | b'S') if undecorated(raw) => Some(Decorated {
            when: None,
            other: None,
            author: Author::default(),
            text: raw,
        }),
        _ => None,
    };
    let Some(decorated) = decorated else { return false };
    let line = Line {
        number,
        raw,
        text: Cow::Borrowed(decorated.text),
        when: decorated.when,
        other: decorated.other,
        author: decorated.author,
        fields: None,
        layers: Layers::default(),
        continued: false,
    };
    reading.format(Layers::default(), BY);
    text(&line, reading);
    true
}

/// What the text of a line says, decorations or envelopes taken off.
pub(crate) fn text(line: &Line<'_>, reading: &mut Reading<'_>) -> bool {
    let text = line.text.as_ref();
    let mut told = Duration::ZERO;
    let mut ran = None;
    let understood = match text.as_bytes().first() {
        Some(b'S') if text.starts_with("Safepoint \"") => {
            safepoint::safepoint(line, text, reading, &mut told, &mut ran)
        }
        Some(b'E') if text.starts_with("Entering safepoint region: ") => safepoint::entering(line, text, reading),
        Some(b'L') if text.starts_with("Leaving safepoint region") => {
            if let Some(when) = line.when {
                reading.state.jvm_unified.last_end = Some(when);
            }
            true
        }
        Some(b'T') if text.starts_with("Total time for which application threads were stopped: ") => {
            safepoint::stopped(line, text, reading, &mut told)
        }
        Some(b'A') if text.starts_with("Application time: ") => safepoint::application(line, text, reading),
        Some(b'A') if text.starts_with("Allocation Stall (") => collection::stall(line, text, None, reading),
        Some(b'#') if text.starts_with("# SafepointSynchronize") => {
            let what = reading.name(text);
            let says = Says::Runtime(RuntimeSays::SafepointTimeout { what });
            reading.say(line, SourceKind::Runtime, BY, StampMeans::Emitted, says);
            true
        }
        Some(b'G') if text.starts_with("GC(") => collection::collection(line, text, reading, &mut told),
        _ => false,
    };
    reading.stamped(line, told, ran);
    understood
}
