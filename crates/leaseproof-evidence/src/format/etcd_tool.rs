//! What etcdctl prints: leases, watches, reads. It has no stamps but those of whoever recorded it.

use super::etcd_log::whole_of;
use super::scan::{after, between, whole, word};
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{Says, Setting, SettingName, StoreSays};
use crate::when::StampMeans;
use base64::Engine;
use leaseproof_model::name::Token;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

const BY: &str = "etcdctl";

/// Lines of a watch that belong together.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// `PUT` or `DELETE`, waiting for its key.
    event: Option<&'static str>,
    /// How many lines after the event may be its: key, value, and both as they were before.
    left: u8,
    /// Fields of a `-w fields` answer.
    fields: Map<String, Value>,
}

fn text_of(value: Option<&Value>) -> Option<String> {
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(value?.as_str()?)
        .ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn store(line: &Line<'_>, says: StoreSays, reading: &mut Reading<'_>) {
    reading.say(line, SourceKind::Store, BY, StampMeans::Observed, Says::Store(says));
}

/// Reads a line.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    if let Some(fields) = &line.fields {
        return json(line, fields, reading);
    }
    let text = line.text.trim();
    if let Some(rest) = text.strip_prefix("lease ") {
        let (id, said) = rest.split_once(' ')?;
        if id.len() < 8 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        return lease(line, id, said, reading);
    }
    if text == "Error: etcdserver: requested lease not found" || text.starts_with("Error: etcdserver: ") {
        let (key, why) = (reading.name(""), reading.name(text));
        store(line, StoreSays::Refused { key, why, sender: None }, reading);
        return Some(BY);
    }
    if let Some((name, value)) = text.strip_prefix('"').and_then(|text| text.split_once("\" : ")) {
        let name = name.to_owned();
        let value = serde_json::from_str::<Value>(value).ok()?;
        reading.state.etcd.fields.insert(name, value);
        return fields(line, reading);
    }
    if text.starts_with("etcd_debugging_")
        || text.starts_with("etcd_server_")
        || text.starts_with("etcd_disk_")
        || text.starts_with("# HELP etcd_")
        || text.starts_with("# TYPE etcd_")
    {
        return metric(line, text, reading);
    }
    watch(line, text, reading)
}

/// `77c9… granted with TTL(6s), remaining(5s), attached keys([locks/orders])`, and the other sentences of a lease.
fn lease(line: &Line<'_>, id: &str, said: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    let id = reading.name(id);
    let seconds = |text: &str| whole(text).map(|(seconds, _)| Duration::from_secs(seconds));
    if said.starts_with("granted with TTL(") {
        let ttl = after(said, "TTL(").and_then(seconds);
        match after(said, "remaining(").and_then(seconds) {
            Some(left) => {
                let keys = between(said, "attached keys([", "])").unwrap_or_default();
                let keys: Vec<Arc<str>> = keys
                    .split(' ')
                    .filter(|key| !key.is_empty())
                    .map(|key| reading.name(key))
                    .collect();
                for key in if keys.is_empty() { vec![Arc::clone(&id)] } else { keys } {
                    let says = StoreSays::Held {
                        key,
                        holder: Some(Arc::clone(&id)),
                        token: None,
                        left: Some(left),
                    };
                    store(line, says, reading);
                }
            }
            None => store(
                line,
                StoreSays::SessionOpened {
                    id: Arc::clone(&id),
                    timeout: ttl,
                },
                reading,
            ),
        }
        if let Some(value) = ttl {
            let setting = Setting {
                name: SettingName::Ttl,
                value,
                of: Some(id),
            };
            reading.say(
                line,
                SourceKind::Store,
                BY,
                StampMeans::Observed,
                Says::Setting(setting),
            );
        }
    } else if said.starts_with("already expired") || said.starts_with("expired or revoked") {
        store(line, StoreSays::SessionExpired { id, timeout: None }, reading);
    } else if let Some(ttl) = after(said, "keepalived with TTL(").and_then(seconds) {
        let says = StoreSays::RenewalApplied {
            key: id,
            sender: None,
            ttl: Some(ttl),
            until: None,
        };
        store(line, says, reading);
    } else if said.starts_with("revoked") {
        store(line, StoreSays::SessionClosed { id }, reading);
    } else {
        return None;
    }
    Some(BY)
}

/// `-w fields`: a field a line. What is known is said with the last of them.
fn fields(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    let known = &reading.state.etcd.fields;
    let of = |name: &str| whole_of(known.get(name));
    let key = known.get("Key").and_then(Value::as_str).map(str::to_owned);
    if let (Some(key), Some(created), Some(lease), true) =
        (&key, of("CreateRevision"), of("Lease"), known.contains_key("Count"))
    {
        let says = StoreSays::Held {
            key: key.as_str().into(),
            holder: (lease != 0).then(|| format!("{lease:x}").into()),
            token: u64::try_from(created).ok().map(Token),
            left: None,
        };
        store(line, says, reading);
        reading.state.etcd.fields.clear();
    } else if let (Some(ttl), Some(granted), Some(id)) = (of("TTL"), of("GrantedTTL"), of("ID")) {
        lease_left(line, id, ttl, granted, reading);
        reading.state.etcd.fields.clear();
    }
    Some("etcdctl-fields")
}

