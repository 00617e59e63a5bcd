//! What must show each flaw: the scenario that demands it, and the codes.
//!
//! Codes are said in three lists. *Required* and *allowed* are written down; *forbidden* is every
//! other code that moves a verdict, so that none is forgotten. Causes, mechanisms and notices beside
//! the required ones are never forbidden: they explain, and accuse nobody.

mod rows;

use crate::flaw::Flaw;
use leaseproof_model::rule::{self, Class};
use leaseproof_model::scenario::ScenarioId;

/// What a scenario shows of a flaw.
#[derive(Copy, Clone, Debug)]
pub struct Expectation {
    /// The scenario.
    pub scenario: ScenarioId,
    /// The store's kind; `None`: each that has no row of its own for the scenario.
    pub store_kind: Option<&'static str>,
    /// Codes that must be found; none where the flaw can't be shown here.
    pub required: &'static [&'static str],
    /// Codes that may be found beside them, since the same broken run shows them too.
    pub allowed: &'static [&'static str],
    /// What is seen, or why it can't be.
    pub evidence: &'static str,
}

impl Expectation {
    /// Whether the flaw can be shown here at all.
    #[must_use]
    pub fn is_expressible(&self) -> bool {
        !self.required.is_empty()
    }

    /// Codes that must not be found.
    #[must_use]
    pub fn forbidden(&self) -> Vec<&'static str> {
        rule::ALL
            .iter()
            .filter(|rule| matches!(rule.class, Class::Breach | Class::Availability))
            .map(|rule| rule.code)
            .filter(|code| !self.required.contains(code) && !self.allowed.contains(code))
            .collect()
    }
}

/// Why a flaw can't be shown on a store whose lease is a session.
const SESSIONS: &[(Flaw, ScenarioId, &str)] = &[
    (
        Flaw::BlindRenew,
        ScenarioId::RenewAfterLoss,
        "not expressible here: a session is renewed by its own connection only",
    ),
    (
        Flaw::Revive,
        ScenarioId::PauseAndGone,
        "not expressible here: a session that ended can't be renewed",
    ),
    (
        Flaw::NoTtl,
        ScenarioId::CleanRelease,
        "not expressible here: a lease is a session, and every session has a time-out",
    ),
    (
        Flaw::TwoStepAcquire,
        ScenarioId::CleanRelease,
        "not expressible here: a lease is a session, and every session has a time-out",
    ),
    (
        Flaw::TwoStepAcquire,
        ScenarioId::PauseOverTtl,
        "not expressible here: a lease is a session, and every session has a time-out",
    ),
    (
        Flaw::TokenReused,
        ScenarioId::PauseOverTtl,
        "not expressible here: a token is the store's own transaction number, which only rises",
    ),
];

/// The stores whose lease is a session.
const OF_SESSIONS: &[&str] = &["zookeeper", "consul"];

impl Flaw {
    /// What must be shown on a store of this kind: its own rows, and those of each store where it has none.
    #[must_use]
    pub fn expectations_on(self, store_kind: &str) -> Vec<Expectation> {
        let rows = self.expectations();
        let own = |it: &&Expectation| it.store_kind == Some(store_kind);
        let has_own = |scenario: ScenarioId| rows.iter().filter(own).any(|it| it.scenario == scenario);
        let denied =
            |scenario: ScenarioId| OF_SESSIONS.contains(&store_kind) && self.why_not_in_sessions(scenario).is_some();
        rows.iter()
            .filter(|it| own(it) || (it.store_kind.is_none() && !has_own(it.scenario) && !denied(it.scenario)))
            .copied()
            .collect()
    }

    /// In which scenarios a store of this kind can't show it, and why.
    #[must_use]
    pub fn not_expressible_on(self, store_kind: &str) -> Vec<(ScenarioId, &'static str)> {
        let own = self.expectations_on(store_kind);
        let own = own
            .into_iter()
            .filter(|it| !it.is_expressible())
            .map(|it| (it.scenario, it.evidence));
        let sessions = OF_SESSIONS.contains(&store_kind);
        let denied = SESSIONS.iter().filter(|(flaw, ..)| sessions && *flaw == self);
        own.chain(denied.map(|(_, scenario, why)| (*scenario, *why))).collect()
    }

    /// Why a store whose lease is a session can't show it in this scenario, if it can't.
    #[must_use]
    pub fn why_not_in_sessions(self, scenario: ScenarioId) -> Option<&'static str> {
        let row = SESSIONS
            .iter()
            .find(|(flaw, in_scenario, _)| *flaw == self && *in_scenario == scenario);
        row.map(|(.., why)| *why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flaw_is_demanded_on_each_store_by_codes_that_exist() {
        for flaw in Flaw::ALL {
            for kind in ["sqlite", "redis", "postgres"] {
                let shown = flaw.expectations_on(kind);
                // It is about an answer on its way, and the embedded store sends none.
                let needs_wire = *flaw == Flaw::ValidityFromAnswer && kind == "sqlite";
                let shows = shown.iter().any(Expectation::is_expressible);
                assert_eq!(shows, !needs_wire, "{flaw} on {kind}");
            }
            for expectation in flaw.expectations() {
                for code in expectation.required.iter().chain(expectation.allowed) {
                    assert!(rule::find(code).is_some(), "{code}");
                    assert!(!expectation.forbidden().contains(code), "{code}");
                }
            }
        }
    }

    /// The page for people is held to the data.
    #[test]
    fn the_page_has_every_row() {
        let page = include_str!("../../../docs/flaws.md");
        for flaw in Flaw::ALL {
            assert!(page.contains(flaw.describe()), "{flaw} is not described");
            for it in flaw.expectations() {
                let codes = |codes: &[&str]| {
                    if codes.is_empty() {
                        "–".to_owned()
                    } else {
                        codes.join(" ")
                    }
                };
                let row = format!(
                    "| `{flaw}` | `{}` | {} | {} | {} | {} |",
                    it.scenario,
                    it.store_kind.unwrap_or("each"),
                    codes(it.required),
                    codes(it.allowed),
                    it.evidence
                );
                assert!(page.contains(&row), "docs/flaws.md lacks this row:\n{row}");
                if let Some(why) = flaw.why_not_in_sessions(it.scenario) {
                    let row = format!(
                        "| `{flaw}` | `{}` | {} | – | – | {why} |",
                        it.scenario,
                        OF_SESSIONS.join(", ")
                    );
                    assert!(page.contains(&row), "docs/flaws.md lacks this row:\n{row}");
                }
            }
        }
    }
}
