//! Lines that the user's own expressions find.

use super::say;
use crate::patterns::OwnerLine;
use crate::reading::Reading;
use crate::reading::line::Line;
use crate::says::{Definite, OwnerSays};
use leaseproof_model::name::Token;
use regex::Captures;
use std::sync::Arc;

/// Reads a line.
pub(crate) fn read(line: &Line<'_>, reading: &mut Reading<'_>) -> Option<&'static str> {
    let options = reading.options;
    for (kind, pattern) in &options.patterns.owner {
        // An expression may be written for the message or for the whole line.
        let found = pattern.captures(&line.text).or_else(|| pattern.captures(line.raw));
        if let Some(found) = found {
            let says = says(*kind, &found, reading);
            say(line, "plan", says, reading);
            return Some("plan");
        }
    }
    None
}

fn says(kind: OwnerLine, found: &Captures<'_>, reading: &mut Reading<'_>) -> OwnerSays {
    let text = |name: &str| found.name(name).map(|group| group.as_str());
    let key = text("key")
        .map(|key| reading.name(key))
        .or_else(|| reading.options.key.clone().map(|key| reading.name(&key)));
    let token = text("token").and_then(|token| token.parse().ok()).map(Token);
    let why: Arc<str> = reading.name(text("reason").unwrap_or_default());
    match kind {
        OwnerLine::Waiting => OwnerSays::Waiting { key },
        OwnerLine::Acquired => OwnerSays::Acquired {
            key,
            holder: text("holder").map(Arc::from),
            token,
            ttl: text("ttl").and_then(|ttl| crate::format::scan::go_span(ttl).map(|(ttl, _)| ttl)),
        },
        OwnerLine::Renewed => OwnerSays::Renewed { key, token },
        OwnerLine::RenewFailed => OwnerSays::RenewalFailed {
            key,
            definite: if super::words::refused(&why) {
                Definite::Refused
            } else {
                Definite::Unknown
            },
            token,
            why,
        },
        OwnerLine::Lost => OwnerSays::Lost { key, token, why },
        OwnerLine::Released => OwnerSays::Released { key, token },
        OwnerLine::Held => OwnerSays::BelievesHeld { key, token },
        OwnerLine::Write => OwnerSays::Wrote { key, token },
        OwnerLine::WriteRefused => OwnerSays::WriteRefused { key, token },
    }
}
