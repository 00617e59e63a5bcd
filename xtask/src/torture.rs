//! `cargo xtask torture`: nothing stays broken, whatever happens to a run.
//!
//! - `blow`: what is done to it
//! - `subject`, `cage`: a run, and where it lives
//! - `remains`: what it may have left
//! - `case`: one run, one blow, one look
//! - `table`: the sums

mod blow;
mod cage;
mod case;
mod remains;
mod subject;
mod table;

use crate::build;
use crate::redis_server::RedisServer;
use blow::Blow;
use case::{Case, Outcome};
use clap::Args;
use leaseproof_fault::torture_points;
use rustix::process::Signal;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use subject::Manner;
use table::Table;

/// The arguments.
#[derive(Args)]
pub struct TortureArgs {
    /// Random instants of SIGKILL; everything else is tried in proportion.
    #[arg(long, default_value_t = 100)]
    times: u32,
    /// `sqlite` or `redis`; both if none is named.
    #[arg(long)]
    store: Vec<String>,
    /// Only blows whose name holds this text.
    #[arg(long)]
    only: Option<String>,
    /// The program to torture; the release build of this tree if none is named.
    #[arg(long)]
    program: Option<PathBuf>,
    /// Runs side by side.
    #[arg(long, default_value_t = 3)]
    side_by_side: usize,
    /// Where instants are drawn from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the files of runs that left something are kept.
    #[arg(long, default_value = "target/torture")]
    out: PathBuf,
}

/// Random kills fall within so much of a run, which takes about as long.
const RUN_MS: u64 = 12_000;

/// Runs it; whether nothing was left.
pub fn run(args: &TortureArgs) -> Result<bool, String> {
    let program = match &args.program {
        Some(program) => program
            .canonicalize()
            .map_err(|error| format!("{}: {error}", program.display()))?,
        None => build::leaseproof()?,
    };
    let wanted = |name: &str| args.store.is_empty() || args.store.iter().any(|store| store == name);
    let redis = wanted("redis").then(RedisServer::start);
    let mut stores: Vec<(&'static str, Option<String>)> = Vec::new();
    if wanted("sqlite") {
        stores.push(("sqlite", None));
    }
    match &redis {
        Some(Ok(server)) => stores.push(("redis", Some(server.url()))),
        Some(Err(why)) => println!("skipped: redis: {why} (set LEASEPROOF_REDIS_SERVER)"),
        None => {}
    }
    if stores.is_empty() {
        return Err("there is no such store: name sqlite or redis".to_owned());
    }
    let _ = std::fs::remove_dir_all(&args.out);
    std::fs::create_dir_all(&args.out).map_err(|error| format!("{}: {error}", args.out.display()))?;
    let out = args.out.canonicalize().map_err(|error| error.to_string())?;
    let cases = cases(args, &stores);
    let mut table = Table::default();
    let (mut wrong, mut accused) = (Vec::new(), Vec::new());
    for (case, outcome) in all(&program, &out, cases, args.side_by_side) {
        let outcome = outcome?;
        let store = store_of(&case);
        table.add(&case.blow.to_string(), store, &outcome);
        let name = format!("#{} {:?} on {store}, {:?}", case.number, case.blow, case.manner);
        wrong.extend(outcome.left.iter().map(|what| format!("{name}: {what}")));
        accused.extend(outcome.accused.iter().map(|what| format!("{name}: {what}")));
    }
    println!("seed {}", args.seed);
    println!("{}", table.text());
    for line in &wrong {
        println!("left: {line}");
    }
    for line in &accused {
        println!("the sound owner is accused: {line}");
    }
    for row in table.missed() {
        println!("shown nothing: {row}: every run was over before the blow fell");
    }
    Ok(wrong.is_empty())
}

fn store_of(case: &Case) -> &'static str {
    if case.manner.store.is_some() { "redis" } else { "sqlite" }
}

