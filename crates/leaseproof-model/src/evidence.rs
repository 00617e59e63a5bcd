//! How verdict documents write event ids and the budget: as people read them.
//!
//! `events.jsonl` keeps ids as numbers, since it is read by the million; a verdict names a few, and
//! `"e17"` can be searched for in the report, the terminal's output and the document alike.

use crate::budget::Budget;
use crate::event::EventId;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::time::Duration;

impl std::str::FromStr for EventId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.strip_prefix('e')
            .and_then(|digits| digits.parse().ok())
            .map(Self)
            .ok_or_else(|| format!("not an event id: {text:?} (they look like e17)"))
    }
}

/// A list of ids as `["e17", "e90"]`.
pub(crate) mod ids {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(ids: &[EventId], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(ids.iter().map(EventId::to_string))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<EventId>, D::Error> {
        Vec::<String>::deserialize(from)?
            .iter()
            .map(|text| text.parse().map_err(D::Error::custom))
            .collect()
    }
}

/// The budget's numbers, each in milliseconds with the unit in its name.
#[derive(Serialize, Deserialize)]
struct InMs {
    ttl_ms: f64,
    heartbeat_ms: f64,
    worst_pause_ms: f64,
    max_clock_drift_ms: f64,
    renew_timeout_ms: f64,
    #[serde(default)]
    early_slack_ms: f64,
}

/// A budget in milliseconds.
pub(crate) mod budget_ms {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(budget: &Budget, to: S) -> Result<S::Ok, S::Error> {
        let ms = |span: Duration| span.as_secs_f64() * 1000.0;
        InMs {
            ttl_ms: ms(budget.ttl),
            heartbeat_ms: ms(budget.heartbeat),
            worst_pause_ms: ms(budget.worst_pause),
            max_clock_drift_ms: ms(budget.max_clock_drift),
            renew_timeout_ms: ms(budget.renew_timeout),
            early_slack_ms: ms(budget.early_slack),
        }
        .serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Budget, D::Error> {
        let span = |ms: f64| Duration::try_from_secs_f64(ms / 1000.0).map_err(D::Error::custom);
        let read = InMs::deserialize(from)?;
        Ok(Budget {
            ttl: span(read.ttl_ms)?,
            heartbeat: span(read.heartbeat_ms)?,
            worst_pause: span(read.worst_pause_ms)?,
            max_clock_drift: span(read.max_clock_drift_ms)?,
            renew_timeout: span(read.renew_timeout_ms)?,
            early_slack: span(read.early_slack_ms)?,
        })
    }
}