fn lease_left(line: &Line<'_>, id: i64, ttl: i64, granted: i64, reading: &mut Reading<'_>) {
    let id: Arc<str> = format!("{id:x}").into();
    if ttl < 0 {
        return store(line, StoreSays::SessionExpired { id, timeout: None }, reading);
    }
    let seconds = |value: i64| Duration::from_secs(value.unsigned_abs());
    let says = StoreSays::Held {
        key: Arc::clone(&id),
        holder: Some(Arc::clone(&id)),
        token: None,
        left: Some(seconds(ttl)),
    };
    store(line, says, reading);
    let setting = Setting {
        name: SettingName::Ttl,
        value: seconds(granted),
        of: Some(id),
    };
    reading.say(
        line,
        SourceKind::Store,
        BY,
        StampMeans::Observed,
        Says::Setting(setting),
    );
}

/// `-w json`.
fn json(line: &Line<'_>, fields: &Map<String, Value>, reading: &mut Reading<'_>) -> Option<&'static str> {
    if let (Some(Value::Array(events)), Some(_)) = (fields.get("Events"), fields.get("Header")) {
        for event in events {
            let Some(kv) = event.get("kv") else { continue };
            let Some(key) = text_of(kv.get("key")) else { continue };
            if reading
                .options
                .key
                .as_ref()
                .is_some_and(|wanted| !key.contains(wanted.as_str()))
            {
                continue;
            }
            let index = whole_of(kv.get("mod_revision")).and_then(|index| u64::try_from(index).ok());
            let says = match event.get("type").and_then(Value::as_u64) {
                Some(1) => StoreSays::Deleted {
                    key: key.into(),
                    by: None,
                    index,
                },
                // A missing type is a put.
                _ => StoreSays::Granted {
                    key: key.into(),
                    holder: whole_of(kv.get("lease"))
                        .map(|lease| format!("{lease:x}").into())
                        .or_else(|| text_of(kv.get("value")).map(Arc::from)),
                    token: whole_of(kv.get("create_revision"))
                        .and_then(|revision| u64::try_from(revision).ok())
                        .map(Token),
                    ttl: None,
                    until: None,
                },
            };
            store(line, says, reading);
        }
        return Some("etcdctl-watch");
    }
    if let (Some(ttl), Some(granted), Some(id)) = (
        whole_of(fields.get("ttl")),
        whole_of(fields.get("granted-ttl")),
        whole_of(fields.get("id")),
    ) {
        lease_left(line, id, ttl, granted, reading);
        return Some(BY);
    }
    if let (Some(id), Some(ttl), Some(_)) = (
        whole_of(fields.get("ID")),
        whole_of(fields.get("TTL")),
        fields.get("cluster_id"),
    ) {
        let timeout = Some(Duration::from_secs(ttl.unsigned_abs()));
        let id = format!("{id:x}").into();
        store(line, StoreSays::SessionOpened { id, timeout }, reading);
        return Some(BY);
    }
    if let (Some(Value::Array(kvs)), Some(_)) = (fields.get("kvs"), fields.get("header")) {
        for kv in kvs {
            let Some(key) = text_of(kv.get("key")) else { continue };
            let says = StoreSays::Held {
                key: key.into(),
                holder: whole_of(kv.get("lease")).map(|lease| format!("{lease:x}").into()),
                token: whole_of(kv.get("create_revision"))
                    .and_then(|revision| u64::try_from(revision).ok())
                    .map(Token),
                left: None,
            };
            store(line, says, reading);
        }
        return Some(BY);
    }
    let status = fields.get("Status")?;
    let header = status.get("header")?;
    let (leader, member) = (
        whole_of_unsigned(status.get("leader")),
        whole_of_unsigned(header.get("member_id")),
    );
    let role = reading.name(if leader == member { "leader" } else { "follower" });
    store(line, StoreSays::Role { role }, reading);
    Some("etcdctl-status")
}

fn whole_of_unsigned(value: Option<&Value>) -> Option<u64> {
    value?.as_u64()
}

fn metric(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    let (name, value) = text.rsplit_once(' ')?;
    let wanted = [
        "lease_granted_total",
        "lease_revoked_total",
        "lease_renewed_total",
        "lease_expired_total",
        "leader_changes_seen_total",
        "heartbeat_send_failures_total",
    ];
    if wanted.iter().any(|end| name.ends_with(end))
        && let Ok(value) = value.parse::<i64>()
    {
        let name = reading.name(name);
        store(line, StoreSays::Counter { name, value }, reading);
    }
    Some("etcd-metrics")
}

/// `etcdctl watch`: `PUT` or `DELETE`, the key, the value; with `--prev-kv` the previous key and value, unmarked.
fn watch(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    let state = &mut reading.state.etcd;
    match text {
        "PUT" => (state.event, state.left) = (Some("put"), 5),
        "DELETE" => (state.event, state.left) = (Some("delete"), 5),
        _ => {
            if state.left == 0 || !line.continued {
                return None;
            }
            state.left -= 1;
            let event = state.event.take();
            if let Some(event) = event
                && reading
                    .options
                    .key
                    .as_ref()
                    .is_none_or(|wanted| text.contains(wanted.as_str()))
            {
                let key = reading.name(word(text));
                let says = match event {
                    "delete" => StoreSays::Deleted {
                        key,
                        by: None,
                        index: None,
                    },
                    _ => StoreSays::Granted {
                        key,
                        holder: None,
                        token: None,
                        ttl: None,
                        until: None,
                    },
                };
                store(line, says, reading);
            }
        }
    }
    Some("etcdctl-watch")
}