/// All cases, in the order of the table.
fn cases(args: &TortureArgs, stores: &[(&'static str, Option<String>)]) -> Vec<Case> {
    let mut draw = Draw(args.seed);
    let mut blows = Vec::new();
    for number in 0..args.times {
        // One in four early, where processes start and little else happens.
        let within = if draw.below(4) == 0 { RUN_MS / 12 } else { RUN_MS };
        let at = Duration::from_millis(draw.below(within));
        blows.push((Blow::Kill(at), number as usize % stores.len()));
    }
    let often = |one_in: u32| args.times.div_ceil(one_in).max(1);
    for (store, _) in stores.iter().enumerate() {
        for point in torture_points::ALL {
            for _ in 0..often(50) {
                let once = [torture_points::WARDEN_STARTING, torture_points::FINISHING].contains(point);
                let nth = if once { 1 } else { 1 + draw.below(12) };
                blows.push((Blow::Die(point, u32::try_from(nth).unwrap_or(1)), store));
            }
        }
        let mut some = |count: u32, make: &dyn Fn(Duration) -> Blow| {
            for _ in 0..count {
                let at = Duration::from_millis(draw.below(RUN_MS - 4000));
                blows.push((make(at), store));
            }
        };
        some(often(20), &|at| Blow::Ask(Signal::INT, at));
        some(often(20), &|at| Blow::Ask(Signal::TERM, at));
        some(often(20), &|at| Blow::Ask(Signal::HUP, at));
        some(often(20), &Blow::Impatient);
        some(often(20), &Blow::CtrlZ);
        some(often(34), &Blow::Hung);
        some(often(20), &Blow::WardenKilled);
        some(often(10), &Blow::BothKilledUndo);
        some(often(10), &Blow::BothKilledNextStart);
    }
    let wanted = |blow: &Blow| args.only.as_deref().is_none_or(|only| blow.to_string().contains(only));
    blows
        .into_iter()
        .filter(|(blow, _)| wanted(blow))
        .enumerate()
        .map(|(number, (blow, store))| {
            // One in five leaves most scenarios waiting: a record in which they never began.
            let jobs = (number % 5 == 4).then_some(5);
            let manner = Manner {
                store: stores[store].1.clone(),
                freeze: if (number / stores.len()).is_multiple_of(2) {
                    "auto"
                } else {
                    "sigstop"
                },
                jobs,
                die_at: match &blow {
                    Blow::Die(point, nth) => Some(format!("{point}:{nth}")),
                    _ => None,
                },
            };
            Case { number, blow, manner }
        })
        .collect()
}

/// Tries all, some side by side, and gives them back in order.
fn all(program: &Path, out: &Path, cases: Vec<Case>, side_by_side: usize) -> Vec<(Case, Result<Outcome, String>)> {
    let total = cases.len();
    let queue = Mutex::new(cases.into_iter().collect::<VecDeque<_>>());
    let done: Mutex<Vec<(Case, Result<Outcome, String>)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..side_by_side.max(1) {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some(case) = next else { break };
                    let dir = out.join(case.number.to_string());
                    let outcome = case::run(program, &dir, &case);
                    if outcome
                        .as_ref()
                        .is_ok_and(|outcome| outcome.left.is_empty() && outcome.accused.is_empty())
                    {
                        let _ = std::fs::remove_dir_all(&dir);
                    }
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.push((case, outcome));
                    if let Some((case, outcome)) = done.last() {
                        eprintln!("[{}/{total}] {}", done.len(), told(case, outcome));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(case, _)| case.number);
    done
}

fn told(case: &Case, outcome: &Result<Outcome, String>) -> String {
    let came = match outcome {
        Err(says) => says.clone(),
        Ok(outcome) if !outcome.left.is_empty() => outcome.left.join("; "),
        Ok(outcome) if !outcome.accused.is_empty() => format!("nothing left, but {}", outcome.accused.join("; ")),
        Ok(outcome) if !outcome.fell => "nothing left (it was over before)".to_owned(),
        Ok(_) => "nothing left".to_owned(),
    };
    let at = case
        .blow
        .at()
        .map(|at| format!(" at {} ms", at.as_millis()))
        .unwrap_or_default();
    let after = outcome
        .as_ref()
        .map_or(Duration::ZERO, |outcome| outcome.clean_after)
        .as_secs_f64();
    format!(
        "#{} {}{at} on {}: {came}, {after:.1} s",
        case.number,
        case.blow,
        store_of(case)
    )
}

/// Instants from one printed seed (splitmix64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % bound.max(1)
    }
}
