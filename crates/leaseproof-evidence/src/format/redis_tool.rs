//! What Redis' tools print: INFO, SLOWLOG, CONFIG, CLIENT LIST, keyspace notifications, LATENCY, TIME.

use super::scan::whole;
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{MoveKind, Says, Setting, SettingName, StoreSays};
use crate::stamp::Stamps;
use crate::when::{Domain, Interval, StampMeans, When};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// What is half read.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// The part that the server plays, as last said.
    pub(crate) role: Option<&'static str>,
    /// Inside an INFO, and the section.
    info: bool,
    info_first: u64,
    /// The INFO's own time.
    info_when: Option<When>,
    /// What the INFO said before its time was known.
    waiting: Vec<(u64, Box<str>, StoreSays)>,
    /// Lines of a keyspace notification still to come.
    notice: Vec<String>,
    subscribed: bool,
    /// Numbers and texts of a slow log's entry.
    slow: Option<(u64, Vec<String>, u32)>,
    /// The name before its value: `slowlog-log-slower-than`.
    setting: Option<SettingName>,
}

/// Reads a line of what the tools print.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    if !line.continued && line.fields.is_some() {
        return None;
    }
    let text = line.text.trim();
    if let Some(name) = reading.state.redis_tool.setting.take() {
        return threshold(line, text.trim_matches('"'), name, reading);
    }
    let (first, rest) = text.split_once([' ', '\t']).unwrap_or((text, ""));
    let bare = text
        .trim_start_matches(|c: char| c.is_ascii_digit() || c == ')' || c == ' ')
        .trim_matches('"');
    if bare == "slowlog-log-slower-than" {
        reading.state.redis_tool.setting = Some(SettingName::SlowlogThreshold);
        return Some("redis-config");
    }
    if first == "slowlog-log-slower-than" {
        return threshold(line, rest.trim(), SettingName::SlowlogThreshold, reading);
    }
    if let Some(read) = slow_tree(line, text, reading) {
        return Some(read);
    }
    if first.starts_with("id=") && rest.contains("addr=") && rest.contains(" idle=") {
        return client(line, text, reading);
    }
    if text == "psubscribe" || text == "subscribe" {
        reading.state.redis_tool.subscribed = true;
        return Some("redis-notifications");
    }
    if reading.state.redis_tool.subscribed && line.continued {
        return notification(line, text, reading);
    }
    info(line, text, reading)
}

fn store(line: &Line<'_>, by: &'static str, means: StampMeans, says: StoreSays, reading: &mut Reading<'_>) {
    reading.say(line, SourceKind::Store, by, means, Says::Store(says));
}

fn threshold(line: &Line<'_>, text: &str, name: SettingName, reading: &mut Reading<'_>) -> Option<&'static str> {
    let text = text.trim_start_matches("2) ").trim_matches('"');
    // −1 switches the log off: then nothing at all can be in it.
    let value = if text == "-1" {
        Duration::MAX
    } else {
        Duration::from_micros(whole(text)?.0)
    };
    let value = value.min(Duration::from_secs(u64::from(u32::MAX)));
    reading.say(
        line,
        SourceKind::Store,
        "redis-config",
        StampMeans::Observed,
        Says::Setting(Setting { name, value, of: None }),
    );
    Some("redis-config")
}

