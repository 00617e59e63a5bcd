//! The record of one scenario run, and the lines of `events.jsonl`.

use crate::event::Event;
use crate::scenario::{Ask, ScenarioId};
use serde::{Deserialize, Serialize};

/// The record of one scenario run: what was asked, and all events, in the order of recording.
#[derive(Clone, PartialEq, Debug)]
pub struct History {
    /// What was asked.
    pub ask: Ask,
    /// The events.
    pub events: Vec<Event>,
    /// Whether the recording is whole: it ended by its own end line.
    pub complete: bool,
    /// How long the scenario took, in ms.
    pub took_ms: u64,
}

/// One line of `events.jsonl`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Line {
    /// The first line.
    Header(Header),
    /// A scenario run begins; its number joins its events.
    Scenario {
        /// The number.
        run: u32,
        /// What it asks.
        ask: Box<Ask>,
    },
    /// An event of a scenario run.
    Event {
        /// The scenario run's number.
        run: u32,
        /// The event.
        event: Event,
    },
    /// A scenario run ended by itself.
    End {
        /// The scenario run's number.
        run: u32,
        /// How long it took, in ms.
        took_ms: u64,
    },
    /// A scenario that was not offered.
    NotOffered(crate::verdict::NotOffered),
}

/// The first line of `events.jsonl`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Header {
    /// `leaseproof.events/1`. A reader refuses another major number and ignores fields it doesn't know.
    pub schema: String,
    /// The run's id.
    pub run: String,
    /// The seed.
    pub seed: u64,
    /// The version of leaseproof that wrote it.
    pub version: String,
    /// What the run set out to do: a scenario that never began is missed in a record that was cut.
    #[serde(default)]
    pub scenarios: Vec<ScenarioId>,
    /// On which stores: with more than one each scenario is missed on each.
    #[serde(default)]
    pub stores: Vec<String>,
    /// What had to be offered: judging again must not forget it.
    #[serde(default)]
    pub require: Vec<ScenarioId>,
    /// The key that a look was at, with every byte that is no visible text written as `\xNN`; none in a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl Header {
    /// The run of a record that `inspect` has kept: no run of `verify` is called so.
    pub const LOOK: &str = "inspect";

    /// Whether it is the record of a look, and of no run.
    #[must_use]
    pub fn is_look(&self) -> bool {
        self.run == Self::LOOK
    }
}

/// The schema of `events.jsonl`.
pub const EVENTS_SCHEMA: &str = "leaseproof.events/1";
