//! Redis' and Sentinel's own log.

use super::scan::{after, go_span, has, number, span, whole, word};
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{MoveKind, Says, StoreSays};
use crate::when::StampMeans;

const BY: &str = "redis-log";

/// Texts that say how the store moved.
const MOVES: &[(&str, MoveKind)] = &[
    ("+switch-master ", MoveKind::Failover),
    ("+sdown ", MoveKind::MemberDown),
    ("+odown ", MoveKind::MemberDown),
    ("+convert-to-slave ", MoveKind::Demoted),
    ("MASTER MODE enabled", MoveKind::Failover),
    ("Failover election won", MoveKind::Failover),
    ("Failover auth granted to", MoveKind::Failover),
    ("Start of election delayed", MoveKind::LeaderLost),
    ("REPLICAOF ", MoveKind::Demoted),
    ("Connecting to MASTER ", MoveKind::Demoted),
    ("Before turning into a replica", MoveKind::Demoted),
    ("Partial resynchronization not accepted", MoveKind::WritesDropped),
    ("Unable to partial resync with replica", MoveKind::WritesDropped),
    ("Full resync from master", MoveKind::WritesDropped),
    ("MASTER <-> REPLICA sync: Flushing old data", MoveKind::WritesDropped),
    ("Received SIGTERM scheduling shutdown", MoveKind::Stopped),
    ("User requested shutdown", MoveKind::Stopped),
    ("Redis is now ready to exit", MoveKind::Stopped),
    ("Ready to accept connections", MoveKind::Started),
    ("Redis is starting", MoveKind::Started),
    ("Server initialized", MoveKind::Started),
];

/// Texts about the disk and about snapshots.
const PERSISTENCE: &[&str] = &[
    "Asynchronous AOF fsync is taking too long",
    "Background saving",
    "Background AOF rewrite",
    "Background append only file rewriting",
    "Fork CoW for",
    "Synchronous AOF fsync",
    "DB loaded from",
    "DB saved on disk",
    "Loading RDB produced",
    "Can't save in background",
    "Error writing to the AOF",
];

/// Reads a line of Redis' log.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    if !line.layers.0.contains(&"redis-log") {
        return None;
    }
    let text = line.text.as_ref();
    // The letter before the date: what the process is at that time.
    if let Some(role) = line.raw.split_once(':').and_then(|(_, rest)| rest.chars().next()) {
        let role = match role {
            'M' => "master",
            'S' => "replica",
            'X' => "sentinel",
            _ => "child",
        };
        if role != "child" && reading.state.redis_tool.role != Some(role) && !has(line.raw, ":signal-handler") {
            reading.state.redis_tool.role = Some(role);
            let role = reading.name(role);
            say(line, reading, StoreSays::Role { role });
        }
    }
    if let Some((_, kind)) = MOVES.iter().find(|(begin, _)| has(text, begin)) {
        let what = reading.name(text);
        let term = after(text, "offset for second ID was ")
            .and_then(whole)
            .map(|(offset, _)| offset);
        say(
            line,
            reading,
            StoreSays::Moved {
                kind: *kind,
                what,
                term,
            },
        );
    } else if PERSISTENCE.iter().any(|begin| has(text, begin)) {
        let took = after(text, "from append only file: ")
            .or_else(|| after(text, "from disk: "))
            .and_then(number)
            .and_then(|(seconds, _)| span(seconds, 1e9));
        let what = reading.name(text);
        say(line, reading, StoreSays::Persistence { took, what });
    } else if text.starts_with("+tilt") {
        let what = reading.name(text);
        say(line, reading, StoreSays::Stalled { took: None, what });
    } else if has(text, "MASTER timeout: no data nor PING received")
        || has(text, "Timeout connecting to the MASTER")
        || has(text, "Connection with replica")
        || has(text, "Connection with master lost")
        || has(text, "Disconnecting timedout")
    {
        let id = reading.name(text);
        say(line, reading, StoreSays::ClientSilent { id, lasted: None });
    } else if has(text, "evicted") && has(text, "key") {
        let what = reading.name(text);
        say(
            line,
            reading,
            StoreSays::Moved {
                kind: MoveKind::Eviction,
                what,
                term: None,
            },
        );
    } else if let Some((took, _)) = after(text, "loop took ").and_then(go_span) {
        let what = reading.name(word(text));
        say(line, reading, StoreSays::Stalled { took: Some(took), what });
    }
    Some(BY)
}

fn say(line: &Line<'_>, reading: &mut Reading<'_>, says: StoreSays) {
    reading.say(line, SourceKind::Store, BY, StampMeans::Emitted, Says::Store(says));
}