/// INFO: `# Section` and `name:value` lines. It has no stamp but the server's own time in one of its sections.
fn info(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    const SECTIONS: [&str; 12] = [
        "# Server",
        "# Clients",
        "# Memory",
        "# Persistence",
        "# Stats",
        "# Replication",
        "# CPU",
        "# Modules",
        "# Commandstats",
        "# Errorstats",
        "# Cluster",
        "# Keyspace",
    ];
    if SECTIONS.contains(&text) {
        reading.state.redis_tool.info = true;
        reading.state.redis_tool.info_first = line.number;
        return Some("redis-info");
    }
    let state = &mut reading.state.redis_tool;
    if !state.info || !line.continued {
        state.info = false;
        return None;
    }
    let (name, value) = text.split_once(':')?;
    if !name
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_' || byte == b'-')
    {
        return None;
    }
    if name == "server_time_usec" {
        let micros: i64 = value.parse().ok()?;
        let at = micros.checked_mul(1000)?;
        let when = epoch(&mut reading.stamps, at, 1000);
        reading.state.redis_tool.info_when = Some(when);
        let mut line = line.clone();
        line.when = Some(when);
        store(
            &line,
            "redis-info",
            StampMeans::Observed,
            StoreSays::Time { wall: at },
            reading,
        );
        return Some("redis-info");
    }
    let says = match name {
        "role" => StoreSays::Role {
            role: value.replace("slave", "replica").into(),
        },
        "expired_keys"
        | "evicted_keys"
        | "aof_delayed_fsync"
        | "latest_fork_usec"
        | "uptime_in_seconds"
        | "master_link_down_since_seconds"
        | "second_repl_offset"
        | "rdb_changes_since_last_save"
        | "sync_full" => StoreSays::Counter {
            name: name.into(),
            value: value.parse().ok()?,
        },
        "master_link_status" | "master_failover_state" if value != "up" && value != "no-failover" => StoreSays::Moved {
            kind: MoveKind::MemberDown,
            what: text.into(),
            term: None,
        },
        _ => return Some("redis-info"),
    };
    reading.state.redis_tool.waiting.push((line.number, text.into(), says));
    if reading.state.redis_tool.waiting.len() > 200 {
        flush_info(reading);
    }
    Some("redis-info")
}

fn epoch(stamps: &mut Stamps, at: i64, unit: i64) -> When {
    stamps.epoch(at, unit)
}

fn flush_info(reading: &mut Reading<'_>) {
    let when = reading.state.redis_tool.info_when;
    for (number, raw, says) in std::mem::take(&mut reading.state.redis_tool.waiting) {
        let line = Line {
            number,
            raw: &raw,
            text: "".into(),
            when,
            other: None,
            author: crate::record::Author::default(),
            fields: None,
            layers: crate::reading::line::Layers::default(),
            continued: true,
        };
        store(&line, "redis-info", StampMeans::Observed, says, reading);
    }
}

/// An empty line ends what is half read.
pub(crate) fn blank(reading: &mut Reading<'_>) {
    if reading.state.redis_tool.subscribed {
        reading.state.redis_tool.notice.clear();
    }
}

/// The file is over.
pub(crate) fn end(reading: &mut Reading<'_>) {
    flush_info(reading);
    flush_slow(reading);
}

/// `redis-cli --no-raw slowlog get`: the numbers in front of each line are the structure.
fn slow_tree(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    let begins = |text: &str| {
        let (entry, rest) = text.split_once(") 1) (integer) ")?;
        (entry.bytes().all(|byte| byte.is_ascii_digit()) && !entry.is_empty()).then_some(rest.to_owned())
    };
    if let Some(id) = begins(text) {
        flush_slow(reading);
        reading.state.redis_tool.slow = Some((line.number, vec![id], 1));
        return Some("redis-slowlog");
    }
    let (_, parts, _) = reading.state.redis_tool.slow.as_mut()?;
    let (place, value) = text.split_once(") ")?;
    let place: u32 = place.parse().ok()?;
    let nested = value.starts_with("1) ");
    let value = value.trim_start_matches("1) ").trim_start_matches("(integer) ");
    if parts.len() < 40 && (place as usize == parts.len() + 1 || nested || parts.len() >= 3) {
        parts.push(value.to_owned());
    }
    Some("redis-slowlog")
}

fn flush_slow(reading: &mut Reading<'_>) {
    let Some((number, parts, _)) = reading.state.redis_tool.slow.take() else {
        return;
    };
    let number_at = |at: usize| parts.get(at).and_then(|text| text.parse::<u64>().ok());
    if let (Some(seconds), Some(micros)) = (number_at(1), number_at(2)) {
        let command = parts.iter().skip(3).cloned().collect::<Vec<_>>().join(" ");
        slow(number, seconds, micros, &command, reading);
    }
}

