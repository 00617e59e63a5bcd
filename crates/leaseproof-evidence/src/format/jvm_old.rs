//! HotSpot's logs before JDK 9. The stamp of a collection is its *begin* here.

use super::jvm::{cpu, heap_of};
use super::scan::{after, has, number, span, whole};
use crate::reading::Reading;
use crate::reading::line::{Layers, Line};
use crate::record::{Author, SourceKind};
use crate::says::{RuntimeSays, Says, StopKind};
use crate::stamp::{Stamps, counted, written};
use crate::when::{Domain, StampMeans, When};
use std::borrow::Cow;
use std::time::Duration;

const BY: &str = "jvm-old";

/// A `2017-03-05T07:46:46.551-0500: 4.097: ` before the text: either part may be missing, and the first may come twice.
fn stamps_of<'a>(raw: &'a str, stamps: &mut Stamps) -> (Option<When>, Option<When>, &'a str) {
    let (mut wall, mut count, mut rest) = (None, None, raw);
    loop {
        if let Some((stamp, used)) = written::iso(rest.as_bytes())
            && let Some(more) = rest.get(used..).and_then(|rest| rest.strip_prefix(": "))
        {
            wall = stamps.calendar(&stamp);
            rest = more;
            continue;
        }
        if count.is_none()
            && let Some((nanos, unit, used)) = written::seconds(rest.as_bytes())
            && let Some(more) = rest.get(used..).and_then(|rest| rest.strip_prefix(": "))
        {
            count = Some(counted(Domain::Proc, nanos, unit));
            rest = more;
            continue;
        }
        return match wall {
            Some(_) => (wall, count, rest),
            None => (count, None, rest),
        };
    }
}

/// Whether a text can be only this format's.
fn belongs(text: &str) -> bool {
    text.starts_with("[GC")
        || text.starts_with("[Full GC")
        || text.starts_with("[CMS-concurrent-")
        || text.starts_with("Total time for which application threads were stopped: ")
        || text.starts_with("Application time: ")
        || (text.starts_with("[Pause ") && text.ends_with(']'))
}

/// A collection whose line goes on below: what was printed between took the rest of it away.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    open: Option<Open>,
}

#[derive(Clone, Debug)]
struct Open {
    number: u64,
    when: Option<When>,
    other: Option<When>,
    head: String,
    left: u8,
}

/// The rest of a collection that an earlier line began; `false` where there is none.
fn goes_on(raw: &str, reading: &mut Reading<'_>) -> bool {
    let Some(open) = &mut reading.state.jvm_old.open else {
        return false;
    };
    if open.left == 0 || raw.as_bytes().first().is_some_and(u8::is_ascii_digit) {
        reading.state.jvm_old.open = None;
        return false;
    }
    open.left -= 1;
    if !has(raw, " secs]") {
        // `Desired survivor size 22020096 bytes, new threshold 7 (max 15)`, ages, regions.
        let known = raw.starts_with("Desired survivor size")
            || raw.starts_with("- age")
            || raw.starts_with(' ')
            || raw.is_empty();
        if known {
            reading.format(Layers::default(), BY);
        } else {
            reading.state.jvm_old.open = None;
        }
        return known;
    }
    let Some(open) = reading.state.jvm_old.open.take() else {
        return false;
    };
    let whole = format!("{} {raw}", open.head);
    let line = Line {
        number: open.number,
        raw: &whole,
        text: Cow::Borrowed(&whole),
        when: open.when,
        other: open.other,
        author: Author::default(),
        fields: None,
        layers: Layers::default(),
        continued: true,
    };
    reading.format(Layers::default(), BY);
    say(&line, &whole, reading);
    true
}

