//! `cargo xtask truth`: every flaw shows its required code and no forbidden one; the sound owner is
//! proven; and with any one rule switched off, judging the kept bundles again goes red.

use crate::build;
use crate::etcd::Etcd;
use crate::matrix::Matrix;
use crate::plan::quick;
use crate::redis::Redis;
use crate::runs::{self, Job, Ran};
use clap::Args;
use leaseproof_model::scenario::ScenarioId;
use leaseproof_model::truth::Truth;
use leaseproof_model::verdict::{RunVerdict, Verdict};
use leaseproof_owner::{Expectation, Flaw};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// The arguments.
#[derive(Args)]
pub struct TruthArgs {
    /// `sqlite`, `redis` or `etcd`; the first two if none is named.
    #[arg(long)]
    store: Vec<String>,
    /// Only this flaw (can be given again); `none` for no flaw.
    #[arg(long)]
    flaw: Vec<String>,
    /// Runs of each flaw in the scenario that demands it.
    #[arg(long, default_value_t = 50)]
    runs: u32,
    /// Suites of the sound owner with the quick plan.
    #[arg(long, default_value_t = 100)]
    suites: u32,
    /// Suites of the sound owner with the default plan.
    #[arg(long, default_value_t = 10)]
    default_suites: u32,
    /// How many runs side by side (suites: a third of it).
    #[arg(long, default_value_t = 12)]
    side_by_side: usize,
    /// How much of the sound owner's scenario runs may be "cannot tell", in percent: for a machine
    /// that does other work meanwhile. Violated is never borne.
    #[arg(long, default_value_t = 0.0)]
    bear: f64,
    /// The binary to examine, built already [default: the release build of this tree].
    #[arg(long)]
    program: Option<PathBuf>,
    /// Where bundles are kept.
    #[arg(long, default_value = "target/truth")]
    out: PathBuf,
}

