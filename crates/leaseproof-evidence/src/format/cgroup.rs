//! Files of control groups and /proc, as somebody's loop or `cat` wrote them: freezer, CPU quota, pressure, kills.

use super::scan::{after, field, whole, word};
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{CounterKind, MachineSays, ProcessSays, RuntimeSays, Says};
use crate::when::StampMeans;
use std::time::Duration;

const BY: &str = "cgroup";

/// What the lines before have said.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pressure: u8,
}

/// Reads a line. Without a stamp of its own it has that of the line above it, where one is.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    if line.fields.is_some() {
        return None;
    }
    let text = line.text.trim();
    if let Some(words) = poll(line, text, reading) {
        return Some(words);
    }
    if let Some(gap) = heartbeat(text) {
        let says = Says::Runtime(RuntimeSays::WokeLate { by: gap });
        reading.say(line, SourceKind::Runtime, "heartbeat", StampMeans::End, says);
        return Some("heartbeat");
    }
    pressure(line, text, reading)
        .or_else(|| counter(line, text, reading))
        .or_else(|| state(line, text, reading))
}

fn process(line: &Line<'_>, says: ProcessSays, reading: &mut Reading<'_>) {
    reading.say(line, SourceKind::Kernel, BY, StampMeans::Observed, Says::Process(says));
}

/// `freeze=1 populated 1 frozen 1`: a look at the freezer. `freeze=1` with `frozen 0` is still freezing.
fn poll(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    let frozen = match text {
        "frozen 1" | "FROZEN" => true,
        "frozen 0" | "THAWED" => false,
        "FREEZING" | "populated 1" | "populated 0" | "cgroup.freeze" => return Some(BY),
        _ => {
            let word = after(text, "frozen ").or_else(|| after(text, "frozen="))?;
            let begins = text.starts_with("frozen")
                || text.starts_with("freeze=")
                || text.starts_with("populated ")
                || text.starts_with("populated=")
                || text.starts_with("cgroup.events");
            if !begins {
                return None;
            }
            match whole(word)?.0 {
                1 => true,
                0 => false,
                _ => return None,
            }
        }
    };
    let says = match frozen {
        true => ProcessSays::Paused {
            how: reading.name("cgroup frozen"),
        },
        false => ProcessSays::NotPaused,
    };
    process(line, says, reading);
    Some(BY)
}

/// `heartbeat gap 2.036s mono=887.832`: a beat that was late, in a worker's own words.
fn heartbeat(text: &str) -> Option<Duration> {
    let rest = text
        .strip_prefix("heartbeat gap ")
        .or_else(|| text.strip_prefix("heartbeat late by "))?;
    super::scan::go_span(rest).map(|(span, _)| span)
}

/// `some avg10=87.89 avg60=62.05 avg300=29.24 total=128701497`.
fn pressure(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    let kind = match text.split_once(" avg10=")?.0 {
        "some" => CounterKind::PressureSome,
        "full" => CounterKind::PressureFull,
        _ => return None,
    };
    let micros = field(text, "total")?.parse::<u64>().ok()?;
    let value = micros.saturating_mul(1000);
    process(line, ProcessSays::Counter { kind, value }, reading);
    reading.state.cgroup.pressure += 1;
    Some("pressure")
}

/// `nr_throttled 52`, `throttled_time 4617622326`: units differ by name.
fn counter(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    let (name, value) = text.split_once([' ', '='])?;
    if name == "cpu" || (name.starts_with("cpu") && text.starts_with("cpu ")) {
        let ticks: Vec<u64> = value.split_whitespace().filter_map(|part| part.parse().ok()).collect();
        let value = *ticks.get(7).filter(|_| ticks.len() >= 8)?;
        let says = MachineSays::Counter {
            kind: CounterKind::Steal,
            value,
        };
        reading.say(
            line,
            SourceKind::Kernel,
            "proc-stat",
            StampMeans::Observed,
            Says::Machine(says),
        );
        return Some("proc-stat");
    }
    // Several on one line: `nr_periods=3 nr_throttled=2 throttled_usec=100`.
    if text.contains('=') && text.contains("throttled") {
        let mut any = false;
        for part in text.split_whitespace() {
            if let Some((name, value)) = part.split_once('=')
                && let Ok(value) = value.parse::<u64>()
            {
                any |= one(line, name, value, reading);
            }
        }
        return any.then_some(BY);
    }
    let value: u64 = value.trim().parse().ok()?;
    one(line, name, value, reading).then_some(BY)
}

fn one(line: &Line<'_>, name: &str, value: u64, reading: &mut Reading<'_>) -> bool {
    let (kind, value) = match name {
        "usage_usec" => (CounterKind::CpuUsage, value.saturating_mul(1000)),
        "nr_periods" => (CounterKind::Periods, value),
        "nr_throttled" => (CounterKind::Throttled, value),
        "throttled_usec" => (CounterKind::ThrottledTime, value.saturating_mul(1000)),
        "throttled_time" => (CounterKind::ThrottledTime, value),
        "frozen_usec" => (CounterKind::FrozenTime, value.saturating_mul(1000)),
        "oom_kill" | "oom_group_kill" => (CounterKind::OomKills, value),
        "user_usec"
        | "system_usec"
        | "nice_usec"
        | "nr_bursts"
        | "burst_usec"
        | "burst_time"
        | "nr_descendants"
        | "nr_dying_descendants"
        | "oom_kill_disable"
        | "under_oom"
        | "pgmajfault"
        | "core_sched.force_idle_usec" => return true,
        _ => {
            return name.starts_with("nr_subsys_")
                || name.starts_with("nr_dying_subsys_")
                || name.starts_with("allocstall_");
        }
    };
    process(line, ProcessSays::Counter { kind, value }, reading);
    true
}

/// `/proc/PID/status`: `State: T (stopped)`.
fn state(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    if !line.continued {
        return None;
    }
    if let Some(state) = text.strip_prefix("State:") {
        let state = state.trim();
        match state.as_bytes().first()? {
            b'T' | b't' => {
                let how = reading.name(&format!("state {state}"));
                process(line, ProcessSays::Paused { how }, reading);
            }
            // A frozen process is shown as asleep: no state but T says anything.
            b'R' | b'S' | b'D' | b'Z' | b'I' => {}
            _ => return None,
        }
        return Some("proc-status");
    }
    let known = [
        "voluntary_ctxt_switches:",
        "nonvoluntary_ctxt_switches:",
        "Name:",
        "Pid:",
        "PPid:",
        "Tgid:",
        "Threads:",
    ];
    if known.contains(&word(text).split('\t').next().unwrap_or_default()) {
        return Some("proc-status");
    }
    let file = text.starts_with("cgroup.")
        || matches!(
            text,
            "cpu.pressure" | "cpu.stat" | "cpu.stat.local" | "io.pressure" | "memory.pressure"
        );
    (file && !text.contains(' ')).then_some(BY)
}