/// Reads a line; `false` where it is no line of this format.
pub(crate) fn read(number: u64, raw: &str, reading: &mut Reading<'_>) -> bool {
    if reading.state.jvm_old.open.is_some() && goes_on(raw, reading) {
        return true;
    }
    if !matches!(raw.as_bytes().first(), Some(b'0'..=b'9' | b'[' | b'T' | b'A')) {
        return false;
    }
    let mut probe = reading.stamps.clone();
    let (when, other, text) = stamps_of(raw, &mut probe);
    let cut_off = when.is_some() && has(text, "threads were stopped: ");
    if !belongs(text) && !cut_off && statistics(text).is_none() {
        return false;
    }
    reading.stamps = probe;
    let line = Line {
        number,
        raw,
        text: Cow::Borrowed(text),
        when,
        other,
        author: Author::default(),
        fields: None,
        layers: Layers::default(),
        continued: false,
    };
    reading.format(Layers::default(), BY);
    if !belongs(text) && cut_off {
        reading.problem(
            Some(number),
            crate::evidence::ProblemKind::Interleaved,
            "a line begins in the middle: two writers, or a write that was cut; its numbers are not used",
        );
        reading.stamped(&line, Duration::ZERO, None);
        return true;
    }
    say(&line, text, reading);
    true
}

fn say(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) {
    let seconds = |needle: &str| number(after(text, needle)?).and_then(|(value, _)| span(value, 1e9));
    if let Some(took) = seconds("application threads were stopped: ") {
        reading.stamped(line, took, None);
        let operation = reading.name("stopped");
        let says = RuntimeSays::Stop {
            took,
            kind: StopKind::Safepoint,
            operation,
            reaching: seconds("Stopping threads took: "),
            cpu: None,
            heap: None,
            id: None,
        };
        reading.say(line, SourceKind::Runtime, BY, StampMeans::End, Says::Runtime(says));
        return;
    }
    reading.stamped(line, Duration::ZERO, None);
    if let Some(ran) = seconds("Application time: ") {
        let says = Says::Runtime(RuntimeSays::Ran { lasted: ran });
        reading.say(line, SourceKind::Runtime, BY, StampMeans::End, says);
        return;
    }
    if let Some((operation, took)) = statistics(text) {
        let says = RuntimeSays::Stop {
            took,
            kind: StopKind::Safepoint,
            operation: reading.name(operation),
            reaching: None,
            cpu: None,
            heap: None,
            id: None,
        };
        reading.say(line, SourceKind::Runtime, BY, StampMeans::Start, Says::Runtime(says));
        return;
    }
    // Shenandoah on 8: `[Pause Init Mark (process weakrefs), 3.341 ms]` at its end, `…, start]` at its begin.
    if let Some(pause) = text.strip_prefix("[Pause ").and_then(|text| text.strip_suffix(']')) {
        if let Some((words, length)) = pause.rsplit_once(", ")
            && let Some(took) = number(length)
                .filter(|(_, unit)| *unit == " ms")
                .and_then(|(ms, _)| span(ms, 1e6))
        {
            let operation = super::jvm::operation_of_pause(reading, words);
            collection(line, reading, operation, took, None, None, StampMeans::End);
        }
        return;
    }
    if text.starts_with("[CMS-concurrent-") {
        return;
    }
    // `[GC (Allocation Failure) [PSYoungGen: …] 132096K->13849K(503296K), 0.0418780 secs] [Times: …]`.
    let Some(took) = total(text) else {
        if (text.starts_with("[GC") || text.starts_with("[Full GC")) && !has(text, "concurrent") && !line.continued {
            reading.state.jvm_old.open = Some(Open {
                number: line.number,
                when: line.when,
                other: line.other,
                head: text.trim_end().to_owned(),
                left: 40,
            });
        }
        return;
    };
    let heap = text
        .split(' ')
        .filter_map(|part| heap_of(part.trim_end_matches([',', ']'])))
        .next_back();
    let name = name_of(text);
    let cpu = after(text, "[Times: ").and_then(|times| cpu(times, "user=", "sys=", "real="));
    let operation = reading.name(name);
    collection(line, reading, operation, took, cpu, heap, StampMeans::Start);
}

