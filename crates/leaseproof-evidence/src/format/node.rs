//! Node and V8: `--trace-gc`, `--trace-gc-nvp`, `--trace-gc-verbose`.

use super::scan::{after, field, number, span, whole};
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{RuntimeSays, Says, StopKind};
use crate::when::{Domain, Interval, StampMeans, When};
use std::time::Duration;

const BY: &str = "v8";

/// Reads a line: `[29918:0x4419cd20]     1785 ms: Scavenge 30.6 (59.7) -> 29.5 (58.6) MB, 1.38 / 0.00 ms  (…) task;`.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    let text = line.text.as_ref();
    let (pid, rest) = whole(text.strip_prefix('[')?)?;
    let (isolate, rest) = rest.strip_prefix(":0x")?.split_once(']')?;
    if !isolate.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let rest = rest.trim_start();
    let Some((ms, rest)) = whole(rest).and_then(|(ms, rest)| Some((ms, rest.strip_prefix(" ms: ")?))) else {
        // Tables of the heap between the lines.
        return Some(BY);
    };
    let nanos = i64::try_from(ms).ok()?.checked_mul(1_000_000)?;
    let when = When {
        domain: Domain::Proc,
        span: Interval::cut(nanos, Duration::from_millis(1)),
        resolution: Duration::from_millis(1),
    };
    let mut line = line.clone();
    if line.continued || line.when.is_none() {
        line.when = Some(when);
        line.continued = false;
    } else {
        line.other = Some(when);
    }
    line.author.pid = u32::try_from(pid).ok();
    line.author.thread = Some(reading.name(&format!("isolate 0x{isolate}")));
    let (operation, took, heap) = match field(rest, "pause") {
        Some(pause) => {
            let took = number(pause).and_then(|(ms, _)| span(ms, 1e6))?;
            let operation = match field(rest, "gc") {
                Some("s") => "Scavenge",
                Some("mc" | "ms") => "Mark-Compact",
                other => other.unwrap_or("gc"),
            };
            let size = |name| field(rest, name).and_then(|size| size.parse::<u64>().ok());
            (operation, took, size("total_size_before").zip(size("total_size_after")))
        }
        None => {
            // `Scavenge 30.6 (59.7) -> 29.5 (58.6) MB, 1.38 / 0.00 ms`: pause, and what of it callbacks of the embedder took.
            let end = rest.find(|c: char| c.is_ascii_digit())?;
            let operation = rest.get(..end)?.trim();
            let (ms, more) = number(after(rest, " MB, ")?)?;
            more.strip_prefix(" / ")?;
            let sizes = rest.get(end..).and_then(|sizes| {
                let (before, _) = number(sizes)?;
                let (left, _) = number(after(sizes, "-> ")?)?;
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "megabytes of a heap"
                )]
                Some(((before * 1048576.0) as u64, (left * 1048576.0) as u64))
            });
            (operation, span(ms, 1e6)?, sizes)
        }
    };
    reading.stamped(&line, took, None);
    let operation = reading.name(operation);
    let says = RuntimeSays::Stop {
        took,
        kind: StopKind::Gc,
        operation,
        reaching: None,
        cpu: None,
        heap,
        id: None,
    };
    reading.say(&line, SourceKind::Runtime, BY, StampMeans::End, Says::Runtime(says));
    Some(BY)
}
