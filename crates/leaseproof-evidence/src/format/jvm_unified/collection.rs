//! Collections: `GC(12) …`, and threads that wait for memory.

use super::super::jvm::{cpu, heap, operation_of_pause};
use super::super::scan::{after, number, span, whole};
use super::BY;
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{RuntimeSays, Says, StopKind};
use crate::when::StampMeans;
use std::time::Duration;

pub(super) fn stall(line: &Line<'_>, text: &str, id: Option<u64>, reading: &mut Reading<'_>) -> bool {
    let Some((thread, rest)) = after(text, "Allocation Stall (").and_then(|text| text.split_once(") ")) else {
        return false;
    };
    let Some(took) = number(rest)
        .filter(|(_, unit)| unit.starts_with("ms"))
        .and_then(|(ms, _)| span(ms, 1e6))
    else {
        return false;
    };
    let mut line = line.clone();
    line.author.thread = Some(reading.name(thread));
    let says = RuntimeSays::Stop {
        took,
        kind: StopKind::AllocationStall,
        operation: reading.name("Allocation Stall"),
        reaching: None,
        cpu: None,
        heap: None,
        id,
    };
    reading.say(&line, SourceKind::Runtime, BY, StampMeans::End, Says::Runtime(says));
    true
}

/// `GC(12) Pause Young (Normal) (G1 Evacuation Pause) 6M->1M(64M) 1.273ms`, `GC(12) User=0.04s Sys=0.00s Real=0.01s`.
pub(super) fn collection(line: &Line<'_>, text: &str, reading: &mut Reading<'_>, told: &mut Duration) -> bool {
    let Some((id, rest)) = text
        .get(3..)
        .and_then(whole)
        .and_then(|(id, rest)| Some((id, rest.strip_prefix(") ")?)))
    else {
        return false;
    };
    // Generational ZGC says first which generation it is.
    let rest = match rest.as_bytes() {
        [b'y' | b'Y' | b'o' | b'O', b':', b' ', ..] => rest.get(3..).unwrap_or_default(),
        _ => rest,
    };
    if let Some(pause) = rest.strip_prefix("Pause ") {
        // Without a length at its end it tells of a begin.
        let Some((before, ms)) = pause
            .rsplit_once(' ')
            .and_then(|(before, last)| Some((before, last.strip_suffix("ms")?)))
        else {
            return true;
        };
        let Some(took) = number(ms)
            .filter(|(_, rest)| rest.is_empty())
            .and_then(|(ms, _)| span(ms, 1e6))
        else {
            return true;
        };
        let (words, heap) = heap(before);
        *told = took;
        let operation = operation_of_pause(reading, words);
        let says = RuntimeSays::Stop {
            took,
            kind: StopKind::Gc,
            operation,
            reaching: None,
            cpu: None,
            heap,
            id: Some(id),
        };
        reading.say(line, SourceKind::Runtime, BY, StampMeans::End, Says::Runtime(says));
        return true;
    }
    if rest.starts_with("User=") {
        let Some(cpu) = cpu(rest, "User=", "Sys=", "Real=") else {
            return false;
        };
        reading.cpu_of(line, id, cpu, BY);
        return true;
    }
    if rest.starts_with("Allocation Stall (") {
        return stall(line, rest, Some(id), reading);
    }
    true
}
