//! ZooKeeper's server and Java client, in their own log (log4j, and any envelope around it).

use super::scan::{after, between, has, number, span, whole, word};
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{MoveKind, OwnerSays, RuntimeSays, Says, Setting, SettingName, StoreSays};
use crate::when::StampMeans;
use std::sync::Arc;
use std::time::Duration;

const SERVER: &str = "zookeeper-server";
const CLIENT: &str = "zookeeper-client";

fn ms(text: &str) -> Option<Duration> {
    whole(text).map(|(ms, _)| Duration::from_millis(ms))
}

/// A session's id as the log has it: `0x100000b73fb0001`.
fn session(text: &str, needle: &str) -> Option<Arc<str>> {
    let id = word(after(text, needle)?).trim_end_matches(['.', ':', ',']);
    id.starts_with("0x").then(|| Arc::from(id))
}

/// Reads a line.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    let text = line.text.as_ref();
    if line.continued {
        return below(line, text, reading);
    }
    server(line, text, reading)
        .or_else(|| client(line, text, reading))
        .or_else(|| {
            // Lines of the two that say nothing here still are of them: classes that only they have.
            [
                "ClientCnxn",
                "ZooKeeperServer",
                "NIOServerCnxn",
                "PrepRequestProcessor",
                "FinalRequestProcessor",
                "SessionTrackerImpl",
                "QuorumPeer",
            ]
            .iter()
            .any(|class| has(line.raw, class))
            .then_some("zookeeper")
        })
}

/// Lines of a stack trace: the exception often stands only here.
fn below(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    let exception = text.trim_start().trim_start_matches("Caused by: ");
    if !exception.starts_with("org.apache.zookeeper.") {
        return text
            .trim_start()
            .starts_with("at org.apache.zookeeper.")
            .then_some(CLIENT);
    }
    if let Some(path) = after(exception, "KeeperErrorCode = Session expired") {
        let why = reading.name(&format!("Session expired{path}"));
        owner(
            line,
            StampMeans::Emitted,
            OwnerSays::SessionLost { session: None, why },
            reading,
        );
    } else if let Some(path) = after(exception, "KeeperErrorCode = ConnectionLoss") {
        let why = reading.name(&format!("ConnectionLoss{path}"));
        owner(line, StampMeans::Emitted, OwnerSays::Disconnected { why }, reading);
    }
    Some(CLIENT)
}

fn owner(line: &Line<'_>, means: StampMeans, says: OwnerSays, reading: &mut Reading<'_>) {
    reading.say(line, SourceKind::Owner, CLIENT, means, Says::Owner(says));
}

fn curator(line: &Line<'_>, means: StampMeans, says: OwnerSays, reading: &mut Reading<'_>) {
    reading.say(line, SourceKind::Owner, "curator", means, Says::Owner(says));
}

fn store(line: &Line<'_>, says: StoreSays, reading: &mut Reading<'_>) {
    reading.say(line, SourceKind::Store, SERVER, StampMeans::Emitted, Says::Store(says));
}

fn server(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    if let Some(id) = session(text, "Expiring session ") {
        let timeout = between(text, "timeout of ", " exceeded").and_then(ms);
        store(line, StoreSays::SessionExpired { id, timeout }, reading);
    } else if let Some(id) = session(text, "Invalid session ") {
        let client = between(text, "for client ", ",").map(Arc::from);
        store(line, StoreSays::SessionInvalid { id, client }, reading);
    } else if let Some(id) = session(text, "Established session ") {
        let timeout = after(text, "negotiated timeout ").and_then(ms);
        store(line, StoreSays::SessionOpened { id, timeout }, reading);
    } else if let Some(id) =
        session(text, "Processed session termination for sessionid: ").or_else(|| session(text, "Closing session "))
    {
        store(line, StoreSays::SessionClosed { id }, reading);
    } else if let Some(took) = after(
        text,
        "Detected pause in JVM or host machine (eg GC): pause of approximately ",
    )
    .and_then(ms)
    {
        // Whose pause it is, the file tells: the server's monitor and a client's write the same sentence.
        if has(line.raw, "JvmPauseMonitor") && reading.state.zookeeper.server {
            let what = reading.name("Detected pause in JVM or host machine");
            reading.say(
                line,
                SourceKind::Store,
                SERVER,
                StampMeans::End,
                Says::Store(StoreSays::Stalled { took: Some(took), what }),
            );
        } else {
            let says = Says::Runtime(RuntimeSays::WokeLate { by: took });
            reading.say(line, SourceKind::Runtime, "pause-monitor", StampMeans::End, says);
            return Some("pause-monitor");
        }
    } else if let Some(took) =
        between(text, "fsync-ing the write ahead log in ", "ms").and_then(|text| ms(after(text, "took ")?))
    {
        let what = reading.name("fsync of the write ahead log");
        reading.say(
            line,
            SourceKind::Store,
            SERVER,
            StampMeans::End,
            Says::Store(StoreSays::Persistence { took: Some(took), what }),
        );
    } else if let Some(rest) = after(text, "Created server with tickTime ") {
        reading.state.zookeeper.server = true;
        let tick = ms(rest)?;
        let setting = Setting {
            name: SettingName::Tick,
            value: tick,
            of: None,
        };
        reading.say(
            line,
            SourceKind::Store,
            SERVER,
            StampMeans::Emitted,
            Says::Setting(setting),
        );
    } else if text.starts_with("LEADING")
        || has(text, "LEADING - LEADER ELECTION TOOK")
        || text.starts_with("FOLLOWING")
    {
        let what = reading.name(text);
        let kind = if text.starts_with('L') {
            MoveKind::LeaderElected
        } else {
            MoveKind::Demoted
        };
        store(line, StoreSays::Moved { kind, what, term: None }, reading);
    } else if has(text, "Shutting down") && has(line.raw, "QuorumPeer") || text.starts_with("LOOKING") {
        let what = reading.name(text);
        store(
            line,
            StoreSays::Moved {
                kind: MoveKind::LeaderLost,
                what,
                term: None,
            },
            reading,
        );
    } else if text.starts_with("Processing request:: sessionid:0x") {
        requests(line, text, reading)?;
    } else {
        return None;
    }
    reading.state.zookeeper.server = true;
    Some(SERVER)
}

