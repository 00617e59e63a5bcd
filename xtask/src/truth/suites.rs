//! Suites of the sound owner: proven, each of them.

use super::flaws::FILL_CACHE;
use super::gist::{codes, is_cannot_tell, sore_points};
use super::{TruthArgs, progress};
use crate::matrix::Matrix;
use crate::plan::quick;
use crate::runs::{self, Job, Ran};
use leaseproof_model::verdict::Verdict;
use std::path::Path;

/// Runs them on one store.
pub fn run(
    args: &TruthArgs,
    program: &Path,
    out: &Path,
    store: &str,
    url: &str,
    matrix: &mut Matrix,
    wrong: &mut Vec<String>,
) {
    let mut quick: Vec<String> = quick(store).iter().map(|&word| word.to_owned()).collect();
    quick.extend(["--env", FILL_CACHE].map(str::to_owned));
    let plain = vec!["--allow-shared-store".to_owned()];
    // The default plan's suites one at a time: they are what a newcomer runs.
    for (kind, count, plan, side_by_side) in [
        ("suite", args.suites, quick, args.side_by_side.div_ceil(6)),
        ("default suite", args.default_suites, plain, 1),
    ] {
        let jobs: Vec<Job> = (0..count)
            .map(|number| {
                let mut arguments = plan.clone();
                arguments.extend([
                    "--store".to_owned(),
                    url.to_owned(),
                    "--seed".to_owned(),
                    number.to_string(),
                ]);
                Job {
                    label: format!("{store} sound owner, {kind}"),
                    arguments,
                    number,
                }
            })
            .collect();
        let told = progress(jobs.len());
        let mut unclear = Unclear::default();
        for ran in runs::all(program, jobs, side_by_side, out, told) {
            let verdict = ran.verdict.as_ref().map(|verdict| verdict.verdict);
            let borne = args.bear > 0.0 && verdict == Ok(Verdict::CannotTell);
            let right = verdict == Ok(Verdict::Proven) || borne;
            let codes = ran.verdict.as_ref().map(codes).unwrap_or_default();
            matrix.add(&ran.job.label, right, is_cannot_tell(&ran), &codes);
            unclear.add(&ran);
            if verdict != Ok(Verdict::Proven) {
                let why = ran.verdict.as_ref().map_or_else(Clone::clone, sore_points);
                let line = format!(
                    "{} #{}: {why} ({})",
                    ran.job.label,
                    ran.job.number,
                    ran.folder.display()
                );
                if right {
                    println!("borne: {line}")
                } else {
                    wrong.push(line)
                }
            }
        }
        if unclear.percent() > args.bear {
            wrong.push(format!(
                "{store} sound owner, {kind}: {} of {} scenario runs could not tell, more than {} %",
                unclear.cannot_tell, unclear.runs, args.bear
            ));
        }
    }
}

/// How many scenario runs of the sound owner could not tell.
#[derive(Default)]
struct Unclear {
    runs: u32,
    cannot_tell: u32,
}

impl Unclear {
    fn add(&mut self, ran: &Ran) {
        for scenario in ran.verdict.iter().flat_map(|verdict| &verdict.scenarios) {
            self.runs += 1;
            self.cannot_tell += u32::from(scenario.verdict == Verdict::CannotTell);
        }
    }

    fn percent(&self) -> f64 {
        f64::from(self.cannot_tell) * 100.0 / f64::from(self.runs.max(1))
    }
}
