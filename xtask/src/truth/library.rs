//! Owners built on the library, each broken in one way: what a run must say of each.

use leaseproof_model::scenario::ScenarioId;
use leaseproof_owner::Expectation;

/// A flaw of the library, or none.
pub struct Row {
    /// Its name; `sound` for none.
    pub flaw: &'static str,
    pub expectation: Expectation,
}

const fn row(
    flaw: &'static str,
    scenario: ScenarioId,
    required: &'static [&'static str],
    allowed: &'static [&'static str],
    evidence: &'static str,
) -> Row {
    Row {
        flaw,
        expectation: Expectation {
            scenario,
            store_kind: None,
            required,
            allowed,
            evidence,
        },
    }
}

/// The name of none.
pub const SOUND: &str = "sound";

/// All of them. Where a pause is the whole fault, most show nothing: the clock in the permit refuses, whatever was made
/// of an answer.
pub const ROWS: &[Row] = &[
    row(
        "permit-unchecked",
        ScenarioId::PauseOverTtl,
        &["LP004"],
        &["LP001", "LP002", "LP006"],
        "writes go on after `lost`, with the old token",
    ),
    row(
        "validity-from-answer",
        ScenarioId::PauseRenewing,
        &["LP008"],
        &["LP001", "LP002", "LP004"],
        "`renewed` is said after the thaw, of a request before the pause, and writes go on",
    ),
    row(
        "silent-retain",
        ScenarioId::KeyStolen,
        &["LP004"],
        &["LP001", "LP002", "LP005", "LP006"],
        "writes go on after refused renewals",
    ),
    row(
        "unknown-extends",
        ScenarioId::Blackhole,
        &["LP005"],
        &["LP001", "LP002", "LP004", "LP006"],
        "`renewed` is said, and no answer came",
    ),
    row(
        "renew-after-drop",
        ScenarioId::CleanRelease,
        &["LP014"],
        &["LP001", "LP004", "LP005"],
        "`renewed` is said after `released`",
    ),
    row(SOUND, ScenarioId::PauseOverTtl, &[], &[], "nothing is found"),
    row(SOUND, ScenarioId::PauseRenewing, &[], &[], "nothing is found"),
    row(SOUND, ScenarioId::KeyStolen, &[], &[], "nothing is found"),
    row(SOUND, ScenarioId::Blackhole, &[], &[], "nothing is found"),
    row(SOUND, ScenarioId::CleanRelease, &[], &[], "nothing is found"),
];

/// Whether this store can be met by this scenario's fault.
pub fn is_offered(row: &Row, store: &str) -> bool {
    // There is no network between an owner and the embedded store.
    let wired = [ScenarioId::Blackhole, ScenarioId::PauseRenewing];
    let reached = store != "sqlite" || !wired.contains(&row.expectation.scenario);
    // There a renewal is followed by a look at the key, which after the pause shows who holds it.
    let looks = row.flaw == "validity-from-answer" && matches!(store, "etcd" | "consul");
    reached && !looks
}
