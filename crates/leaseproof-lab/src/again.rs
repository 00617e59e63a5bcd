//! Judges a kept bundle again.

use crate::bundle::{Bundle, read_bundle};
use crate::verdict::{RunReport, Sum, judge_all, sum_up};
use leaseproof_judge::Policy;
use leaseproof_model::budget::Budget;
use leaseproof_model::history::History;
use leaseproof_model::scenario::ScenarioId;
use leaseproof_model::truth::Truth;
use leaseproof_model::verdict::{ScenarioVerdict, Verdict};
use std::path::Path;
use std::time::Duration;

/// Judges a kept bundle again.
///
/// # Errors
/// When the folder is no bundle; one message, with what to do.
pub fn judge_bundle(dir: &Path, policy: &Policy) -> Result<RunReport, String> {
    let bundle = read_bundle(dir)?;
    let mut judged = judge_all(&bundle.histories, policy);
    // In the run's own order, so that its document comes out again.
    let place = |store: &str| bundle.header.stores.iter().position(|name| name == store);
    judged.sort_by_key(|verdict| (place(&verdict.store), verdict.id));
    let mut not_offered = bundle.not_offered.clone();
    not_offered.sort_by_key(|it| (place(&it.store), it.id));
    if bundle.damaged {
        judged.iter_mut().for_each(doubt);
    }
    let budget = bundle
        .histories
        .first()
        .map_or_else(Budget::standard, |history| history.ask.budget);
    let took = from_first_to_last(&bundle.histories);
    let incomplete = match bundle.problems.first() {
        Some((line, says)) => Some(format!(
            "events.jsonl:{line}: {says} ({} lines in all)",
            bundle.problems.len()
        )),
        None if bundle.histories.is_empty() => Some("no scenario was recorded".to_owned()),
        None => never_begun(&bundle),
    };
    let verdict = sum_up(&Sum {
        run: &bundle.header.run,
        seed: bundle.header.seed,
        took,
        budget,
        scenarios: judged,
        not_offered,
        incomplete,
        require: &bundle.header.require,
    });
    Ok(RunReport {
        verdict,
        histories: bundle.histories,
        folder: dir.to_owned(),
    })
}

/// How long the whole run took, by its record: scenarios run side by side and one after the other.
fn from_first_to_last(histories: &[History]) -> Duration {
    let moments = || {
        histories
            .iter()
            .flat_map(|history| &history.events)
            .map(|event| event.at)
    };
    let first = moments().map(|at| at.earliest).min().unwrap_or_default();
    let last = moments().map(|at| at.latest).max().unwrap_or_default();
    last.since(first)
}

/// What a damaged record shows proves nothing, and accuses nobody: the line that is gone may decide.
fn doubt(scenario: &mut ScenarioVerdict) {
    scenario.verdict = Verdict::CannotTell;
    scenario.safety = Verdict::CannotTell;
    scenario.availability = scenario.availability.map(|_| Verdict::CannotTell);
    for finding in &mut scenario.findings {
        finding.certainty = Truth::CannotTell;
    }
    if let Some(twin) = &mut scenario.twin {
        doubt(twin);
    }
}

/// Planned, and on record neither as run nor as not offered: the run was ended before.
fn never_begun(bundle: &Bundle) -> Option<String> {
    let stores = &bundle.header.stores;
    let recorded = |id: ScenarioId, store: &str| {
        // The record of one store need not say which.
        let on = |kind: &str| stores.len() < 2 || kind == store;
        bundle
            .histories
            .iter()
            .any(|history| history.ask.scenario == id && on(&history.ask.store.kind))
            || bundle.not_offered.iter().any(|it| it.id == id && on(&it.store))
    };
    let mut missing: Vec<String> = Vec::new();
    for &id in &bundle.header.scenarios {
        match stores.as_slice() {
            [] | [_] if recorded(id, "") => {}
            [] | [_] => missing.push(id.to_string()),
            several => {
                let unseen = several.iter().filter(|store| !recorded(id, store));
                missing.extend(unseen.map(|store| format!("{id} on {store}")));
            }
        }
    }
    (!missing.is_empty()).then(|| format!("these scenarios never began: {}", missing.join(", ")))
}
