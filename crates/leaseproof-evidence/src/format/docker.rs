//! Docker, containerd and podman: events, states, the daemon's log.

use super::scan::{after, between, has, word};
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{ProcessSays, Says};
use crate::stamp::written;
use crate::when::StampMeans;
use serde_json::{Map, Value};
use std::sync::Arc;

const BY: &str = "docker-events";

/// Reads a line.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    if let Some(fields) = &line.fields {
        return event_json(line, fields, reading).or_else(|| inspect(line, fields, reading));
    }
    let text = line.text.trim();
    if !line.continued {
        if let Some(read) = event_text(line, text, reading) {
            return Some(read);
        }
        if line.layers.0.contains(&"logfmt") {
            return daemon(line, text, reading);
        }
        return None;
    }
    // `docker ps`: a status among the columns.
    if text.starts_with("CONTAINER ID ") {
        return Some("docker-ps");
    }
    if text.len() > 12
        && text
            .get(..12)
            .is_some_and(|id| id.bytes().all(|byte| byte.is_ascii_hexdigit()))
        && has(text, " ago ")
    {
        if has(text, "(Paused)") {
            let name = text.rsplit(' ').next().map(Arc::from);
            let how = reading.name("docker paused");
            say(line, name, StampMeans::Observed, ProcessSays::Paused { how }, reading);
        }
        return Some("docker-ps");
    }
    None
}

fn say(line: &Line<'_>, container: Option<Arc<str>>, means: StampMeans, says: ProcessSays, reading: &mut Reading<'_>) {
    let mut line = line.clone();
    if container.is_some() {
        line.author.container = container;
    }
    reading.say(&line, SourceKind::Container, BY, means, Says::Process(says));
}

/// What an action says. Pause and unpause are stamped when they are done.
fn action(
    line: &Line<'_>,
    action: &str,
    name: Option<Arc<str>>,
    attribute: &dyn Fn(&str) -> Option<String>,
    reading: &mut Reading<'_>,
) {
    let number = |name: &str| attribute(name).and_then(|value| value.parse::<i32>().ok());
    let (says, means) = match action {
        "pause" => (
            ProcessSays::Paused {
                how: reading.name("docker pause"),
            },
            StampMeans::End,
        ),
        "unpause" => (
            ProcessSays::Resumed {
                how: reading.name("docker unpause"),
            },
            StampMeans::End,
        ),
        "oom" => (
            ProcessSays::OutOfMemory {
                command: None,
                own_limit: Some(true),
                cgroup: None,
            },
            StampMeans::Emitted,
        ),
        "kill" => (
            ProcessSays::Killed {
                signal: number("signal"),
                why: reading.name("docker kill"),
            },
            StampMeans::Emitted,
        ),
        "die" => (
            ProcessSays::Exited {
                status: number("exitCode"),
            },
            StampMeans::Emitted,
        ),
        "start" | "restart" => (ProcessSays::Started, StampMeans::Emitted),
        health if health.starts_with("health_status") && has(health, "unhealthy") => (
            ProcessSays::Unhealthy {
                why: reading.name(health),
            },
            StampMeans::Emitted,
        ),
        _ => return,
    };
    say(line, name, means, says, reading);
}

/// `container pause <64 hex> (image=lpbox:1, name=worker-a)`.
fn event_text(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    let (kind, rest) = text.split_once(' ')?;
    if !matches!(
        kind,
        "container" | "network" | "image" | "volume" | "plugin" | "daemon" | "builder"
    ) || !rest.ends_with(')')
    {
        return None;
    }
    let (head, attributes) = rest.split_once(" (")?;
    // The action may have a colon and a space in it; the id is the last word.
    let (what, id) = head.rsplit_once(' ')?;
    if id.len() < 12 || kind != "container" {
        return (kind != "container").then_some(BY);
    }
    // Values are not escaped, and may hold anything: the name is looked for from the end.
    let attributes = attributes.trim_end_matches(')');
    let attribute = |name: &str| -> Option<String> {
        let at = attributes.rfind(&format!("{name}="))?;
        let value = attributes.get(at + name.len() + 1..)?;
        Some(value.split(", ").next().unwrap_or(value).to_owned())
    };
    let name = attribute("name").map(Arc::from).or_else(|| Some(Arc::from(id)));
    action(line, what, name, &attribute, reading);
    Some(BY)
}

