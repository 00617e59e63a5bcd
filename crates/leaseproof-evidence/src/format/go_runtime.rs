//! Go's runtime: gctrace, schedtrace, and dumps of goroutines.

use super::scan::{after, between, go_span, number, span, whole};
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{CpuTime, RuntimeSays, Says, StopKind};
use crate::stamp::{counted, written};
use crate::when::{Domain, Interval, StampMeans, When};
use std::time::Duration;

const BY: &str = "go-runtime";

/// The beat of schedtrace.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    last_ms: Option<u64>,
    period: Option<Duration>,
    dump: bool,
}

/// Reads a line.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    let text = line.text.as_ref();
    if text.starts_with("gc ") && text.contains(" @") {
        return gctrace(line, text, reading);
    }
    if let Some(rest) = text.strip_prefix("SCHED ") {
        return schedtrace(line, rest, reading);
    }
    if !line.continued {
        return None;
    }
    // scheddetail's indented lines.
    let trimmed = text.trim_start();
    if text.starts_with("  ")
        && (trimmed.starts_with('P') || trimmed.starts_with('M') || trimmed.starts_with('G'))
        && trimmed
            .get(1..2)
            .is_some_and(|digit| digit.bytes().all(|byte| byte.is_ascii_digit()))
    {
        return Some(BY);
    }
    dump(line, text, reading)
}

/// The line with the moment that it has in itself: seconds since the process began.
fn at<'a>(line: &Line<'a>, when: When) -> Line<'a> {
    let mut line = line.clone();
    if line.continued || line.when.is_none() {
        line.when = Some(when);
        line.other = None;
        line.continued = false;
    } else {
        line.other = Some(when);
    }
    line
}

/// `gc 78 @4.516s 0%: 0.039+0.99+0.002 ms clock, 0.078+0.44/0/0+0.005 ms cpu, 25->25->13 MB, …`: the first and the third
/// part of the clock stopped the world.
fn gctrace(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    let (id, rest) = whole(text.get(3..)?)?;
    let rest = rest.strip_prefix(" @")?;
    let (nanos, unit, used) = written::seconds(rest.as_bytes())?;
    let rest = rest.get(used..)?.strip_prefix('s')?;
    let clock = between(rest, ": ", " ms clock")?;
    let parts: Vec<f64> = clock
        .split('+')
        .filter_map(|part| number(part).map(|(value, _)| value))
        .collect();
    let [sweep, _concurrent, mark] = parts.as_slice() else {
        return None;
    };
    let cpu = between(rest, "clock, ", " ms cpu").and_then(|cpu| {
        let mut parts = cpu.split('+').filter_map(|part| number(part).map(|(value, _)| value));
        let (first, _, last) = (parts.next()?, parts.next()?, parts.next()?);
        Some(CpuTime {
            user: span(first + last, 1e6)?,
            sys: Duration::ZERO,
            real: span(sweep + mark, 1e6)?,
        })
    });
    let took = span(sweep + mark, 1e6)?;
    let line = at(line, counted(Domain::Proc, nanos, unit));
    let heap = after(rest, "ms cpu, ").and_then(|heap| {
        let (before, rest) = whole(heap)?;
        let (_, rest) = whole(rest.strip_prefix("->")?)?;
        let (left, _) = whole(rest.strip_prefix("->")?)?;
        Some((before << 20, left << 20))
    });
    reading.stamped(&line, Duration::ZERO, None);
    let operation = reading.name("gc");
    let says = RuntimeSays::Stop {
        took,
        kind: StopKind::Gc,
        operation,
        reaching: None,
        cpu,
        heap,
        id: Some(id),
    };
    reading.say(&line, SourceKind::Runtime, BY, StampMeans::End, Says::Runtime(says));
    Some(BY)
}

/// `207ms: gomaxprocs=2 idleprocs=0 …`: a beat of a fixed period.
fn schedtrace(line: &Line<'_>, rest: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    let (ms, rest) = whole(rest)?;
    if !rest.starts_with("ms: gomaxprocs=") {
        return None;
    }
    let nanos = i64::try_from(ms).ok()?.checked_mul(1_000_000)?;
    let when = When {
        domain: Domain::Proc,
        span: Interval::cut(nanos, Duration::from_millis(1)),
        resolution: Duration::from_millis(1),
    };
    let line = at(line, when);
    let state = &mut reading.state.go;
    if let Some(last) = state.last_ms
        && ms > last
    {
        // The period is the least distance seen: a beat is late, never early.
        let apart = Duration::from_millis(ms - last);
        state.period = Some(state.period.map_or(apart, |period| period.min(apart)));
    }
    state.last_ms = Some(ms);
    let period = state.period;
    reading.stamped(&line, Duration::ZERO, None);
    reading.say(
        &line,
        SourceKind::Runtime,
        BY,
        StampMeans::Emitted,
        Says::Runtime(RuntimeSays::Beat { period }),
    );
    Some(BY)
}

/// A dump of goroutines: `goroutine 19 [semacquire, 5 minutes]:`. It has no stamp.
fn dump(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    if text.starts_with("SIGQUIT: quit") || text.starts_with("panic: ") || text.starts_with("fatal error: ") {
        reading.state.go.dump = true;
        return Some("go-dump");
    }
    if let Some(rest) = text.strip_prefix("goroutine ")
        && let Some((id, rest)) = whole(rest)
        && let Some(inside) = rest
            .trim_start()
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("]:"))
            .map(|(inside, _)| inside)
    {
        reading.state.go.dump = true;
        let mut parts = inside.split(", ");
        let state = parts.next().unwrap_or_default();
        // Minutes appear from one on, whole ones.
        let minutes = parts.find_map(|part| part.strip_suffix(" minutes")?.parse::<u64>().ok());
        if let Some(minutes) = minutes {
            let mut line = line.clone();
            line.author.thread = Some(reading.name(&format!("goroutine {id}")));
            let says = RuntimeSays::Waiting {
                state: reading.name(state),
                at_least: Duration::from_secs(minutes.saturating_mul(60)),
            };
            reading.say(
                &line,
                SourceKind::Runtime,
                "go-dump",
                StampMeans::Observed,
                Says::Runtime(says),
            );
        }
        return Some("go-dump");
    }
    if let Some(rest) = after(text, "forced GC, ").and_then(go_span) {
        let _ = rest;
        return Some(BY);
    }
    (reading.state.go.dump
        && (text.starts_with('\t')
            || text.ends_with(')')
            || text.contains("=0x")
            || text.contains("0x")
            || text.starts_with("created by ")))
    .then_some("go-dump")
}
