//! What owners print for leaseproof: `{"lease": "acquired", "token": 1, "boot_ns": …}`.

use crate::reading::Reading;
use crate::reading::line::Line;
use crate::record::SourceKind;
use crate::says::{Definite, OwnerSays, Says};
use crate::when::{Domain, Interval, StampMeans, When};
use leaseproof_model::name::Token;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

const BY: &str = "leaseproof";

/// Reads a line.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    let fields = line.fields.as_ref()?;
    let event = fields.get("lease")?.as_str()?;
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let key: Option<Arc<str>> = text("key").map(Arc::from);
    let token = fields.get("token").and_then(Value::as_u64).map(Token);
    let why: Arc<str> = reading.name(text("reason").unwrap_or_default());
    let ttl = fields.get("ttl_ms").and_then(Value::as_u64).map(Duration::from_millis);
    let says = match event {
        "waiting" => OwnerSays::Waiting { key },
        "acquired" => OwnerSays::Acquired {
            key,
            holder: text("holder").or_else(|| text("owner")).map(Arc::from),
            token,
            ttl,
        },
        "renew_sent" => OwnerSays::RenewSent { key },
        "renewed" => OwnerSays::Renewed { key, token },
        "renew_failed" => OwnerSays::RenewalFailed {
            key,
            definite: match fields.get("definite").and_then(Value::as_bool) {
                Some(true) => Definite::Refused,
                _ => Definite::Unknown,
            },
            token,
            why,
        },
        "lost" => OwnerSays::Lost { key, token, why },
        "released" => OwnerSays::Released { key, token },
        "write" => OwnerSays::Wrote { key, token },
        "write_refused" => OwnerSays::WriteRefused { key, token },
        _ => return None,
    };
    let mut line = line.clone();
    let boot = fields.get("boot_ns").and_then(Value::as_i64).map(|at| When {
        domain: Domain::Boot,
        span: Interval::exact(at),
        resolution: Duration::from_nanos(1),
    });
    let wall = fields
        .get("wall_ns")
        .and_then(Value::as_i64)
        .map(|at| reading.stamps.epoch(at, 1));
    if let Some(wall) = wall {
        line.when = Some(wall);
        line.continued = false;
        if let Some(boot) = boot {
            reading.anchor(&line, wall, boot);
        }
    } else if let Some(boot) = boot
        && (line.continued || line.when.is_none())
    {
        line.when = Some(boot);
        line.continued = false;
    } else if let (Some(boot), Some(when)) = (boot, line.when) {
        reading.anchor(&line, when, boot);
    }
    line.author.thread = text("thread").map(Arc::from).or(line.author.thread);
    reading.stamped(&line, Duration::ZERO, None);
    reading.say(&line, SourceKind::Owner, BY, StampMeans::Emitted, Says::Owner(says));
    Some(BY)
}
