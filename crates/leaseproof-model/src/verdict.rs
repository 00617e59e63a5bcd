//! What the judge answers.

use crate::budget::Budget;
use crate::event::EventId;
use crate::finding::Finding;
use crate::scenario::{PremiseName, ScenarioId};
use crate::truth::Truth;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Ordered from good to bad: joining verdicts takes the worse one.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Shown to hold, every premise proven.
    Proven,
    /// The evidence does not decide. Never counts as a pass.
    CannotTell,
    /// Shown not to hold.
    Violated,
}

impl Verdict {
    /// The exit status that scripts can trust.
    #[must_use]
    pub fn exit_status(self) -> u8 {
        match self {
            Self::Proven => 0,
            Self::Violated => 1,
            Self::CannotTell => 3,
        }
    }

    /// The words that people read.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::CannotTell => "cannot tell",
            Self::Violated => "violated",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One premise of one cycle.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Premise {
    /// Which.
    pub name: PremiseName,
    /// The cycle.
    pub cycle: u32,
    /// Whether it held.
    pub holds: Truth,
    /// What was seen, or what is missing and what to change.
    pub says: String,
    /// The events that prove it.
    #[serde(with = "crate::evidence::ids")]
    pub evidence: Vec<EventId>,
}

/// The verdict on one scenario on one store.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ScenarioVerdict {
    /// The scenario.
    pub id: ScenarioId,
    /// The store's kind.
    pub store: String,
    /// Safety, and availability where it is asked about.
    pub verdict: Verdict,
    /// Safety alone.
    pub safety: Verdict,
    /// Availability alone (`None` where no cycle could show it).
    pub availability: Option<Verdict>,
    /// The cycles in which it held.
    pub cycles_held: u32,
    /// The cycles that were run.
    pub cycles: u32,
    /// How long it took, in ms.
    pub took_ms: u64,
    /// The premises, cycle by cycle.
    pub premises: Vec<Premise>,
    /// The findings, worst first.
    pub findings: Vec<Finding>,
    /// The measures by name; the unit is the end of the name.
    pub measures: BTreeMap<String, f64>,
    /// For a clock scenario: what its unstepped twin answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twin: Option<Box<ScenarioVerdict>>,
}

/// A scenario that this host, store or owner can't offer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NotOffered {
    /// The scenario.
    pub id: ScenarioId,
    /// The store's kind.
    #[serde(default)]
    pub store: String,
    /// The reason.
    pub why: String,
}

/// The budget as the report shows it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BudgetReport {
    /// The margin in ms.
    pub margin_ms: u64,
    /// The plain TTL − heartbeat in ms.
    pub plain_margin_ms: u64,
    /// The worst pause in ms.
    pub worst_pause_ms: u64,
    /// Whether the margin exceeds it.
    pub holds: bool,
    /// The numbers.
    #[serde(with = "crate::evidence::budget_ms")]
    pub numbers: Budget,
}

/// The document that `--json` prints.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunVerdict {
    /// `leaseproof.verdict/1`.
    pub schema: String,
    /// The run's id.
    pub run: String,
    /// The seed of every random choice.
    pub seed: u64,
    /// How long the run took, in ms.
    pub took_ms: u64,
    /// The run's verdict.
    pub verdict: Verdict,
    /// Why the run itself is incomplete (interrupted, stopped, a recording failed), if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// The budget.
    pub budget: BudgetReport,
    /// The scenarios, in the order of the catalogue.
    pub scenarios: Vec<ScenarioVerdict>,
    /// What was not offered, and why.
    pub not_offered: Vec<NotOffered>,
}

/// The schema of [`RunVerdict`].
pub const VERDICT_SCHEMA: &str = "leaseproof.verdict/1";
