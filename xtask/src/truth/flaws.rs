//! Flawed owners and witnesses: each must show its required code, and none that is forbidden.

use super::gist::{codes, is_cannot_tell, sore_points};
use super::library;
use super::recheck::Kept;
use super::{TruthArgs, progress};
use crate::matrix::Matrix;
use crate::plan::quick;
use crate::runs::{self, Job, Ran};
use leaseproof_model::scenario::ScenarioId;
use leaseproof_model::verdict::Verdict;
use leaseproof_owner::{Expectation, Flaw};
use std::collections::BTreeMap;
use std::path::Path;

/// The reference owner fills a cache, too.
pub const FILL_CACHE: &str = "LEASEPROOF_FILL_CACHE=1";

/// The flawed witnesses, and what must be said of each.
const WITNESSES: &[(&str, Expectation)] = &[
    ("accept-all", witness(ScenarioId::PauseInsideWrite, &["LP002"], &[])),
    ("accept-all", witness(ScenarioId::CacheFill, &["LP002"], &[])),
    (
        "forget-on-restart",
        witness(ScenarioId::StaleToken, &["LP002"], &["LP026"]),
    ),
    (
        "equality",
        witness(ScenarioId::PauseInsideWrite, &["LP026"], &["LP002", "LP016"]),
    ),
    (
        "first-writer-wins",
        witness(ScenarioId::PauseInsideWrite, &["LP026"], &["LP002", "LP016"]),
    ),
];

const fn witness(
    scenario: ScenarioId,
    required: &'static [&'static str],
    allowed: &'static [&'static str],
) -> Expectation {
    Expectation {
        scenario,
        store_kind: None,
        required,
        allowed,
        evidence: "the witness's own order",
    }
}

/// Runs them on one store.
#[expect(clippy::too_many_arguments, reason = "the sums of one command")]
pub fn run(
    args: &TruthArgs,
    program: &Path,
    library_owner: Option<&Path>,
    out: &Path,
    store: &str,
    url: &str,
    matrix: &mut Matrix,
    wrong: &mut Vec<String>,
    kept: &mut Vec<Kept>,
) -> Result<(), String> {
    let mut jobs = Vec::new();
    let mut wanted: BTreeMap<String, Expectation> = BTreeMap::new();
    for &flaw in Flaw::ALL.iter().filter(|flaw| args.wants(flaw.as_str())) {
        for (scenario, why) in flaw.not_expressible_on(store) {
            matrix.not_expressible(&format!("{store} {flaw} in {scenario}"), why);
        }
        for expectation in flaw
            .expectations_on(store)
            .into_iter()
            .filter(Expectation::is_expressible)
        {
            let label = format!("{store} {flaw} in {}", expectation.scenario);
            wanted.insert(label.clone(), expectation);
            for number in 0..args.runs {
                let mut arguments: Vec<String> = quick(store).iter().map(|&word| word.to_owned()).collect();
                arguments
                    .extend(["--store", url, "--scenario", expectation.scenario.as_str(), "--seed"].map(str::to_owned));
                arguments.extend([number.to_string(), "--".to_owned()]);
                arguments.extend(["leaseproof", "owner", "--flaw", flaw.as_str()].map(str::to_owned));
                jobs.push(Job {
                    label: label.clone(),
                    arguments,
                    number,
                });
            }
        }
    }
    if args.flaw.is_empty() {
        for (flaw, expectation) in WITNESSES {
            let label = format!("{store} witness {flaw} in {}", expectation.scenario);
            wanted.insert(label.clone(), *expectation);
            for number in 0..args.runs {
                let mut arguments: Vec<String> = quick(store).iter().map(|&word| word.to_owned()).collect();
                let words = [
                    "--store",
                    url,
                    "--scenario",
                    expectation.scenario.as_str(),
                    "--witness-flaw",
                    flaw,
                    "--env",
                    FILL_CACHE,
                ];
                arguments.extend(words.map(str::to_owned));
                jobs.push(Job {
                    label: label.clone(),
                    arguments,
                    number,
                });
            }
        }
    }
    if let Some(owner) = library_owner {
        let rows = library::ROWS.iter().filter(|row| args.wants(row.flaw));
        for row in rows.filter(|row| library::is_offered(row, store)) {
            let label = format!("{store} library {} in {}", row.flaw, row.expectation.scenario);
            wanted.insert(label.clone(), row.expectation);
            for number in 0..args.runs {
                let mut arguments: Vec<String> = quick(store).iter().map(|&word| word.to_owned()).collect();
                let scenario = row.expectation.scenario.as_str();
                arguments.extend(["--store", url, "--scenario", scenario].map(str::to_owned));
                arguments.extend(["--seed".to_owned(), number.to_string()]);
                if row.flaw != library::SOUND {
                    arguments.extend(["--env".to_owned(), format!("LEASEPROOF_LIB_FLAW={}", row.flaw)]);
                }
                arguments.extend(["--".to_owned(), owner.display().to_string()]);
                jobs.push(Job {
                    label: label.clone(),
                    arguments,
                    number,
                });
            }
        }
    }
    let total = jobs.len();
    let told = progress(total);
    for ran in runs::all(program, jobs, args.side_by_side, out, told) {
        let expectation = wanted.get(&ran.job.label).ok_or("a run of no flaw")?;
        let (right, why) = meets(&ran, expectation);
        let codes = ran.verdict.as_ref().map(codes).unwrap_or_default();
        matrix.add(&ran.job.label, right, is_cannot_tell(&ran), &codes);
        if !right {
            wrong.push(format!(
                "{} #{}: {why} ({})",
                ran.job.label,
                ran.job.number,
                ran.folder.display()
            ));
        } else if ran.job.number == 0 {
            kept.push(Kept {
                label: ran.job.label,
                folder: ran.folder,
                required: expectation.required,
            });
        }
    }
    Ok(())
}

fn meets(ran: &Ran, expectation: &Expectation) -> (bool, String) {
    let verdict = match &ran.verdict {
        Ok(verdict) => verdict,
        Err(why) => return (false, why.clone()),
    };
    let found = codes(verdict);
    let missing: Vec<_> = expectation
        .required
        .iter()
        .filter(|&&code| !found.contains(code))
        .collect();
    let forbidden: Vec<_> = expectation
        .forbidden()
        .into_iter()
        .filter(|code| found.contains(*code))
        .collect();
    if !verdict.not_offered.is_empty() {
        return (false, format!("not offered: {}", verdict.not_offered[0].why));
    }
    let right = missing.is_empty() && forbidden.is_empty() && verdict.verdict != Verdict::CannotTell;
    (
        right,
        format!("missing {missing:?}, forbidden {forbidden:?}, {}", sore_points(verdict)),
    )
}
