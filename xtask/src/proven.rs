//! `cargo xtask proven`: the owners that are offered (the library, a fleet of it, `hold`, a worker behind `gate http`)
//! through whole suites, on every store, until enough cycles are counted. What was counted is kept, so that a sitting
//! goes on where the last one ended.
//!
//! - `owner`: which owners, and how each is started
//! - `front`: the gates in front of the witnesses
//! - `ledger`: what was counted, by the build that it was counted of
//! - `table`: the sums

mod front;
mod ledger;
mod owner;
mod table;

pub use front::{BehindArgs, behind};

use crate::build;
use crate::runs::{self, Job, Ran};
use clap::Args;
use front::Front;
use leaseproof_model::verdict::Verdict;
use ledger::{Entry, Ledger};
use owner::{Owner, Programs};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use table::Sums;

/// The arguments.
#[derive(Args)]
pub struct ProvenArgs {
    /// `sqlite`, or as `--start-store` takes them; all six if none is named.
    #[arg(long)]
    store: Vec<String>,
    /// `library`, `fleet` (on Redis alone), `hold`, `gate`; all four if none is named.
    #[arg(long)]
    owner: Vec<Owner>,
    /// Only this scenario; can be given again.
    #[arg(long)]
    scenario: Vec<String>,
    /// Cycles to reach, of each owner on each store.
    #[arg(long, default_value_t = 200)]
    cycles: u32,
    /// No suite begins after so many minutes.
    #[arg(long, default_value_t = 60)]
    minutes: u64,
    /// Suites side by side.
    #[arg(long, default_value_t = 1)]
    side_by_side: usize,
    /// Scenarios side by side in a suite.
    #[arg(long, default_value_t = 6)]
    jobs: usize,
    /// As `verify` takes it.
    #[arg(long, default_value = "auto")]
    freeze: String,
    /// How many of the scenario runs may be "cannot tell", in percent: for a machine that does other work meanwhile.
    /// Violated is never borne.
    #[arg(long, default_value_t = 0.0)]
    bear: f64,
    /// Forgets what earlier sittings counted.
    #[arg(long)]
    fresh: bool,
    /// Prints the sums of this build, and runs nothing.
    #[arg(long)]
    sums: bool,
    /// The binary to examine, built already [default: the release build of this tree].
    #[arg(long)]
    program: Option<PathBuf>,
    /// The library's example owner, built already [default: the release build of this tree].
    #[arg(long)]
    library_owner: Option<PathBuf>,
    /// Where the sums, and the bundles of what was not proven, are kept.
    #[arg(long, default_value = "target/proven")]
    out: PathBuf,
}

const STORES: &[&str] = &["sqlite", "redis", "postgres", "etcd", "zookeeper", "consul"];

/// Runs it; whether all that was wanted was counted, nothing was violated, and no more could not be told than is borne.
pub fn run(args: &ProvenArgs) -> Result<bool, String> {
    let given = |path: &PathBuf| {
        path.canonicalize()
            .map_err(|error| format!("{}: {error}", path.display()))
    };
    let programs = Programs {
        leaseproof: args.program.as_ref().map_or_else(build::leaseproof, given)?,
        library: args.library_owner.as_ref().map_or_else(build::library_owner, given)?,
    };
    std::fs::create_dir_all(&args.out).map_err(|error| format!("{}: {error}", args.out.display()))?;
    let out = args.out.canonicalize().map_err(|error| error.to_string())?;
    let mut ledger = Ledger::open(&out, programs.print()?, args.fresh)?;
    let until = Instant::now() + Duration::from_secs(args.minutes * 60);
    while !args.sums && Instant::now() < until {
        // Those with the fewest cycles: the three owners of a store take about as long as each other.
        let mut next = wanting(args, &ledger.sums());
        next.sort_by_key(|(owner, store)| ledger.sums().cycles(*owner, store));
        next.truncate(args.side_by_side.max(1));
        if next.is_empty() {
            break;
        }
        round(args, &programs, &out, &mut ledger, &next)?;
    }
    let sums = ledger.sums();
    println!("{}{}", sums.text(), sums.sore());
    let reached = wanting(args, &sums).is_empty() || args.sums;
    Ok(reached && sums.is_right(args.bear))
}

