//! `cargo xtask soak`: does the store ever contradict what leaseproof made of it? Scenarios in which the store itself
//! fails are run again and again, on servers and ensembles of their own, and each record is compared with what the
//! store said later, and with what it told others.
//!
//! - `truth`: a record against the store's own words
//! - `tally`: the sums

mod tally;
mod truth;

use crate::build;
use crate::runs::{self, Job, Ran};
use clap::Args;
use leaseproof_model::verdict::Verdict;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tally::Tally;

/// The arguments.
#[derive(Args)]
pub struct SoakArgs {
    /// As `--start-store` takes them; all of redis, postgres, etcd, etcd:3, zookeeper, zookeeper:3 and consul if none
    /// is named.
    #[arg(long)]
    store: Vec<String>,
    /// `store-paused`, `store-restarted`, `store-failover`; all three if none is named.
    #[arg(long)]
    scenario: Vec<String>,
    /// Scenario runs to reach, over all stores.
    #[arg(long, default_value_t = 200)]
    runs: u32,
    /// Cycles of each.
    #[arg(long, default_value_t = 2)]
    cycles: u32,
    /// No new round begins after so many minutes.
    #[arg(long, default_value_t = 60)]
    minutes: u64,
    /// How many stores side by side.
    #[arg(long, default_value_t = 2)]
    side_by_side: usize,
    /// The binary to examine, built already [default: the release build of this tree].
    #[arg(long)]
    program: Option<PathBuf>,
    /// Where the bundles of runs that were not right are kept.
    #[arg(long, default_value = "target/soak")]
    out: PathBuf,
}

const STORES: &[&str] = &[
    "redis",
    "postgres",
    "etcd",
    "etcd:3",
    "zookeeper",
    "zookeeper:3",
    "consul",
];

const SCENARIOS: &[&str] = &["store-paused", "store-restarted", "store-failover"];

/// A plan that all of them take but Consul, which scales it.
const PLAN: &[&str] = &[
    "--ttl",
    "3s",
    "--heartbeat",
    "1s",
    "--worst-pause",
    "1s",
    "--renew-timeout",
    "400ms",
];

/// Runs it; whether no premise was wrong, nothing was violated, and as many runs came about as were wanted.
pub fn run(args: &SoakArgs) -> Result<bool, String> {
    let program = match &args.program {
        Some(program) => program
            .canonicalize()
            .map_err(|error| format!("{}: {error}", program.display()))?,
        None => build::leaseproof()?,
    };
    std::fs::create_dir_all(&args.out).map_err(|error| format!("{}: {error}", args.out.display()))?;
    let out = args.out.canonicalize().map_err(|error| error.to_string())?;
    let until = Instant::now() + Duration::from_secs(args.minutes * 60);
    let mut tally = Tally::default();
    let mut round = 0;
    while tally.runs() < args.runs && Instant::now() < until {
        let told = |ran: &Ran| eprintln!("{}", told(ran));
        for ran in runs::all(&program, jobs(args, round), args.side_by_side, &out, told) {
            examine(&ran, &mut tally);
        }
        round += 1;
        eprintln!("{}", tally.text());
    }
    println!("{}", tally.text());
    Ok(tally.is_clean() && tally.runs() >= args.runs)
}

fn jobs(args: &SoakArgs, round: u32) -> Vec<Job> {
    let or = |given: &[String], all: &[&str]| -> Vec<String> {
        match given {
            [] => all.iter().map(|&word| word.to_owned()).collect(),
            given => given.to_vec(),
        }
    };
    let scenarios = or(&args.scenario, SCENARIOS);
    or(&args.store, STORES)
        .into_iter()
        .map(|store| {
            let mut arguments: Vec<String> = PLAN.iter().map(|&word| word.to_owned()).collect();
            arguments.extend(["--start-store".to_owned(), store.clone()]);
            arguments.extend(["--cycles".to_owned(), args.cycles.to_string()]);
            for scenario in &scenarios {
                arguments.extend(["--scenario".to_owned(), scenario.clone()]);
            }
            Job {
                label: store,
                arguments,
                number: round,
            }
        })
        .collect()
}

fn told(ran: &Ran) -> String {
    let came = match &ran.verdict {
        Ok(verdict) => verdict.verdict.to_string(),
        Err(why) => why.clone(),
    };
    format!("round {} on {}: {came}", ran.job.number, ran.job.label)
}

/// Counts what a run came to, and removes its bundle where nothing is wrong with it.
fn examine(ran: &Ran, tally: &mut Tally) {
    let store = &ran.job.label;
    let mut right = true;
    match &ran.verdict {
        Err(why) => {
            tally.broken(store, why);
            right = false;
        }
        Ok(verdict) => {
            for scenario in &verdict.scenarios {
                tally.add(store, scenario.id, scenario.verdict, scenario.cycles);
                right &= scenario.verdict == Verdict::Proven;
            }
        }
    }
    for bundle in bundles(&ran.folder) {
        for wrong in truth::contradictions(&bundle) {
            tally.wrong(format!("{store}: {wrong} ({})", bundle.display()));
            right = false;
        }
    }
    if right {
        let _ = std::fs::remove_dir_all(&ran.folder);
    }
}

fn bundles(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.join("events.jsonl").is_file())
        .collect()
}
