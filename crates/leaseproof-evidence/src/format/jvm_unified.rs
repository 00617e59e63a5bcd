//! HotSpot's unified logging, JDK 9 and later.

use super::jvm::{cpu, heap, operation_of_pause};
use super::scan::{after, has, number, span, whole};
use crate::reading::Reading;
use crate::reading::line::{Layers, Line};
use crate::record::{Author, SourceKind};
use crate::says::{RuntimeSays, Says, StopKind};
use crate::stamp::{Stamps, counted, written};
use crate::when::{Domain, Interval, StampMeans, When};
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
    /// Whether the file's lines are this format's: decorations may be absent.
    pub(crate) seen: u64,
}

/// What a line's decorations say.
struct Decorated<'a> {
    when: Option<When>,
    other: Option<When>,
    author: Author,
    text: &'a str,
}

/// Reads the bracketed decorations. At least one of them must be a time, a level or a tag set.
fn decorations<'a>(raw: &'a str, stamps: &mut Stamps) -> Option<Decorated<'a>> {
    let mut rest = raw;
    let mut wall = None;
    let mut count: Option<When> = None;
    let mut author = Author::default();
    let (mut tagged, mut levelled) = (false, false);
    let mut parts = 0;
    while let Some(inside) = rest.strip_prefix('[') {
        let end = memchr::memchr(b']', inside.as_bytes())?;
        let (part, more) = (inside.get(..end)?, inside.get(end + 1..)?);
        let bytes = part.as_bytes();
        let stamp = match bytes.first()? {
            b'0'..=b'9' if bytes.len() > 19 && bytes.get(4) == Some(&b'-') => {
                let (stamp, used) = written::iso(bytes)?;
                if used != bytes.len() {
                    return None;
                }
                Some(stamps.calendar(&stamp)?)
            }
            b'0'..=b'9' => uptime(part, stamps),
            _ => None,
        };
        match stamp {
            Some(stamp) if stamp.domain == Domain::Wall => wall = Some(stamp),
            // Uptime and the machine's own count may both be there: the process's is the anchor that can be used.
            Some(stamp) => {
                count = Some(count.map_or(stamp, |known| if known.domain == Domain::Proc { known } else { stamp }))
            }
            None => {
                let word = part.trim_end();
                let level = matches!(word, "error" | "warning" | "info" | "debug" | "trace");
                levelled |= level;
                let tags = !word.is_empty()
                    && word
                        .bytes()
                        .all(|byte| byte.is_ascii_lowercase() || byte == b',' || byte == b'+');
                if let (false, Ok(id)) = (level || tags, word.parse::<u32>()) {
                    if author.pid.is_none() {
                        author.pid = Some(id);
                    }
                } else if !level && tags && word.split([',', '+']).next().is_some_and(|tag| TAGS.contains(&tag)) {
                    tagged = true;
                } else if !level {
                    // A host's name, or no decoration at all.
                    if parts == 0
                        || !word
                            .bytes()
                            .all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
                    {
                        return None;
                    }
                    author.host = Some(word.into());
                }
            }
        }
        parts += 1;
        rest = more;
    }
    if parts == 0 {
        return None;
    }
    let text = rest.strip_prefix(' ')?;
    // Other programs write brackets, too: a tag or a level that only the JVM writes like that, or a text that is its own.
    let timed = wall.is_some() || count.is_some();
    let own = timed && (tagged || levelled) || (tagged && levelled);
    if !own && !own_text(text) {
        return None;
    }
    let (when, other) = match (wall, count) {
        (Some(wall), count) => (Some(wall), count),
        (None, count) => (count, None),
    };
    Some(Decorated {
        when,
        other,
        author,
        text,
    })
}

/// `2.492s`, `39ms`, `4977917ns`, and `1796007139281ms`, which is an epoch: told by its size.
fn uptime(part: &str, stamps: &mut Stamps) -> Option<When> {
    if let Some(seconds) = part.strip_suffix("ns") {
        let nanos: i64 = seconds.parse().ok()?;
        // Nanoseconds may be the machine's or the process's count; nothing in the line tells them apart.
        return Some(counted(Domain::Proc, nanos, 1));
    }
    if let Some(ms) = part.strip_suffix("ms") {
        let ms: i64 = ms.parse().ok()?;
        if ms > 100_000_000_000 {
            return Some(stamps.epoch(ms.checked_mul(1_000_000)?, 1_000_000));
        }
        let nanos = ms.checked_mul(1_000_000)?;
        return Some(When {
            domain: Domain::Proc,
            span: Interval::cut(nanos, Duration::from_millis(1)),
            resolution: Duration::from_millis(1),
        });
    }
    let seconds = part.strip_suffix('s')?;
    let (nanos, unit, used) = written::seconds(seconds.as_bytes())?;
    (used == seconds.len()).then(|| counted(Domain::Proc, nanos, unit))
}

