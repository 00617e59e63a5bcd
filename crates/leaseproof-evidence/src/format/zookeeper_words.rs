//! ZooKeeper's four-letter words: cons, dump, mntr.

use super::scan::{after, whole, word};
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{Says, Setting, SettingName, StoreSays};
use crate::stamp::written;
use crate::when::StampMeans;
use std::sync::Arc;
use std::time::Duration;

const BY: &str = "zookeeper-words";

/// Where in a dump the lines are.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// The file is a server's log.
    pub(crate) server: bool,
    part: Part,
    session: Option<Arc<str>>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
enum Part {
    #[default]
    None,
    Sessions,
    Ephemerals,
    Connections,
}

/// Reads a line.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    if !line.continued || line.fields.is_some() {
        return None;
    }
    let text = line.text.trim();
    let say = |reading: &mut Reading<'_>, says: StoreSays| {
        reading.say(line, SourceKind::Store, BY, StampMeans::Observed, Says::Store(says));
    };
    if let Some(value) = text.strip_prefix("zk_") {
        let (name, value) = value.split_once('\t')?;
        let wanted = [
            "max_jvm_pause_time_ms",
            "max_fsynctime",
            "stale_sessions_expired",
            "connection_drop_count",
            "uptime",
            "global_sessions",
        ];
        if name == "server_state" {
            let role = reading.name(value);
            say(reading, StoreSays::Role { role });
        } else if wanted.contains(&name)
            && let Ok(value) = value.split('.').next().unwrap_or_default().parse()
        {
            let name = reading.name(name);
            say(reading, StoreSays::Counter { name, value });
        }
        return Some(BY);
    }
    if text.starts_with('/') && text.contains("(queued=") {
        if let (Some(id), Some(to)) = (after(text, ",sid="), after(text, ",to=").and_then(whole)) {
            let id = reading.name(word(id));
            let timeout = Some(Duration::from_millis(to.0));
            say(
                reading,
                StoreSays::SessionOpened {
                    id: Arc::clone(&id),
                    timeout,
                },
            );
            reading.say(
                line,
                SourceKind::Store,
                BY,
                StampMeans::Observed,
                Says::Setting(Setting {
                    name: SettingName::Ttl,
                    value: Duration::from_millis(to.0),
                    of: Some(id),
                }),
            );
        }
        return Some(BY);
    }
    match text {
        "SessionTracker dump:" | "ephemeral nodes dump:" | "Connections dump:" => return Some(BY),
        "imok" => return Some(BY),
        _ => {}
    }
    let part = match () {
        () if text.starts_with("Session Sets (") => Some(Part::Sessions),
        () if text.starts_with("Sessions with Ephemerals (") => Some(Part::Ephemerals),
        () if text.starts_with("Connections Sets (") => Some(Part::Connections),
        () => None,
    };
    if let Some(part) = part {
        reading.state.zookeeper.part = part;
        return Some(BY);
    }
    match reading.state.zookeeper.part {
        Part::None => {
            let stat = [
                "Zookeeper version: ",
                "Latency min/avg/max: ",
                "Received: ",
                "Sent: ",
                "Outstanding: ",
                "Zxid: 0x",
                "Mode: ",
                "Node count: ",
                "Connections: ",
                "Clients:",
            ];
            if let Some(mode) = text.strip_prefix("Mode: ") {
                let role = reading.name(mode);
                say(reading, StoreSays::Role { role });
            }
            let watches = text.ends_with(" paths") && text.contains(" connections watching ")
                || text.starts_with("Total watches:");
            (watches || stat.iter().any(|begin| text.starts_with(begin))).then_some(BY)
        }
        Part::Sessions => {
            // `2 expire at Mon Nov 30 02:57:02 UTC 2026:`: a whole second of the server's clock.
            if let Some(at) = after(text, " expire at ") {
                written::ctime(at.as_bytes())?;
                return Some(BY);
            }
            text.starts_with("0x").then_some(BY)
        }
        Part::Ephemerals => {
            if let Some(id) = text.strip_suffix(':').filter(|id| id.starts_with("0x")) {
                reading.state.zookeeper.session = Some(Arc::from(id));
                return Some(BY);
            }
            if text.starts_with('/') {
                let holder = reading.state.zookeeper.session.clone();
                if reading
                    .options
                    .key
                    .as_ref()
                    .is_none_or(|key| text.contains(key.as_str()))
                {
                    let key = reading.name(text);
                    say(
                        reading,
                        StoreSays::Held {
                            key,
                            holder,
                            token: None,
                            left: None,
                        },
                    );
                }
                return Some(BY);
            }
            None
        }
        Part::Connections => (text.starts_with("ip: /") || text.contains(" expire at ")).then_some(BY),
    }
}

/// The file is over.
pub(crate) fn end(reading: &mut Reading<'_>) {
    reading.state.zookeeper = State::default();
}
