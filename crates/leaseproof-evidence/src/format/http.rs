//! Answers of HTTP APIs as `curl -i` shows them: a status, headers, an empty line, a body. `Date` is their stamp.

use super::scan::between;
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{Says, StoreSays};
use crate::stamp::written;
use crate::when::StampMeans;

const BY: &str = "http-answer";

/// Where in an answer the lines are.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    status: Option<u16>,
    headers: bool,
    consul: bool,
}

/// Reads a line.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    if !line.continued {
        return None;
    }
    let text = line.text.trim();
    if let Some(rest) = text
        .strip_prefix("HTTP/1.1 ")
        .or_else(|| text.strip_prefix("HTTP/1.0 "))
        .or_else(|| text.strip_prefix("HTTP/2 "))
    {
        reading.state.http = State {
            status: rest.get(..3).and_then(|status| status.parse().ok()),
            headers: true,
            consul: false,
        };
        return Some(BY);
    }
    if reading.state.http.headers {
        let (name, value) = text.split_once(':')?;
        if name.eq_ignore_ascii_case("date")
            && let Some((stamp, _)) = written::day_first(value.trim().as_bytes())
            && let Some(when) = reading.stamps.calendar(&stamp)
        {
            reading.state.last = Some((when, line.author.clone(), line.layers));
            let mut dated = line.clone();
            dated.when = Some(when);
            dated.continued = false;
            reading.cover_only(&dated);
        }
        if name.starts_with("X-Consul-") {
            reading.state.http.consul = true;
        }
        return Some(BY);
    }
    let status = reading.state.http.status?;
    // Consul's answer to a renewal of a session that is over.
    if status == 404
        && let Some(id) = between(text, "Session id '", "' not found")
    {
        let key = reading.name(id);
        let why = reading.name("Session id not found");
        let says = StoreSays::Refused { key, why, sender: None };
        reading.say(line, SourceKind::Store, BY, StampMeans::Observed, Says::Store(says));
        return Some(BY);
    }
    matches!(text, "true" | "false").then_some(BY)
}

/// An empty line: the headers are over.
pub(crate) fn blank(reading: &mut Reading<'_>) {
    reading.state.http.headers = false;
}

/// An empty list: of a session that was asked for, it says that there is none.
pub(crate) fn nothing(line: &Line<'_>, reading: &mut Reading<'_>) -> &'static str {
    if reading.state.http.consul || reading.records.last().is_some_and(|record| record.by == "consul-http") {
        let asked = reading.records.iter().rev().find_map(|record| match &record.says {
            Says::Store(StoreSays::SessionOpened { id, .. }) if record.by == "consul-http" => {
                Some(std::sync::Arc::clone(id))
            }
            _ => None,
        });
        // Nothing tells what was asked for, so that nothing is said to be over.
        let Some(id) = asked else {
            return "consul-http";
        };
        let says = StoreSays::SessionExpired { id, timeout: None };
        reading.say(
            line,
            SourceKind::Store,
            "consul-http",
            StampMeans::Observed,
            Says::Store(says),
        );
        return "consul-http";
    }
    "json"
}
