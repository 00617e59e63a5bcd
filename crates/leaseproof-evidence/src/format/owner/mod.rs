//! Logs of owners and their lock clients. All of it is belief.

pub(super) mod plan;
pub(super) mod presets;
pub(super) mod words;

use super::scan::{field, whole, word};
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{OwnerSays, Says};
use crate::when::StampMeans;
use leaseproof_model::name::Token;
use std::sync::Arc;
use std::time::Duration;

fn say(line: &Line<'_>, by: &'static str, says: OwnerSays, reading: &mut Reading<'_>) {
    reading.say(line, SourceKind::Owner, by, StampMeans::Emitted, Says::Owner(says));
}

/// What a line names in fields: `key=… token=… holder=… ttl=…`, as text or as JSON.
#[derive(Clone, Debug, Default)]
struct Named {
    key: Option<Arc<str>>,
    token: Option<Token>,
    holder: Option<Arc<str>>,
    ttl: Option<Duration>,
    /// How often it renews.
    heartbeat: Option<Duration>,
    /// A place in the resource's own order.
    serial: Option<u64>,
    /// There is a field named token, whatever its value.
    has_token: bool,
}

fn named(line: &Line<'_>, reading: &mut Reading<'_>) -> Named {
    let text = line.text.as_ref();
    let of = |names: &[&str]| -> Option<String> {
        names.iter().find_map(|name| {
            if let Some(value) = line.fields.as_ref().and_then(|fields| fields.get(*name)) {
                return value
                    .as_str()
                    .map(str::to_owned)
                    .or_else(|| value.is_number().then(|| value.to_string()));
            }
            field(text, name).map(|value| value.trim_end_matches([':', '.']).to_owned())
        })
    };
    let token_text = of(&["token", "fencing_token", "fence", "fencingToken", "lease_token"]);
    let key = of(&[
        "key",
        "lock",
        "lease",
        "lock_key",
        "lockName",
        "lock_name",
        "resource",
        "name",
    ])
    .filter(|key| !key.is_empty());
    let span = |names: &[&str]| {
        let text = of(names)?;
        super::scan::go_span(&text).map(|(span, _)| span).or_else(|| {
            whole(&text)
                .filter(|(ms, _)| *ms > 0)
                .map(|(ms, _)| Duration::from_millis(ms))
        })
    };
    let (ttl, heartbeat) = (
        span(&["ttl", "ttl_ms"]),
        span(&["heartbeat", "heartbeat_ms", "renew_interval"]),
    );
    let serial = of(&["serial", "seq"]).and_then(|serial| serial.parse().ok());
    Named {
        key: key.map(|key| reading.name(&key)),
        token: token_text
            .as_deref()
            .and_then(|token| whole(token).filter(|(_, rest)| rest.is_empty()))
            .map(|(token, _)| Token(token)),
        holder: of(&["holder", "owner", "worker", "identity", "id", "session"])
            .or_else(|| token_text.clone().filter(|token| token.parse::<u64>().is_err()))
            .map(|holder| reading.name(holder.trim_start_matches("b'").trim_matches('\''))),
        ttl,
        heartbeat,
        serial,
        has_token: token_text.is_some(),
    }
}

/// A name in quotes, or the next word.
fn quoted_or_word(text: &str) -> &str {
    let text = text.trim_start();
    for quote in ['"', '\'', '`'] {
        if let Some(inside) = text.strip_prefix(quote)
            && let Some(end) = inside.find(quote)
        {
            return inside.get(..end).unwrap_or_default();
        }
    }
    word(text).trim_end_matches(['.', ':'])
}