/// The server's debug lines of requests: pings that renew, and what made or deleted a node.
fn requests(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<()> {
    let id = session(text, "sessionid:")?;
    let kind = word(after(text, " type:")?);
    match kind {
        "ping" => store(
            line,
            StoreSays::RenewalApplied {
                key: id,
                sender: None,
                ttl: None,
                until: None,
            },
            reading,
        ),
        "closeSession" => store(line, StoreSays::SessionClosed { id }, reading),
        "delete" | "deleteContainer" => {
            let path = word(after(text, "reqpath:")?);
            let index = after(text, "zxid:0x").and_then(|zxid| u64::from_str_radix(word(zxid), 16).ok());
            if path != "n/a" {
                let key = reading.name(path);
                store(
                    line,
                    StoreSays::Deleted {
                        key,
                        by: Some(id),
                        index,
                    },
                    reading,
                );
            }
        }
        _ => {}
    }
    Some(())
}

fn client(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    if let Some(lasted) = after(text, "have not heard from server in ").and_then(ms) {
        let session = session(text, "session id ").or_else(|| session(text, "sessionid "));
        owner(
            line,
            StampMeans::End,
            OwnerSays::HeardNothing { session, lasted },
            reading,
        );
    } else if let Some(id) = text
        .contains("Session establishment complete")
        .then(|| session(text, "session id = ").or_else(|| session(text, "sessionid = ")))
        .flatten()
    {
        let timeout = after(text, "negotiated timeout = ").and_then(ms);
        owner(
            line,
            StampMeans::Emitted,
            OwnerSays::SessionOpened { session: id, timeout },
            reading,
        );
    } else if has(text, "Unable to reconnect to ZooKeeper service, session ") {
        let session = session(text, "session ");
        let why = reading.name(text);
        owner(
            line,
            StampMeans::Emitted,
            OwnerSays::SessionLost { session, why },
            reading,
        );
    } else if has(text, "EventThread shut down for session") {
        let session = session(text, "session: ");
        let why = reading.name("EventThread shut down");
        owner(
            line,
            StampMeans::Emitted,
            OwnerSays::SessionLost { session, why },
            reading,
        );
    } else if has(text, "Closing socket connection. Attempting reconnect")
        || has(text, "closing socket connection and attempting reconnect")
    {
        let why = reading.name("closing the connection");
        owner(line, StampMeans::Emitted, OwnerSays::Disconnected { why }, reading);
    } else if let Some(asked) = text
        .contains("Initiating client connection")
        .then(|| after(text, "sessionTimeout=").and_then(ms))
        .flatten()
    {
        let setting = Setting {
            name: SettingName::TtlAsked,
            value: asked,
            of: None,
        };
        reading.say(
            line,
            SourceKind::Owner,
            CLIENT,
            StampMeans::Emitted,
            Says::Setting(setting),
        );
    } else if let Some(id) = session(text, "Got ping response for session id: ")
        .or_else(|| session(text, "Got ping response for sessionid: "))
    {
        owner(
            line,
            StampMeans::Emitted,
            OwnerSays::Renewed {
                key: Some(id),
                token: None,
            },
            reading,
        );
    } else if let Some(state) = after(text, "State change: ") {
        // Curator's words for the connection.
        let state = word(state);
        let why = reading.name(&format!("State change: {state}"));
        match state {
            "SUSPENDED" => curator(line, StampMeans::Emitted, OwnerSays::Disconnected { why }, reading),
            "LOST" => curator(
                line,
                StampMeans::Emitted,
                OwnerSays::SessionLost { session: None, why },
                reading,
            ),
            "RECONNECTED" | "CONNECTED" => curator(line, StampMeans::Emitted, OwnerSays::Reconnected, reading),
            _ => return None,
        }
        return Some("curator");
    } else if has(text, "Session timeout has elapsed while SUSPENDED") {
        let lasted = after(text, "Elapsed ms: ")
            .and_then(number)
            .and_then(|(ms, _)| span(ms, 1e6))?;
        owner(
            line,
            StampMeans::End,
            OwnerSays::HeardNothing { session: None, lasted },
            reading,
        );
        let why = reading.name("Session timeout has elapsed while SUSPENDED");
        owner(
            line,
            StampMeans::Emitted,
            OwnerSays::SessionLost { session: None, why },
            reading,
        );
        return Some("curator");
    } else if has(text, "Session expired event received") {
        let why = reading.name(text);
        owner(
            line,
            StampMeans::Emitted,
            OwnerSays::SessionLost { session: None, why },
            reading,
        );
        return Some("curator");
    } else if has(text, "Connection timed out for connection string (") {
        let why = reading.name("Connection timed out");
        owner(line, StampMeans::Emitted, OwnerSays::Disconnected { why }, reading);
        return Some("curator");
    } else {
        return None;
    }
    Some(CLIENT)
}
