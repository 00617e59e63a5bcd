//! What must show each flaw.

use leaseproof_model::scenario::ScenarioId;

/// What a scenario must show of a flaw.
#[derive(Copy, Clone, Debug)]
pub struct Expectation {
    /// The scenario.
    pub scenario: ScenarioId,
    /// The store's kind; `None`: each.
    pub store_kind: Option<&'static str>,
    /// Codes that must be found.
    pub required: &'static [&'static str],
    /// Codes that may be found beside them.
    pub allowed: &'static [&'static str],
    /// Codes that must not be found.
    pub forbidden: &'static [&'static str],
}
