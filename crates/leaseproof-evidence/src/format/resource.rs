//! Logs of the protected resource: which write came with which token, and what became of it.

use super::scan::{after, field, has, whole};
use crate::patterns::ResourceLine;
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{Decision, ResourceSays, Says};
use crate::when::StampMeans;
use leaseproof_model::name::Token;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Reads a line.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    let options = reading.options;
    for (kind, pattern) in &options.patterns.resource {
        let Some(found) = pattern.captures(&line.text).or_else(|| pattern.captures(line.raw)) else {
            continue;
        };
        let text = |name: &str| found.name(name).map(|group| group.as_str());
        let decision = match kind {
            ResourceLine::Accepted => Decision::Accepted,
            ResourceLine::Rejected => Decision::Rejected,
            ResourceLine::Write => text("status")
                .or_else(|| text("accepted"))
                .map_or(Decision::Unknown, decision),
        };
        let says = ResourceSays::Write {
            token: text("token").and_then(|token| token.parse().ok()).map(Token),
            decision,
            key: text("key").map(Arc::from),
            sender: text("sender").map(Arc::from),
            serial: text("serial").and_then(|serial| serial.parse().ok()),
        };
        say(line, "plan", says, reading);
        return Some("plan");
    }
    if let Some(fields) = &line.fields {
        return json(line, fields, reading);
    }
    access(line, reading)
}

fn say(line: &Line<'_>, by: &'static str, says: ResourceSays, reading: &mut Reading<'_>) {
    reading.say(
        line,
        SourceKind::Resource,
        by,
        StampMeans::Emitted,
        Says::Resource(says),
    );
}

/// `200`, `409`, `true`, `accepted`.
fn decision(text: &str) -> Decision {
    match text.parse::<u16>() {
        Ok(200..=299) => Decision::Accepted,
        Ok(403 | 409 | 412 | 422 | 423 | 428) => Decision::Rejected,
        Ok(_) => Decision::Unknown,
        Err(_) => match text.to_ascii_lowercase().as_str() {
            "true" | "accepted" | "ok" | "stored" | "applied" | "yes" => Decision::Accepted,
            "false" | "rejected" | "refused" | "stale" | "fenced" | "denied" | "no" => Decision::Rejected,
            _ => Decision::Unknown,
        },
    }
}

/// Whether a path or a name is that of the key that is asked about. A write without a token is one only there.
fn names_key(reading: &Reading<'_>, path: &str) -> bool {
    reading.options.key.as_deref().is_some_and(|key| {
        let last = key.rsplit([':', '/']).next().unwrap_or(key);
        has(path, key) || (last.len() > 3 && has(path, last))
    })
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

/// A JSON line with a token and a decision. The path to the token may be given.
fn json(line: &Line<'_>, fields: &Map<String, Value>, reading: &mut Reading<'_>) -> Option<&'static str> {
    let given = reading.options.patterns.token_path.as_ref().and_then(|path| {
        let mut parts = path.iter();
        let mut at = fields.get(parts.next()?)?;
        for part in parts {
            at = at.get(part)?;
        }
        text_of(at)
    });
    let known = || {
        [
            "token",
            "fencing_token",
            "fencingToken",
            "lease_token",
            "leaseToken",
            "fence",
        ]
        .iter()
        .find_map(|name| text_of(fields.get(*name)?))
    };
    let found = ["accepted", "decision", "status", "result", "outcome", "verdict", "code"]
        .iter()
        .find_map(|name| text_of(fields.get(*name)?));
    let named = |names: &[&str]| -> Option<Arc<str>> {
        names.iter().find_map(|name| text_of(fields.get(*name)?)).map(Arc::from)
    };
    let key = named(&["key", "resource", "path", "object", "uri", "url"]);
    // A request that changes something, to the very thing that the key protects.
    let bare_write = || {
        let method = named(&["method", "verb", "request_method"])?;
        let writes = ["PUT", "POST", "PATCH", "DELETE"].contains(&&*method.to_ascii_uppercase());
        (writes && names_key(reading, key.as_deref()?)).then_some(())
    };
    let (by, token) = match given {
        Some(token) => ("plan", Some(token)),
        None => match known() {
            Some(token) => ("json-write", Some(token)),
            None => {
                bare_write()?;
                ("json-write", None)
            }
        },
    };
    let decision = match &found {
        Some(found) => decision(found),
        None => match line.text.to_ascii_lowercase().as_str() {
            text if text.contains("rejected") || text.contains("refused") || text.contains("stale") => {
                Decision::Rejected
            }
            text if text.contains("accepted") || text.contains("stored") => Decision::Accepted,
            // A token without a decision is an owner's line as well as the resource's: only a given path makes it the latter.
            _ if by == "plan" => Decision::Unknown,
            _ => return None,
        },
    };
    if decision == Decision::Unknown && by != "plan" {
        return None;
    }
    let says = ResourceSays::Write {
        token: token.and_then(|token| token.parse().ok()).map(Token),
        decision,
        key,
        sender: named(&["owner", "sender", "client", "worker", "remote", "remote_addr", "from"]),
        serial: fields
            .get("serial")
            .or_else(|| fields.get("seq"))
            .and_then(Value::as_u64),
    };
    say(line, by, says, reading);
    Some(by)
}

/// An access log with a token in the request or behind it: `"PUT /orders/17?token=7 HTTP/1.1" 409 …`.
fn access(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    let text = line.text.as_ref();
    let request = after(text, "\"PUT ")
        .or_else(|| after(text, "\"POST "))
        .or_else(|| after(text, "\"PATCH "))
        .or_else(|| after(text, "\"DELETE "))?;
    let (request, rest) = request.split_once("\" ")?;
    let path = request.split(' ').next()?;
    let of_query = ["token=", "fencing_token=", "lease_token="]
        .iter()
        .find_map(|name| after(path, name))
        .and_then(whole);
    let of_rest = ["token", "lease_token", "fencing_token"]
        .iter()
        .find_map(|name| field(rest, name))
        .and_then(whole);
    let token = of_query.or(of_rest).map(|(token, _)| Token(token));
    if token.is_none() && !names_key(reading, path) {
        return None;
    }
    let (status, _) = whole(rest.trim_start())?;
    let mut line = line.clone();
    let stamp = after(text, " [").and_then(|rest| crate::stamp::written::access(rest.as_bytes()));
    if let Some((stamp, _)) = stamp
        && let Some(when) = reading.stamps.calendar(&stamp)
    {
        line.when = Some(when);
        line.continued = false;
        reading.cover_only(&line);
    }
    let says = ResourceSays::Write {
        token,
        decision: decision(&status.to_string()),
        key: Some(path.split('?').next().unwrap_or(path).into()),
        sender: field(rest, "owner")
            .or_else(|| {
                text.split(' ')
                    .nth(2)
                    .filter(|user| !matches!(*user, "-" | "") && !user.starts_with('['))
            })
            .or_else(|| text.split(' ').next().filter(|first| first.contains('.')))
            .map(Arc::from),
        serial: None,
    };
    reading.say(
        &line,
        SourceKind::Resource,
        "access-log",
        StampMeans::End,
        Says::Resource(says),
    );
    Some("access-log")
}