fn event_json(line: &Line<'_>, fields: &Map<String, Value>, reading: &mut Reading<'_>) -> Option<&'static str> {
    // containerd: `{"topic":"/tasks/paused","event":{"container_id":…}}`.
    if let Some(topic) = fields
        .get("topic")
        .or_else(|| fields.get("Topic"))
        .and_then(Value::as_str)
    {
        let event = fields.get("event").or_else(|| fields.get("Event"));
        let id = event
            .and_then(|event| event.get("container_id"))
            .and_then(Value::as_str)
            .map(Arc::from);
        let what = match topic {
            "/tasks/paused" => "pause",
            "/tasks/resumed" => "unpause",
            "/tasks/oom" => "oom",
            "/tasks/exit" => "die",
            "/tasks/start" => "start",
            _ => return Some("containerd-events"),
        };
        action(line, what, id, &|_| None, reading);
        return Some("containerd-events");
    }
    let what = fields.get("Action").and_then(Value::as_str)?;
    let kind = fields.get("Type").and_then(Value::as_str)?;
    let actor = fields.get("Actor")?;
    if kind != "container" {
        return Some(BY);
    }
    let attributes = actor.get("Attributes");
    let attribute = |name: &str| {
        attributes
            .and_then(|all| all.get(name))
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let name = attribute("name")
        .or_else(|| actor.get("ID").and_then(Value::as_str).map(str::to_owned))
        .map(Arc::from);
    action(line, what, name, &attribute, reading);
    Some(BY)
}

/// `docker inspect`, whole or its `.State`.
fn inspect(line: &Line<'_>, fields: &Map<String, Value>, reading: &mut Reading<'_>) -> Option<&'static str> {
    let state = match fields.get("State") {
        Some(Value::Object(state)) => state,
        _ => fields,
    };
    let paused = state.get("Paused").and_then(Value::as_bool)?;
    let oom = state.get("OOMKilled").and_then(Value::as_bool)?;
    let name = fields
        .get("Name")
        .and_then(Value::as_str)
        .map(|name| Arc::from(name.trim_start_matches('/')));
    let mut at = line.clone();
    at.when = None;
    if paused {
        let how = reading.name("docker paused");
        say(
            &at,
            name.clone(),
            StampMeans::Observed,
            ProcessSays::Paused { how },
            reading,
        );
    }
    let mut stamp = |field: &str| {
        let (stamp, _) = written::iso(state.get(field)?.as_str()?.as_bytes())?;
        reading.stamps.calendar(&stamp)
    };
    let (started, finished) = (stamp("StartedAt"), stamp("FinishedAt"));
    if started.is_some() {
        at.when = started;
        say(&at, name.clone(), StampMeans::Start, ProcessSays::Started, reading);
    }
    if finished.is_some() {
        at.when = finished;
        if oom {
            let says = ProcessSays::OutOfMemory {
                command: None,
                own_limit: Some(true),
                cgroup: None,
            };
            say(&at, name.clone(), StampMeans::End, says, reading);
        }
        let status = state
            .get("ExitCode")
            .and_then(Value::as_i64)
            .and_then(|status| i32::try_from(status).ok());
        say(&at, name, StampMeans::End, ProcessSays::Exited { status }, reading);
    }
    Some("docker-inspect")
}

/// The daemon's own log.
fn daemon(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    let message = between(text, "msg=\"", "\" ")
        .or_else(|| between(text, "msg=\"", "\""))
        .or_else(|| after(text, "msg=").map(word))?;
    if let Some(topic) = super::scan::field(text, "topic") {
        let id = super::scan::field(text, "container").map(Arc::from);
        let what = match topic {
            "/tasks/paused" => "pause",
            "/tasks/resumed" => "unpause",
            "/tasks/oom" => "oom",
            _ => return Some("dockerd-log"),
        };
        action(line, what, id, &|_| None, reading);
    } else if has(message, "shim disconnected") || has(message, "cleaning up after shim disconnected") {
        let id = super::scan::field(text, "id").map(Arc::from);
        say(
            line,
            id,
            StampMeans::Emitted,
            ProcessSays::Exited { status: None },
            reading,
        );
    }
    // logfmt is many programs' way: only what names docker's parts is its log.
    [
        "containerd",
        "docker",
        "module=libcontainerd",
        "module=grpc",
        "shim",
        "API listen",
        "Loading containers",
        "loading plugin",
        "kernel does not support",
        "Daemon",
    ]
    .iter()
    .any(|part| has(text, part))
    .then_some("dockerd-log")
}
