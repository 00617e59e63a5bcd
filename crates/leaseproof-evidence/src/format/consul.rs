//! Consul: the agent's log, and answers of its HTTP API.

use super::scan::{after, between, field, has, word};
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{MoveKind, Says, Setting, SettingName, StoreSays};
use crate::stamp::written;
use crate::when::StampMeans;
use leaseproof_model::name::Token;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

const BY: &str = "consul-log";

fn store(line: &Line<'_>, by: &'static str, means: StampMeans, says: StoreSays, reading: &mut Reading<'_>) {
    reading.say(line, SourceKind::Store, by, means, Says::Store(says));
}

/// Reads a line.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    if let Some(fields) = &line.fields
        && let Some(name) = answer(line, fields, reading)
    {
        return Some(name);
    }
    let text = line.text.as_ref();
    let hclog = line.field("@module").is_some();
    let ours = hclog || text.starts_with("agent") || text.starts_with("consul") || has(text, "agent.server");
    if line.continued || !ours {
        return (line.continued && line.layers.0[0].is_empty() && text.starts_with("==> ") && has(text, "onsul"))
            .then_some(BY);
    }
    let value = |name: &str| line.field(name).or_else(|| field(text, name));
    if has(text, "Session TTL expired") || (has(text, "Session ") && has(text, " TTL expired")) {
        let id = value("session").or_else(|| between(text, "Session ", " TTL"))?;
        let id = reading.name(id);
        store(
            line,
            BY,
            StampMeans::Emitted,
            StoreSays::SessionExpired { id, timeout: None },
            reading,
        );
    } else if has(text, "Rejecting lock of key due to lock-delay") {
        let key = reading.name(value("key").unwrap_or_default());
        // The end of the delay, on two clocks of the server: it is an anchor as well.
        if let Some(at) = value("expire_time")
            && let Some((stamp, used)) = written::iso(at.as_bytes())
            && let Some(wall) = reading.stamps.calendar(&stamp)
            && let Some((nanos, unit, _)) = at
                .get(used..)
                .and_then(|rest| rest.strip_prefix(" m=+"))
                .and_then(|rest| written::seconds(rest.as_bytes()))
        {
            let mono = crate::stamp::counted(crate::when::Domain::Proc, nanos, unit);
            reading.anchor(line, wall, mono);
        }
        let why = reading.name("lock-delay");
        store(
            line,
            BY,
            StampMeans::Emitted,
            StoreSays::Refused { key, why, sender: None },
            reading,
        );
    } else if has(text, "Request finished") {
        let (method, url) = (value("method")?, value("url")?);
        let sender = value("from").map(Arc::from);
        request(line, method, url, sender, reading);
    } else if let Some(kind) = moved(text) {
        let what = reading.name(text);
        let says = StoreSays::Moved { kind, what, term: None };
        store(line, BY, StampMeans::Emitted, says, reading);
    }
    Some(BY)
}

/// Whether a member went away, or the leadership changed.
fn moved(text: &str) -> Option<MoveKind> {
    let any = |words: &[&str]| words.iter().any(|word| has(text, word));
    if any(&["EventMemberFailed", "EventMemberReap"]) {
        Some(MoveKind::MemberDown)
    } else if any(&["cluster leadership acquired", "New leader elected", "election won"]) {
        Some(MoveKind::LeaderElected)
    } else if any(&["cluster leadership lost", "entering candidate state"]) {
        Some(MoveKind::LeaderLost)
    } else {
        None
    }
}

/// The agent's debug line for each request of its HTTP API.
fn request(line: &Line<'_>, method: &str, url: &str, sender: Option<Arc<str>>, reading: &mut Reading<'_>) {
    let path = url.split('?').next().unwrap_or(url);
    if let Some(id) = path.strip_prefix("/v1/session/renew/") {
        let key = reading.name(id);
        store(
            line,
            BY,
            StampMeans::End,
            StoreSays::RenewalAsked { key, sender },
            reading,
        );
    } else if let Some(id) = path.strip_prefix("/v1/session/destroy/") {
        let key = reading.name(id);
        store(
            line,
            BY,
            StampMeans::End,
            StoreSays::DeleteAsked { key, sender },
            reading,
        );
    } else if let Some(key) = path.strip_prefix("/v1/kv/").filter(|_| method == "PUT") {
        if reading
            .options
            .key
            .as_ref()
            .is_some_and(|wanted| !key.contains(wanted.as_str()))
        {
            return;
        }
        let key = reading.name(key);
        if let Some(session) = after(url, "acquire=") {
            let holder = Some(reading.name(word(session)));
            let says = StoreSays::Asked {
                key,
                holder,
                ttl: None,
                sender,
            };
            store(line, BY, StampMeans::End, says, reading);
        } else if has(url, "release=") {
            store(
                line,
                BY,
                StampMeans::End,
                StoreSays::DeleteAsked { key, sender },
                reading,
            );
        }
    }
}

/// Answers: a session, a key.
fn answer(line: &Line<'_>, fields: &Map<String, Value>, reading: &mut Reading<'_>) -> Option<&'static str> {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    if let (Some(id), Some(delay)) = (text("ID"), fields.get("LockDelay").and_then(Value::as_u64)) {
        let id = reading.name(id);
        // `10s`, as Go writes spans; nanoseconds for the delay.
        let ttl = text("TTL").and_then(super::scan::go_span).map(|(ttl, _)| ttl);
        store(
            line,
            "consul-http",
            StampMeans::Observed,
            StoreSays::SessionOpened {
                id: Arc::clone(&id),
                timeout: ttl,
            },
            reading,
        );
        for (name, value) in [
            (SettingName::TtlAsked, ttl),
            (SettingName::LockDelay, Some(Duration::from_nanos(delay))),
        ] {
            if let Some(value) = value {
                let setting = Setting {
                    name,
                    value,
                    of: Some(Arc::clone(&id)),
                };
                reading.say(
                    line,
                    SourceKind::Store,
                    "consul-http",
                    StampMeans::Observed,
                    Says::Setting(setting),
                );
            }
        }
        return Some("consul-http");
    }
    if let (Some(key), Some(index)) = (text("Key"), fields.get("LockIndex").and_then(Value::as_u64)) {
        let says = StoreSays::Held {
            key: key.into(),
            holder: text("Session").map(Arc::from),
            token: Some(Token(index)),
            left: None,
        };
        store(line, "consul-http", StampMeans::Observed, says, reading);
        return Some("consul-http");
    }
    let only_id = fields.len() == 1 && text("ID").is_some_and(|id| id.len() == 36);
    only_id.then_some("consul-http")
}
