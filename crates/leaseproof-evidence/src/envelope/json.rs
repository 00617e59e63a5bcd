//! Lines that are JSON objects.

use super::{Stripped, peel};
use crate::reading::line::Layers;
use crate::record::Author;
use crate::stamp::{Stamps, written};
use crate::when::{Domain, Interval, When};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// A line that is one JSON object.
pub(crate) fn read<'a>(text: &'a str, stamps: &mut Stamps, depth: u8) -> Option<Stripped<'a>> {
    let Value::Object(fields) = serde_json::from_str(text.trim_end()).ok()? else {
        return None;
    };
    Some(object(fields, stamps, depth))
}

/// One JSON object, wherever it was found.
pub(crate) fn object(mut fields: Map<String, Value>, stamps: &mut Stamps, depth: u8) -> Stripped<'static> {
    if let (Some(Value::String(_)), Some(Value::String(_))) = (fields.get("log"), fields.get("stream"))
        && let Some(Value::String(log)) = fields.remove("log")
    {
        let when = fields.get("time").and_then(|time| stamp(time, stamps));
        let inner = own(peel(log.trim_end_matches('\n'), stamps, depth + 1));
        let outer = Stripped {
            when,
            ..bare(String::new())
        };
        return outer.around(inner, "docker-json");
    }
    if fields.contains_key("__REALTIME_TIMESTAMP") {
        return journal(&fields, stamps, depth);
    }
    let when = [
        "ts",
        "@timestamp",
        "time",
        "timestamp",
        "timeNano",
        "asctime",
        "datetime",
        "date",
        "t",
    ]
    .iter()
    .filter(|name| !(**name == "time" && fields.contains_key("timeNano")))
    .find_map(|name| stamp(fields.get(*name)?, stamps));
    let message = ["@message", "msg", "message", "event", "text"]
        .iter()
        .find_map(|name| fields.get(*name)?.as_str())
        .unwrap_or_default()
        .to_owned();
    let mut layers = Layers::default();
    layers.push(match () {
        () if fields.contains_key("@message") => "hclog-json",
        () if fields.contains_key("caller") && fields.contains_key("msg") => "zap-json",
        () if when.is_some() && !message.is_empty() => "json-log",
        () => "json",
    });
    let text_of = |name: &str| fields.get(name).and_then(Value::as_str).map(Arc::from);
    let author = Author {
        host: text_of("hostname").or_else(|| text_of("host")),
        process: text_of("@module").or_else(|| text_of("logger")),
        pid: fields
            .get("pid")
            .and_then(Value::as_u64)
            .and_then(|pid| u32::try_from(pid).ok()),
        container: None,
        thread: text_of("thread")
            .or_else(|| text_of("thread_name"))
            .or_else(|| text_of("threadName")),
        database: None,
    };
    Stripped {
        text: Cow::Owned(message),
        when,
        other: None,
        author,
        fields: Some(fields),
        layers,
    }
}

fn bare(text: String) -> Stripped<'static> {
    Stripped {
        text: Cow::Owned(text),
        when: None,
        other: None,
        author: Author::default(),
        fields: None,
        layers: Layers::default(),
    }
}

fn own(stripped: Stripped<'_>) -> Stripped<'static> {
    Stripped {
        text: Cow::Owned(stripped.text.into_owned()),
        when: stripped.when,
        other: stripped.other,
        author: stripped.author,
        fields: stripped.fields,
        layers: stripped.layers,
    }
}

/// A stamp that is a JSON value: a text, or a number of seconds, milliseconds, microseconds or nanoseconds since 1970.
pub(crate) fn stamp(value: &Value, stamps: &mut Stamps) -> Option<When> {
    match value {
        Value::String(text) => {
            let (stamp, _) = written::iso(text.as_bytes())?;
            stamps.calendar(&stamp)
        }
        Value::Number(number) => {
            if let Some(whole) = number.as_i64() {
                let unit = match whole {
                    1_000_000_000..=9_999_999_999 => 1_000_000_000,
                    1_000_000_000_000..=9_999_999_999_999 => 1_000_000,
                    1_000_000_000_000_000..=9_999_999_999_999_999 => 1000,
                    1_000_000_000_000_000_000..=i64::MAX => 1,
                    _ => return None,
                };
                return Some(stamps.epoch(whole.checked_mul(unit)?, unit));
            }
            let seconds = number.as_f64()?;
            if !(1e9..1e10).contains(&seconds) {
                return None;
            }
            // A float of this size tells microseconds, and no more.
            #[expect(clippy::cast_possible_truncation, reason = "checked to be in range")]
            let micros = (seconds * 1e6).round() as i64;
            Some(stamps.epoch(micros.checked_mul(1000)?, 1000))
        }
        _ => None,
    }
}

/// A field of the journal: a text, an array of bytes, or an array of these.
fn field(fields: &Map<String, Value>, name: &str) -> Option<String> {
    match fields.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            if let Some(Value::String(first)) = parts.first() {
                return Some(first.clone());
            }
            let bytes: Option<Vec<u8>> = parts
                .iter()
                .map(|part| part.as_u64().and_then(|byte| u8::try_from(byte).ok()))
                .collect();
            Some(String::from_utf8_lossy(&bytes?).into_owned())
        }
        _ => None,
    }
}

/// An entry of the journal: two clocks in one record. What the sender stamped outranks the time of receipt.
pub(crate) fn journal(fields: &Map<String, Value>, stamps: &mut Stamps, depth: u8) -> Stripped<'static> {
    let micros = |name: &str| field(fields, name)?.parse::<i64>().ok()?.checked_mul(1000);
    let received = micros("__REALTIME_TIMESTAMP");
    let sent = micros("_SOURCE_REALTIME_TIMESTAMP");
    let mono = micros("__MONOTONIC_TIMESTAMP");
    let kernel =
        micros("_SOURCE_MONOTONIC_TIMESTAMP").filter(|_| field(fields, "_TRANSPORT").as_deref() == Some("kernel"));
    let counted = |domain, at: i64| When {
        domain,
        span: Interval::cut(at, Duration::from_micros(1)),
        resolution: Duration::from_micros(1),
    };
    // The pair must be of one instant: both as received. A kernel's own stamp is earlier than its receipt, on the
    // kernel's clock.
    let earlier = match (kernel, mono) {
        (Some(kernel), Some(mono)) if mono >= kernel => mono.saturating_sub(kernel),
        _ => match (sent, received) {
            (Some(sent), Some(received)) if received >= sent => received.saturating_sub(sent),
            _ => 0,
        },
    };
    let when = received.map(|received| stamps.epoch(received.saturating_sub(earlier), 1000));
    let other = mono.map(|mono| counted(Domain::Mono, mono.saturating_sub(earlier)));
    let message = field(fields, "MESSAGE").unwrap_or_default();
    let author = Author {
        host: field(fields, "_HOSTNAME").map(Arc::from),
        process: field(fields, "SYSLOG_IDENTIFIER")
            .or_else(|| field(fields, "_COMM"))
            .map(Arc::from),
        pid: field(fields, "_PID")
            .or_else(|| field(fields, "SYSLOG_PID"))
            .and_then(|pid| pid.parse().ok()),
        container: field(fields, "CONTAINER_NAME").map(Arc::from),
        thread: None,
        database: None,
    };
    let inner = own(peel(&message, stamps, depth + 1));
    let outer = Stripped {
        when,
        other,
        author,
        ..bare(String::new())
    };
    outer.around(inner, "journal")
}