/// The flawed witnesses, and what must be said of each.
const WITNESSES: &[(&str, Expectation)] = &[
    ("accept-all", witness(ScenarioId::PauseInsideWrite, &["LP002"], &[])),
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

/// Runs it; whether everything was right.
pub fn run(args: &TruthArgs) -> Result<bool, String> {
    let program = match &args.program {
        Some(program) => program
            .canonicalize()
            .map_err(|error| format!("{}: {error}", program.display()))?,
        None => build::leaseproof()?,
    };
    let stores: Vec<&str> = match args.store.is_empty() {
        true => vec!["sqlite", "redis"],
        false => args.store.iter().map(String::as_str).collect(),
    };
    let redis = if stores.contains(&"redis") {
        Redis::start()
    } else {
        None
    };
    if stores.contains(&"redis") && redis.is_none() {
        println!("skipped: redis: there is no redis-server (set LEASEPROOF_REDIS_SERVER)");
    }
    let etcd = if stores.contains(&"etcd") { Etcd::start() } else { None };
    if stores.contains(&"etcd") && etcd.is_none() {
        println!("skipped: etcd: there is no etcd (set LEASEPROOF_ETCD)");
    }
    let _ = std::fs::remove_dir_all(&args.out);
    std::fs::create_dir_all(&args.out).map_err(|error| format!("{}: {error}", args.out.display()))?;
    let out = args.out.canonicalize().map_err(|error| error.to_string())?;
    let mut matrix = Matrix::default();
    let mut wrong = Vec::new();
    let mut kept = Vec::new();
    for store in stores {
        let url = match (store, &redis, &etcd) {
            ("redis", Some(server), _) => server.url(),
            ("etcd", _, Some(server)) => server.url(),
            ("redis" | "etcd", ..) => continue,
            _ => format!("sqlite:{}", out.join("locks.db").display()),
        };
        flaws(args, &program, &out, store, &url, &mut matrix, &mut wrong, &mut kept)?;
        suites(args, &program, &out, store, &url, &mut matrix, &mut wrong);
    }
    let blind = check_the_check(&program, &kept);
    println!("{}", matrix.table());
    for line in wrong.iter().chain(&blind) {
        println!("wrong: {line}");
    }
    Ok(matrix.all_right() && wrong.is_empty() && blind.is_empty())
}

#[expect(clippy::too_many_arguments, reason = "the sums of one command")]
fn flaws(
    args: &TruthArgs,
    program: &Path,
    out: &Path,
    store: &str,
    url: &str,
    matrix: &mut Matrix,
    wrong: &mut Vec<String>,
    kept: &mut Vec<Kept>,
) -> Result<(), String> {
    let mut jobs = Vec::new();
    let mut wanted: BTreeMap<String, Expectation> = BTreeMap::new();
    for &flaw in Flaw::ALL
        .iter()
        .filter(|flaw| args.flaw.is_empty() || args.flaw.iter().any(|name| name == flaw.as_str()))
    {
        for expectation in flaw.expectations() {
            if !expectation.is_for(store) || !expectation.is_expressible() {
                continue;
            }
            let label = format!("{store} {flaw} in {}", expectation.scenario);
            wanted.insert(label.clone(), *expectation);
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

fn suites(
    args: &TruthArgs,
    program: &Path,
    out: &Path,
    store: &str,
    url: &str,
    matrix: &mut Matrix,
    wrong: &mut Vec<String>,
) {
    let quick: Vec<String> = quick(store).iter().map(|&word| word.to_owned()).collect();
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

fn progress(total: usize) -> impl Fn(&Ran) + Sync {
    let done = Mutex::new(0usize);
    move |ran| {
        let Ok(mut done) = done.lock() else { return };
        *done += 1;
        let verdict = ran
            .verdict
            .as_ref()
            .map_or("no verdict", |verdict| verdict.verdict.as_str());
        eprintln!("[{done}/{total}] {} #{}: {verdict}", ran.job.label, ran.job.number);
    }
}

fn codes(verdict: &RunVerdict) -> BTreeSet<String> {
    let scenarios = verdict.scenarios.iter().flat_map(|scenario| &scenario.findings);
    scenarios
        .filter(|finding| finding.certainty == Truth::Yes)
        .map(|finding| finding.rule.clone())
        .collect()
}

fn is_cannot_tell(ran: &Ran) -> bool {
    ran.verdict
        .as_ref()
        .is_ok_and(|verdict| verdict.verdict == Verdict::CannotTell)
}

fn sore_points(verdict: &RunVerdict) -> String {
    let sore: Vec<String> = verdict
        .scenarios
        .iter()
        .filter(|scenario| scenario.verdict != Verdict::Proven)
        .map(|scenario| {
            let premises = scenario.premises.iter().filter(|premise| premise.holds != Truth::Yes);
            let premises: BTreeSet<_> = premises.map(|premise| premise.name.as_str()).collect();
            let findings: BTreeSet<_> = scenario.findings.iter().map(|finding| finding.rule.as_str()).collect();
            format!(
                "{} {} (premises {premises:?}, findings {findings:?})",
                scenario.id, scenario.verdict
            )
        })
        .collect();
    format!("{}: {}", verdict.verdict, sore.join("; "))
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

/// A right run's bundle, to be judged again.
struct Kept {
    label: String,
    folder: PathBuf,
    required: &'static [&'static str],
}

/// With a required rule switched off, the flaw must no longer be found by it: a rule that is found
/// without being asked could not fail.
fn check_the_check(program: &Path, kept: &[Kept]) -> Vec<String> {
    let mut blind = Vec::new();
    for it in kept {
        let Some(bundle) = bundle_in(&it.folder) else {
            blind.push(format!("{}: its bundle is gone", it.label));
            continue;
        };
        for code in it.required {
            let output = Command::new(program)
                .args(["verify", "--json", "--judge"])
                .arg(&bundle)
                .args(["--without", code])
                .output();
            let again: Option<RunVerdict> = output
                .ok()
                .and_then(|output| serde_json::from_slice(&output.stdout).ok());
            match again {
                Some(verdict) if !codes(&verdict).contains(*code) => {}
                Some(_) => blind.push(format!("{}: {code} is found although it is switched off", it.label)),
                None => blind.push(format!("{}: the kept bundle can't be judged again", it.label)),
            }
        }
    }
    blind
}

fn bundle_in(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?;
    entries
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.join("events.jsonl").is_file())
}