/// One suite of each of these pairs, side by side.
fn round(
    args: &ProvenArgs,
    programs: &Programs,
    out: &Path,
    ledger: &mut Ledger,
    pairs: &[(Owner, String)],
) -> Result<(), String> {
    let number = ledger.sittings();
    // Each with its gates, which end with the round.
    let opened = pairs.iter().map(|_| Front::open(&programs.leaseproof));
    let fronts: Vec<Front> = opened.collect::<Result<_, _>>()?;
    let mut jobs = Vec::new();
    for ((owner, store), front) in pairs.iter().zip(&fronts) {
        let mut arguments = suite(args, *owner, store);
        arguments.push("--".to_owned());
        arguments.extend(owner.command(programs, front)?);
        jobs.push(Job {
            label: label(*owner, store),
            arguments,
            number,
        });
    }
    for ran in runs::all(&programs.leaseproof, jobs, args.side_by_side, out, told) {
        let of_it = |pair: &&(Owner, String)| label(pair.0, &pair.1) == ran.job.label;
        let Some((owner, store)) = pairs.iter().find(of_it) else {
            continue;
        };
        let entry = Entry::of(*owner, store, &ran);
        if entry.is_proven() {
            let _ = std::fs::remove_dir_all(&ran.folder);
        }
        ledger.add(entry)?;
    }
    eprintln!("{}", ledger.sums().text());
    Ok(())
}

/// The pairs of which too few cycles are counted.
fn wanting(args: &ProvenArgs, sums: &Sums) -> Vec<(Owner, String)> {
    let owners: &[Owner] = if args.owner.is_empty() { Owner::ALL } else { &args.owner };
    let stores: Vec<String> = match args.store.is_empty() {
        true => STORES.iter().map(|&store| store.to_owned()).collect(),
        false => args.store.clone(),
    };
    let pairs = stores
        .iter()
        .flat_map(|store| owners.iter().map(move |owner| (*owner, store.clone())));
    pairs
        .filter(|(owner, store)| owner.is_for(store))
        .filter(|(owner, store)| sums.cycles(*owner, store) < args.cycles && !sums.is_hopeless(*owner, store))
        .collect()
}

fn label(owner: Owner, store: &str) -> String {
    format!("{} on {store}", owner.as_str())
}

/// The arguments of one suite, up to the owner.
fn suite(args: &ProvenArgs, owner: Owner, store: &str) -> Vec<String> {
    let mut words = match store {
        // Each scenario has a file of its own beside it.
        "sqlite" => vec!["--store".to_owned(), "sqlite:locks.db".to_owned()],
        store => vec!["--start-store".to_owned(), store.to_owned()],
    };
    words.extend(["--jobs".to_owned(), args.jobs.to_string()]);
    words.extend(["--freeze".to_owned(), args.freeze.clone()]);
    let scenarios = match args.scenario.is_empty() {
        true => owner.scenarios(),
        false => args.scenario.clone(),
    };
    for scenario in scenarios {
        words.extend(["--scenario".to_owned(), scenario]);
    }
    words
}

fn told(ran: &Ran) {
    let came = match &ran.verdict {
        Ok(verdict) => verdict.verdict.to_string(),
        Err(why) => why.clone(),
    };
    let proven = |verdict: &leaseproof_model::verdict::RunVerdict| {
        let all = verdict.scenarios.iter().filter(|it| it.verdict == Verdict::Proven);
        (all.count(), verdict.scenarios.len())
    };
    match ran.verdict.as_ref().map(proven) {
        Ok((proven, all)) => eprintln!("{}: {came}, {proven} of {all} scenarios proven", ran.job.label),
        Err(_) => eprintln!("{}: {came}", ran.job.label),
    }
}
