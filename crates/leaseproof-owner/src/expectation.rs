//! What must show each flaw: the scenario that demands it, and the codes.
//!
//! Codes are said in three lists. *Required* and *allowed* are written down; *forbidden* is every
//! other code that moves a verdict, so that none is forgotten. Causes, mechanisms and notices beside
//! the required ones are never forbidden: they explain, and accuse nobody.

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

const fn each(
    scenario: ScenarioId,
    required: &'static [&'static str],
    allowed: &'static [&'static str],
    evidence: &'static str,
) -> Expectation {
    Expectation {
        scenario,
        store_kind: None,
        required,
        allowed,
        evidence,
    }
}

const fn on(kind: &'static str, expectation: Expectation) -> Expectation {
    Expectation {
        store_kind: Some(kind),
        ..expectation
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

    /// The scenarios that demand this flaw, and what each must show.
    #[must_use]
    pub fn expectations(self) -> &'static [Expectation] {
        use ScenarioId as S;
        match self {
            Self::SwallowFailure => {
                const {
                    &[
                        each(
                            S::PauseOverTtl,
                            &["LP006"],
                            &["LP001", "LP002", "LP004"],
                            "it says `renew_failed`, definite, and writes on with the old token beside its successor",
                        ),
                        each(
                            S::KeyStolen,
                            &["LP006"],
                            &["LP001", "LP002", "LP004"],
                            "it says `renew_failed`, definite, and writes on while the lab holds",
                        ),
                    ]
                }
            }
            Self::SilentRetain => {
                const {
                    &[each(
                        S::PauseOverTtl,
                        &["LP004"],
                        &["LP001", "LP002"],
                        "writes go on after the thaw with the old token, and nothing is said",
                    )]
                }
            }
            Self::NoDeadline => {
                const {
                    &[
                        each(
                            S::Blackhole,
                            &["LP004"],
                            &["LP001", "LP002", "LP006"],
                            "writes go on past the TTL while no request is answered",
                        ),
                        on(
                            "sqlite",
                            each(
                                S::Blackhole,
                                &[],
                                &[],
                                "not expressible here: there is no network between an owner and the embedded store",
                            ),
                        ),
                        on(
                            "sqlite",
                            each(
                                S::ParentOnly,
                                &["LP004"],
                                &["LP001", "LP002"],
                                "the worker writes on past the TTL while the holder is stopped",
                            ),
                        ),
                    ]
                }
            }
            Self::ValidityFromAnswer => {
                const {
                    &[
                        each(
                            S::PauseRenewing,
                            &["LP008"],
                            &["LP001", "LP002", "LP004"],
                            "it claims a validity after the thaw that its request, sent before the pause, can't give, and writes on",
                        ),
                        on(
                            "sqlite",
                            each(
                                S::PauseRenewing,
                                &[],
                                &[],
                                "not expressible here: there is no network between an owner and the embedded store",
                            ),
                        ),
                        on(
                            "etcd",
                            each(
                                S::PauseRenewing,
                                &[],
                                &[],
                                "not expressible here: a renewal is followed by a look at the key, which after the pause shows who holds it",
                            ),
                        ),
                        on(
                            "consul",
                            each(
                                S::PauseRenewing,
                                &[],
                                &[],
                                "not expressible here: a renewal is followed by a look at the key, which after the pause shows who holds it",
                            ),
                        ),
                    ]
                }
            }
            Self::LateNotice => {
                const {
                    &[
                        each(
                            S::PauseOverTtl,
                            &["LP004"],
                            &["LP001", "LP002", "LP006"],
                            "writes go on after the thaw until 2 x TTL after the last renewal; then it says `lost`",
                        ),
                        on(
                            "consul",
                            each(
                                S::PauseOverTtl,
                                &[],
                                &[],
                                "not expressible here: the server itself lets 2 x TTL pass before it ends a session",
                            ),
                        ),
                        on(
                            "consul",
                            each(
                                S::KeyStolen,
                                &["LP004"],
                                &["LP001", "LP002", "LP006"],
                                "writes go on after a refused renewal until 2 x TTL after the last applied one",
                            ),
                        ),
                    ]
                }
            }
            Self::BlindRenew => {
                const {
                    &[each(
                        S::RenewAfterLoss,
                        &["LP010"],
                        &["LP001", "LP002", "LP004", "LP005"],
                        "the lab never renews, and the expiry of its grant moves when the owner renews after the thaw",
                    )]
                }
            }
            Self::Revive => {
                const {
                    &[
                        each(
                            S::PauseAndGone,
                            &["LP010"],
                            &["LP002", "LP003", "LP004", "LP005"],
                            "the grant that had ended is in the store again, under its old token, without an `acquired`",
                        ),
                        on(
                            "etcd",
                            each(
                                S::PauseAndGone,
                                &["LP003"],
                                &["LP002", "LP004", "LP005", "LP010", "LP016"],
                                "the key is in the store again, under another revision, and it writes on with its old token",
                            ),
                        ),
                    ]
                }
            }
            Self::BlindRelease => {
                const {
                    &[each(
                        S::ReleaseAfterLoss,
                        &["LP011"],
                        &[],
                        "the lab's grant is gone before its expiry, when the owner had lost its own",
                    )]
                }
            }
            Self::NoTtl => {
                const {
                    &[each(
                        S::CleanRelease,
                        &["LP012"],
                        &[],
                        "a reading shows the lease held and without an expiry (Redis: -1; SQLite: NULL)",
                    )]
                }
            }
            Self::TwoStepAcquire => {
                const {
                    &[
                        each(
                            S::CleanRelease,
                            &["LP012"],
                            &[],
                            "readings in the 100 ms after the acquire show the lease without an expiry",
                        ),
                        each(S::PauseOverTtl, &["LP012"], &[], "the same, at each takeover"),
                        on(
                            "etcd",
                            each(
                                S::CleanRelease,
                                &["LP012"],
                                &["LP011"],
                                "the same; the second step puts the key under another revision, as if its grant had been replaced",
                            ),
                        ),
                        on(
                            "etcd",
                            each(S::PauseOverTtl, &["LP012"], &["LP011"], "the same, at each takeover"),
                        ),
                    ]
                }
            }
            Self::WallClock => {
                const {
                    &[each(
                        S::ClockBack,
                        &["LP009"],
                        &["LP001", "LP002", "LP004", "LP016"],
                        "writes go on after the thaw in the stepped cycles, and not in their unstepped twins",
                    )]
                }
            }
            Self::ZombieRenewer => {
                const {
                    &[each(
                        S::CleanRelease,
                        &["LP014"],
                        &["LP001", "LP004", "LP005"],
                        "`renewed` is said after `released`",
                    )]
                }
            }
            Self::FalseLoss => {
                const {
                    &[each(
                        S::PauseWithinMargin,
                        &["LP016"],
                        &[],
                        "it says `lost` after the thaw without having asked, and readings show it still granted",
                    )]
                }
            }
            Self::NoToken => {
                const {
                    &[each(
                        S::PauseOverTtl,
                        &["LP024"],
                        &[],
                        "no write carries a token (a notice; a breach with `require_token`)",
                    )]
                }
            }
            Self::TokenReused => {
                const {
                    &[
                        each(
                            S::PauseOverTtl,
                            &["LP003"],
                            &["LP002"],
                            "the successor's grant has the same token as the one before",
                        ),
                        on(
                            "etcd",
                            each(
                                S::PauseOverTtl,
                                &[],
                                &[],
                                "not expressible here: a token is a revision of the store, and revisions only rise",
                            ),
                        ),
                    ]
                }
            }
            Self::ClaimsUnrenewed => {
                const {
                    &[each(
                        S::PauseOverTtl,
                        &["LP005"],
                        &["LP001", "LP002", "LP004"],
                        "`renewed` is said, and between the line before and this one no extension was applied",
                    )]
                }
            }
            Self::GhostGrant => {
                const {
                    &[each(
                        S::PauseWaiting,
                        &["LP021"],
                        &["LP001", "LP002", "LP004"],
                        "after the thaw it says `acquired` and writes while readings show another unchanged holder, \
                         with a token that the counter has not reached",
                    )]
                }
            }
            Self::OrphanWorker => {
                const {
                    &[each(
                        S::ParentOnly,
                        &["LP001"],
                        &["LP002", "LP004"],
                        "the worker writes on while its parent is stopped and the successor holds",
                    )]
                }
            }
            Self::FillUnversioned => {
                const {
                    &[each(
                        S::CacheFill,
                        &["LP002"],
                        &[],
                        "the value that it read before the pause is stored after the successor's write, and its fill said no version",
                    )]
                }
            }
        }
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
