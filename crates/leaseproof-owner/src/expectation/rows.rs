//! The rows: flaw by flaw, scenario by scenario.

use super::Expectation;
use crate::flaw::Flaw;
use leaseproof_model::scenario::ScenarioId;

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

impl Flaw {
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