fn slow(number: u64, seconds: u64, micros: u64, command: &str, reading: &mut Reading<'_>) {
    let Some(at) = i64::try_from(seconds)
        .ok()
        .and_then(|seconds| seconds.checked_mul(1_000_000_000))
    else {
        return;
    };
    let when = When {
        domain: Domain::Wall,
        span: Interval::cut(at, Duration::from_secs(1)),
        resolution: Duration::from_secs(1),
    };
    let raw = format!("{seconds} {micros} {command}");
    let line = Line {
        number,
        raw: &raw,
        text: "".into(),
        when: Some(when),
        other: None,
        author: crate::record::Author::default(),
        fields: None,
        layers: crate::reading::line::Layers::default(),
        continued: true,
    };
    let says = StoreSays::SlowCommand {
        took: Duration::from_micros(micros),
        command: Arc::from(crate::reading::bounded(command).as_ref()),
    };
    store(&line, "redis-slowlog", StampMeans::End, says, reading);
}

/// `redis-cli --json slowlog get`: `[[1,1796007276,15433,["eval",…],"127.0.0.1:47804",""],…]`.
pub(crate) fn slowlog_json(parts: &[Value], around: &Line<'_>, reading: &mut Reading<'_>) -> bool {
    let entry = |part: &Value| -> Option<(u64, u64, String)> {
        let entry = part.as_array()?;
        let command = entry
            .get(3)?
            .as_array()?
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(" ");
        entry.first()?.as_u64()?;
        Some((entry.get(1)?.as_u64()?, entry.get(2)?.as_u64()?, command))
    };
    if parts.is_empty() || !parts.iter().all(|part| entry(part).is_some()) {
        return false;
    }
    for (seconds, micros, command) in parts.iter().filter_map(entry) {
        slow(around.number, seconds, micros, &command, reading);
    }
    true
}

/// `id=3 addr=127.0.0.1:47686 … age=4 idle=0 …`.
fn client(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    let idle = super::scan::field(text, "idle")
        .and_then(whole)
        .map(|(seconds, _)| Duration::from_secs(seconds));
    let id = super::scan::field(text, "addr")?;
    let id = reading.name(id);
    store(
        line,
        "redis-clients",
        StampMeans::Observed,
        StoreSays::ClientSilent { id, lasted: idle },
        reading,
    );
    Some("redis-clients")
}

/// `pmessage`, the pattern, the channel, the payload: a line each, and no time.
fn notification(line: &Line<'_>, text: &str, reading: &mut Reading<'_>) -> Option<&'static str> {
    let state = &mut reading.state.redis_tool;
    if text == "pmessage" || text == "message" {
        state.notice = vec![text.to_owned()];
        return Some("redis-notifications");
    }
    if !state.notice.is_empty() {
        state.notice.push(text.to_owned());
    }
    let wanted = if state.notice.first().is_some_and(|kind| kind == "pmessage") {
        4
    } else {
        3
    };
    if state.notice.len() == wanted {
        let notice = std::mem::take(&mut state.notice);
        if let (Some(channel), Some(key)) = (notice.get(wanted - 2), notice.get(wanted - 1))
            && let Some((_, event)) = channel
                .split_once("__keyevent@")
                .and_then(|(_, rest)| rest.split_once("__:"))
        {
            let named = reading
                .options
                .key
                .as_ref()
                .is_none_or(|wanted| key.contains(wanted.as_str()));
            let key = reading.name(key);
            let says = match event {
                "expired" => Some(StoreSays::Expired { key }),
                "evicted" => Some(StoreSays::Moved {
                    kind: MoveKind::Eviction,
                    what: key,
                    term: None,
                }),
                "del" => Some(StoreSays::Deleted {
                    key,
                    by: Some("a client".into()),
                    index: None,
                }),
                "set" => Some(StoreSays::Granted {
                    key,
                    holder: None,
                    token: None,
                    ttl: None,
                    until: None,
                }),
                "expire" => Some(StoreSays::RenewalApplied {
                    key,
                    sender: None,
                    ttl: None,
                    until: None,
                }),
                _ => None,
            };
            if let Some(says) = says.filter(|_| named) {
                store(line, "redis-notifications", StampMeans::Emitted, says, reading);
            }
        }
    }
    Some("redis-notifications")
}
