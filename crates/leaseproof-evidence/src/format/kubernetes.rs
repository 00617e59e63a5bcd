//! Kubernetes: events and leases as JSON, the kubelet's words.

use super::scan::{after, go_span, has};
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{MachineSays, OwnerSays, ProcessSays, Says, Setting, SettingName, StoreSays};
use crate::stamp::written;
use crate::when::{StampMeans, When};
use leaseproof_model::name::Token;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

const BY: &str = "kubernetes-events";

/// Reads a line.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    if let Some(fields) = &line.fields {
        return match fields.get("kind").and_then(Value::as_str) {
            Some("Event") => event(line, fields, reading),
            Some("Lease") => lease(line, fields, reading),
            _ => None,
        };
    }
    let text = line.text.as_ref();
    if let Some(rest) = after(text, "pleg was last seen active ") {
        let lasted = go_span(rest).map(|(span, _)| span);
        let what = reading.name("PLEG is not healthy");
        let says = Says::Machine(MachineSays::NodeUnwell { lasted, what });
        reading.say(line, SourceKind::Container, "kubelet", StampMeans::End, says);
        return Some("kubelet");
    }
    None
}

fn stamp(fields: &Map<String, Value>, name: &str, reading: &mut Reading<'_>) -> Option<When> {
    let (stamp, _) = written::iso(fields.get(name)?.as_str()?.as_bytes())?;
    reading.stamps.calendar(&stamp)
}

/// An event. Repeats are folded into one: the first and the last are all the times there are.
fn event(line: &Line<'_>, fields: &Map<String, Value>, reading: &mut Reading<'_>) -> Option<&'static str> {
    let reason = fields.get("reason").and_then(Value::as_str)?;
    let message = fields.get("message").and_then(Value::as_str).unwrap_or_default();
    let object = fields.get("involvedObject").or_else(|| fields.get("regarding"));
    let name = object
        .and_then(|object| object.get("name"))
        .and_then(Value::as_str)
        .map(Arc::from);
    let first = stamp(fields, "eventTime", reading).or_else(|| stamp(fields, "firstTimestamp", reading));
    let last = stamp(fields, "lastTimestamp", reading).filter(|last| Some(*last) != first);
    for when in [first, last].into_iter().flatten() {
        let mut line = line.clone();
        line.when = Some(when);
        line.author.container.clone_from(&name);
        let why = reading.name(message);
        let says = match reason {
            "OOMKilling" | "OOMKilled" => Says::Process(ProcessSays::OutOfMemory {
                command: None,
                own_limit: None,
                cgroup: None,
            }),
            "Killing" | "Evicted" | "Preempted" => Says::Process(ProcessSays::Killed { signal: None, why }),
            "Unhealthy" => Says::Process(ProcessSays::Unhealthy { why }),
            "Started" => Says::Process(ProcessSays::Started),
            "BackOff" => Says::Process(ProcessSays::Exited { status: None }),
            "NodeNotReady" | "NodeHasInsufficientMemory" => Says::Machine(MachineSays::NodeUnwell {
                lasted: None,
                what: why,
            }),
            "LeaderElection" if has(message, "became leader") => Says::Owner(OwnerSays::Acquired {
                key: name.clone(),
                holder: message.split(' ').next().map(Arc::from),
                token: None,
                ttl: None,
            }),
            "LeaderElection" if has(message, "stopped leading") => Says::Owner(OwnerSays::Lost {
                key: name.clone(),
                token: None,
                why,
            }),
            _ => continue,
        };
        reading.say(&line, SourceKind::Container, BY, StampMeans::Emitted, says);
    }
    Some(BY)
}

/// A lease: its times are the *holder's* wall clock.
fn lease(line: &Line<'_>, fields: &Map<String, Value>, reading: &mut Reading<'_>) -> Option<&'static str> {
    let Some(Value::Object(spec)) = fields.get("spec") else {
        return None;
    };
    let name = fields
        .get("metadata")
        .and_then(|about| about.get("name"))
        .and_then(Value::as_str)
        .unwrap_or_default();
    let key = reading.name(name);
    let holder: Option<Arc<str>> = spec
        .get("holderIdentity")
        .and_then(Value::as_str)
        .filter(|holder| !holder.is_empty())
        .map(Arc::from);
    let token = spec.get("leaseTransitions").and_then(Value::as_u64).map(Token);
    let ttl = spec
        .get("leaseDurationSeconds")
        .and_then(Value::as_u64)
        .map(Duration::from_secs);
    let mut at = line.clone();
    at.when = stamp(spec, "acquireTime", reading);
    if at.when.is_some() {
        let says = StoreSays::Granted {
            key: Arc::clone(&key),
            holder: holder.clone(),
            token,
            ttl,
            until: None,
        };
        reading.say(
            &at,
            SourceKind::Store,
            "kubernetes-lease",
            StampMeans::Emitted,
            Says::Store(says),
        );
    }
    at.when = stamp(spec, "renewTime", reading);
    if at.when.is_some() {
        let says = StoreSays::RenewalApplied {
            key: Arc::clone(&key),
            sender: holder,
            ttl,
            until: None,
        };
        reading.say(
            &at,
            SourceKind::Store,
            "kubernetes-lease",
            StampMeans::Emitted,
            Says::Store(says),
        );
    }
    if let Some(value) = ttl {
        let setting = Setting {
            name: SettingName::Ttl,
            value,
            of: Some(key),
        };
        reading.say(
            line,
            SourceKind::Store,
            "kubernetes-lease",
            StampMeans::Observed,
            Says::Setting(setting),
        );
    }
    Some("kubernetes-lease")
}
