//! etcd's own log: zap JSON, or capnslog before 3.5. It has no line for a lease that expires.

use super::scan::{after, between, go_span, has, whole, word};
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{MoveKind, NetworkSays, Says, StoreSays};
use crate::when::StampMeans;
use serde_json::Value;
use std::time::Duration;

const BY: &str = "etcd-log";

/// Texts that say how leadership moved.
const MOVES: &[(&str, MoveKind)] = &[
    (" lost leader ", MoveKind::LeaderLost),
    (" elected leader ", MoveKind::LeaderElected),
    (" changed leader from ", MoveKind::LeaderElected),
    (" became leader at term", MoveKind::LeaderElected),
    ("stepped down to follower since quorum is not active", MoveKind::Demoted),
    ("leadership transfer", MoveKind::LeaderLost),
    ("closing etcd server", MoveKind::Stopped),
    ("closed etcd server", MoveKind::Stopped),
    ("received signal; shutting down", MoveKind::Stopped),
    ("ready to serve client requests", MoveKind::Started),
    ("starting etcd server", MoveKind::Started),
    ("starting server... [version:", MoveKind::Started),
];

/// Reads a line of etcd's log.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    let zap = line.layers.0.contains(&"zap-json");
    let capnslog = line.layers.0.contains(&"capnslog");
    let raft = line.raw.starts_with("raft2");
    if line.continued || !(zap || capnslog || raft) {
        return None;
    }
    let text = line.text.as_ref();
    let caller = line.field("caller").unwrap_or_default();
    let ours = capnslog
        || raft
        || [
            "etcdserver/",
            "raft/",
            "rafthttp/",
            "embed/",
            "mvcc/",
            "lease/",
            "etcdmain/",
            "membership/",
            "v3rpc/",
            "wal/",
            "snap/",
            "grpclog/",
            "api/",
            "clientv3/",
            "osutil/",
            "auth/",
            "backend/",
            "netutil/",
            "fileutil/",
            "flags/",
            "schedule/",
            "traceutil/",
            "v2store/",
            "zapgrpc/",
            "v3@",
            "probing",
        ]
        .iter()
        .any(|part| caller.starts_with(part) || has(caller, &format!("/{part}")));
    if !ours {
        return None;
    }
    let took = |name: &str| line.field(name).and_then(go_span).map(|(span, _)| span);
    let what = |reading: &mut Reading<'_>| reading.name(text);
    if text.starts_with("leader failed to send out heartbeat on time")
        || has(text, "failed to send out heartbeat on time")
    {
        // Its guess of the disk is not to be believed; the size is.
        let took = took("exceeded-duration").or_else(|| {
            between(text, "exceeded the ", ")")
                .and_then(|text| go_span(after(text, "for ")?))
                .map(|(span, _)| span)
        });
        let what = what(reading);
        say(line, StampMeans::End, StoreSays::Stalled { took, what }, reading);
    } else if text.starts_with("slow fdatasync") {
        let (took, what) = (took("took"), what(reading));
        say(line, StampMeans::End, StoreSays::Persistence { took, what }, reading);
    } else if has(text, "request took too long")
        || has(text, "waiting for ReadIndex response took too long")
        || has(text, "took too long (")
    {
        let took = took("took").or_else(|| {
            between(text, "took too long (", ")")
                .and_then(go_span)
                .map(|(span, _)| span)
        });
        let what = what(reading);
        say(line, StampMeans::End, StoreSays::Stalled { took, what }, reading);
    } else if text == "failed to apply request"
        || has(text, "requested lease not found")
        || has(text, "lease not found")
    {
        let key = line
            .field("request")
            .and_then(|request| between(request, "key:\"", "\""))
            .or_else(|| {
                line.field("request")
                    .and_then(|request| between(request, "lease:", " "))
            })
            .unwrap_or_default();
        let key = reading.name(key);
        let why = reading.name(line.field("error").unwrap_or(text));
        say(
            line,
            StampMeans::Emitted,
            StoreSays::Refused { key, why, sender: None },
            reading,
        );
    } else if text.starts_with("lost TCP streaming connection")
        || text.starts_with("peer became inactive")
        || has(text, "dropped internal Raft message")
    {
        let what = what(reading);
        reading.say(
            line,
            SourceKind::Store,
            BY,
            StampMeans::Emitted,
            Says::Network(NetworkSays::PeerLost { what }),
        );
    } else if has(text, "high clock drift") || text.starts_with("the clock difference against peer") {
        let what = what(reading);
        say(
            line,
            StampMeans::Emitted,
            StoreSays::Stalled { took: None, what },
            reading,
        );
    } else if text == "request stats" {
        request(line, reading);
    } else if let Some((_, kind)) = MOVES.iter().find(|(part, _)| has(text, part)) {
        let term = after(text, "at term ").and_then(whole).map(|(term, _)| term);
        let what = what(reading);
        say(
            line,
            StampMeans::Emitted,
            StoreSays::Moved {
                kind: *kind,
                what,
                term,
            },
            reading,
        );
    } else if let Some(term) = after(text, "became follower at term ").and_then(whole) {
        let what = what(reading);
        say(
            line,
            StampMeans::Emitted,
            StoreSays::Moved {
                kind: MoveKind::Demoted,
                what,
                term: Some(term.0),
            },
            reading,
        );
    }
    Some(BY)
}

/// A debug line for each request: who sent what, and how long it took.
fn request(line: &Line<'_>, reading: &mut Reading<'_>) {
    let Some(kind) = line.field("response type") else {
        return;
    };
    let content = line.field("request content").unwrap_or_default();
    let sender = line.field("remote").map(std::sync::Arc::from);
    let says = match kind.rsplit('/').next().unwrap_or_default() {
        "LeaseGrant" => {
            let ttl = after(content, "TTL:")
                .and_then(whole)
                .map(|(seconds, _)| Duration::from_secs(seconds));
            let key = reading.name(after(content, "ID:").map_or("", word));
            StoreSays::Asked {
                key,
                holder: None,
                ttl,
                sender,
            }
        }
        "LeaseRevoke" => StoreSays::DeleteAsked {
            key: reading.name(after(content, "ID:").map_or("", word)),
            sender,
        },
        "LeaseKeepAlive" => StoreSays::RenewalAsked {
            key: reading.name(after(content, "ID:").map_or("", word)),
            sender,
        },
        _ => return,
    };
    say(line, StampMeans::Emitted, says, reading);
}

fn say(line: &Line<'_>, means: StampMeans, says: StoreSays, reading: &mut Reading<'_>) {
    reading.say(line, SourceKind::Store, BY, means, Says::Store(says));
}

/// A number of JSON, whole: identifiers of 64 bits never go through a float.
pub(super) fn whole_of(value: Option<&Value>) -> Option<i64> {
    let value = value?;
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}