/// First tags of the JVM's lines.
const TAGS: [&str; 24] = [
    "gc",
    "safepoint",
    "os",
    "class",
    "jit",
    "thread",
    "metaspace",
    "startuptime",
    "arguments",
    "cds",
    "codecache",
    "compilation",
    "heap",
    "logging",
    "module",
    "monitorinflation",
    "nmt",
    "pagesize",
    "stringdedup",
    "stringtable",
    "tracking",
    "vmthread",
    "init",
    "handshake",
];

/// Whether a text can be only the JVM's, whatever its decorations are.
fn own_text(text: &str) -> bool {
    [
        "GC(",
        "Safepoint \"",
        "Entering safepoint region: ",
        "Leaving safepoint region",
        "Total time for which application threads were stopped: ",
        "Application time: ",
    ]
    .iter()
    .any(|begin| text.starts_with(begin))
}

/// Whether a line without decorations can only be this format's.
fn undecorated(raw: &str) -> bool {
    (raw.starts_with("GC(") && (has(raw, " Pause ") || has(raw, " Concurrent "))) || raw.starts_with("Safepoint \"")
}

/// Reads a line; `false` where it is no line of this format.
pub(crate) fn read(number: u64, raw: &str, reading: &mut Reading<'_>) -> bool {
    let decorated = match raw.as_bytes().first() {
        Some(b'[') => decorations(raw, &mut reading.stamps),
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
    reading.state.jvm_unified.seen += 1;
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
        Some(b'S') if text.starts_with("Safepoint \"") => safepoint(line, text, reading, &mut told, &mut ran),
        Some(b'E') if text.starts_with("Entering safepoint region: ") => entering(line, text, reading),
        Some(b'L') if text.starts_with("Leaving safepoint region") => {
            if let Some(when) = line.when {
                reading.state.jvm_unified.last_end = Some(when);
            }
            true
        }
        Some(b'T') if text.starts_with("Total time for which application threads were stopped: ") => {
            stopped(line, text, reading, &mut told)
        }
        Some(b'A') if text.starts_with("Application time: ") => application(line, text, reading),
        Some(b'A') if text.starts_with("Allocation Stall (") => stall(line, text, None, reading),
        Some(b'#') if text.starts_with("# SafepointSynchronize") => {
            let what = reading.name(text);
            let says = Says::Runtime(RuntimeSays::SafepointTimeout { what });
            reading.say(line, SourceKind::Runtime, BY, StampMeans::Emitted, says);
            true
        }
        Some(b'G') if text.starts_with("GC(") => collection(line, text, reading, &mut told),
        _ => false,
    };
    reading.stamped(line, told, ran);
    understood
}

fn nanos(text: &str, name: &str) -> Option<Duration> {
    let (value, rest) = whole(after(text, name)?)?;
    rest.starts_with(" ns").then(|| Duration::from_nanos(value))
}

/// `Safepoint "Op", Time since last: N ns, Reaching safepoint: N ns, …, Total: N ns`: five layouts, read by names.
fn safepoint(
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

fn entering(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> bool {
    let operation = reading.name(text.get(27..).unwrap_or_default());
    if let Some(when) = line.when {
        reading.state.jvm_unified.entered = Some((operation, when));
    }
    true
}

/// `Total time for which application threads were stopped: 0.0104763 seconds, Stopping threads took: 0.0000101 seconds`.
fn stopped(line: &Line<'_>, text: &str, reading: &mut Reading<'_>, told: &mut Duration) -> bool {
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

fn application(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> bool {
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

fn stall(line: &Line<'_>, text: &str, id: Option<u64>, reading: &mut Reading<'_>) -> bool {
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
fn collection(line: &Line<'_>, text: &str, reading: &mut Reading<'_>, told: &mut Duration) -> bool {
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
