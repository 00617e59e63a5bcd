//! The kernel's log, in any of its renderings, and the lines of the init system that tell of the clock.

use super::scan::{after, between, has, whole, word};
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{ClockSays, MachineSays, ProcessSays, Says};
use crate::when::StampMeans;
use std::sync::Arc;
use std::time::Duration;

const BY: &str = "kernel";

/// Reads a line.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    // dmesg's JSON: the record's own fields.
    if let Some(fields) = &line.fields {
        if !(fields.contains_key("pri") && fields.contains_key("msg")) {
            return None;
        }
    } else if dmesg_tail(line, reading) {
        return Some("dmesg-json");
    }
    let from_kernel = line.layers.0.contains(&"kernel") || line.author.process.as_deref() == Some("kernel");
    let text = line.text.trim_start();
    let what = |reading: &mut Reading<'_>, means: StampMeans, says: Says| {
        reading.say(line, SourceKind::Kernel, BY, means, says);
    };
    if let Some(says) = process(text) {
        what(reading, StampMeans::Emitted, Says::Process(says));
    } else if text.starts_with("PM: suspend entry") {
        what(reading, StampMeans::Start, Says::Machine(MachineSays::SuspendEntry));
    } else if text.starts_with("PM: suspend exit") {
        what(reading, StampMeans::End, Says::Machine(MachineSays::SuspendExit));
    } else if let Some(rest) = after(text, "BUG: soft lockup - CPU#") {
        let (cpu, rest) = whole(rest)?;
        let seconds = after(rest, "stuck for ")
            .and_then(whole)
            .map_or(0, |(seconds, _)| seconds);
        let says = MachineSays::SoftLockup {
            lasted: Duration::from_secs(seconds),
            cpu: u32::try_from(cpu).ok(),
            idle: has(rest, "[swapper/"),
        };
        what(reading, StampMeans::End, Says::Machine(says));
    } else if has(text, "rcu: INFO: ") && has(text, "stall") {
        what(
            reading,
            StampMeans::End,
            Says::Machine(MachineSays::RcuStall { jiffies: None }),
        );
    } else if let Some(jiffies) = between(text, "(t=", " jiffies") {
        let jiffies = jiffies.parse().ok();
        what(
            reading,
            StampMeans::End,
            Says::Machine(MachineSays::RcuStall { jiffies }),
        );
    } else if has(text, "Long readout interval") {
        let nanos = |name: &str| {
            after(text, name)
                .and_then(whole)
                .map(|(nanos, _)| Duration::from_nanos(nanos))
        };
        let says = MachineSays::TimersLate {
            lasted: nanos("wd_nsec: ")?,
            other: nanos("cs_nsec: "),
        };
        what(reading, StampMeans::End, Says::Machine(says));
    } else if let Some(nanos) = after(text, "hrtimer: interrupt took ").and_then(whole) {
        let says = MachineSays::TimersLate {
            lasted: Duration::from_nanos(nanos.0),
            other: None,
        };
        what(reading, StampMeans::End, Says::Machine(says));
    } else if has(text, "Marking clocksource") && has(text, "as unstable") {
        let words = reading.name(text);
        what(
            reading,
            StampMeans::Emitted,
            Says::Machine(MachineSays::ClockUnstable { what: words }),
        );
    } else if let Some(rest) = after(text, "blocked for more than ") {
        let (seconds, _) = whole(rest)?;
        let task = reading.name(between(text, "task ", " blocked").unwrap_or_default());
        let more_than = Duration::from_secs(seconds);
        what(
            reading,
            StampMeans::End,
            Says::Machine(MachineSays::TaskBlocked { more_than, task }),
        );
    } else if text.starts_with("Linux version ") {
        what(reading, StampMeans::Emitted, Says::Machine(MachineSays::Booted));
    } else if has(text, "Time jumped backwards, rotating")
        || has(text, "clock jumped backwards relative to last journal entry")
        || text.starts_with("Time has been changed")
        || text.starts_with("Clock change detected. Flushing caches")
    {
        reading.say(
            line,
            SourceKind::Clock,
            "systemd",
            StampMeans::End,
            Says::Clock(ClockSays::Stepped { by: None }),
        );
        return Some("systemd");
    } else if from_kernel && !line.continued {
        return Some(BY);
    } else {
        return None;
    }
    Some(BY)
}

/// Kills for want of memory. Names are cut at 15 characters, and may have spaces and brackets in them.
fn process(text: &str) -> Option<ProcessSays> {
    let killed = after(text, "ut of memory: Killed process ").or_else(|| after(text, "ut of memory: Kill process "));
    if let Some(rest) = killed {
        let command = rest.split_once('(').and_then(|(_, rest)| {
            rest.find(") ")
                .or_else(|| rest.rfind(')'))
                .and_then(|end| rest.get(..end))
        });
        return Some(ProcessSays::OutOfMemory {
            command: command.map(Arc::from),
            own_limit: Some(has(text, "Memory cgroup out of memory")),
            cgroup: None,
        });
    }
    let rest = text.strip_prefix("oom-kill:constraint=")?;
    Some(ProcessSays::OutOfMemory {
        command: after(rest, ",task=").map(word).map(Arc::from),
        own_limit: Some(rest.starts_with("CONSTRAINT_MEMCG")),
        cgroup: after(rest, ",task_memcg=").map(word).map(Arc::from),
    })
}

/// Lines of dmesg's JSON of which the begin is missing: a time, then a message.
fn dmesg_tail(line: &Line<'_>, reading: &mut Reading<'_>) -> bool {
    let text = line.text.trim();
    if let Some(rest) = text.strip_prefix("\"time\":") {
        if let Some((nanos, unit, _)) = crate::stamp::written::seconds(rest.trim_start().as_bytes()) {
            let when = crate::when::When {
                domain: crate::when::Domain::Printk,
                span: crate::when::Interval::cut(nanos, Duration::from_nanos(unit.unsigned_abs())),
                resolution: Duration::from_nanos(unit.unsigned_abs()),
            };
            reading.state.last = Some((when, line.author.clone(), line.layers));
            return true;
        }
        return false;
    }
    if let Some(rest) = text.strip_prefix("\"msg\":") {
        let message = rest.trim().trim_end_matches(',').trim_matches('"');
        let mut line = line.clone();
        if let Some((when, _, _)) = &reading.state.last {
            line.when = Some(*when);
        }
        if let Some(says) = process(message) {
            reading.say(
                &line,
                SourceKind::Kernel,
                "dmesg-json",
                StampMeans::Emitted,
                Says::Process(says),
            );
        }
        return true;
    }
    text.starts_with("\"pri\":")
}