/// `[GC (Allocation Failure)`, `[GC pause (G1 Evacuation Pause) (young)`, `[Full GC (Ergonomics)`: without the bracket.
fn name_of(text: &str) -> &str {
    let text = text.strip_prefix('[').unwrap_or(text);
    let end = text.find(['[', ',', ':']).unwrap_or(text.len());
    let name = text.get(..end).unwrap_or(text).trim_end();
    // `GC 132096K->…` has no cause, and `GC 4.097` repeats the stamp.
    match name.split_once(|c: char| c.is_ascii_digit()) {
        Some((before, _)) if !before.contains('(') => before.trim_end(),
        _ => match name.rfind(") ") {
            Some(at) => name.get(..=at).unwrap_or(name),
            None => name,
        },
    }
}

/// The last `, 0.0418780 secs]` before the times.
fn total(text: &str) -> Option<Duration> {
    let before = text.split("[Times: ").next()?;
    let (head, _) = before.rsplit_once(" secs]")?;
    let digits = head.rsplit([' ', '\t']).next()?;
    let (value, rest) = number(digits)?;
    rest.is_empty().then(|| span(value, 1e9))?
}

fn collection(
    line: &Line<'_>,
    reading: &mut Reading<'_>,
    operation: std::sync::Arc<str>,
    took: Duration,
    cpu: Option<crate::says::CpuTime>,
    heap: Option<(u64, u64)>,
    means: StampMeans,
) {
    let says = RuntimeSays::Stop {
        took,
        kind: StopKind::Gc,
        operation,
        reaching: None,
        cpu,
        heap,
        id: None,
    };
    reading.say(line, SourceKind::Runtime, BY, means, Says::Runtime(says));
}

/// `GenCollectForAllocation [ 973 0 0 ] [ 0 0 0 5 53 ] 0`: the operation, and sync + cleanup + operation in milliseconds.
fn statistics(text: &str) -> Option<(&str, Duration)> {
    let (operation, rest) = text.split_once(" [")?;
    let operation = operation.trim();
    if operation.is_empty() || !operation.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let (first, rest) = rest.split_once(']')?;
    let numbers = |text: &str| -> Option<Vec<u64>> {
        text.split_whitespace()
            .map(|part| Some(whole(part).filter(|(_, rest)| rest.is_empty())?.0))
            .collect()
    };
    if numbers(first)?.len() != 3 {
        return None;
    }
    let (second, _) = rest.trim_start().strip_prefix('[')?.split_once(']')?;
    let [_, _, sync, cleanup, operation_ms] = numbers(second)?.try_into().ok()?;
    Some((
        operation,
        Duration::from_millis(sync.saturating_add(cleanup).saturating_add(operation_ms)),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_ok() {
        for (text, name, ns) in [
            (
                "[GC (Allocation Failure) [PSYoungGen: 132096K->13777K(153600K)] 132096K->13849K(503296K), 0.0418780 secs] [Times: user=0.04 sys=0.00, real=0.04 secs]",
                "GC (Allocation Failure)",
                41_878_000_u128,
            ),
            (
                "[GC pause (G1 Evacuation Pause) (young), 0.0123456 secs]",
                "GC pause (G1 Evacuation Pause) (young)",
                12_345_600,
            ),
            (
                "[GC [PSYoungGen: 1K->1K(2K)] 1K->1K(2K), 22.7851730 secs] [Times: user=0.08 sys=0.02, real=22.83 secs]",
                "GC",
                22_785_173_000,
            ),
            (
                "[Full GC (System.gc()) 1K->1K(2K), 0.5 secs]",
                "Full GC (System.gc())",
                500_000_000,
            ),
        ] {
            assert_eq!(name_of(text), name);
            assert_eq!(total(text).map(|took| took.as_nanos()), Some(ns));
        }
        let line = "GenCollectForAllocation          [     973          0              0    ]      [     0     0     0     5    53    ]  0";
        assert_eq!(
            statistics(line).map(|(name, took)| (name, took.as_millis())),
            Some(("GenCollectForAllocation", 58))
        );
    }

    #[test]
    fn names_bad() {
        assert_eq!(statistics("goroutine 1 [running]:"), None);
        assert_eq!(total("[GC concurrent-mark-start]"), None);
    }
}
