//! `cargo xtask incidents`: incidents whose truth is known, since we made them; what `diagnose` is measured by.
//!
//! - [`table`], [`draw`]: which kinds and clients there are (`xtask/incidents/kinds.toml`), and which one comes up
//! - [`stage`], [`store`], [`owner`], [`resource`], [`look`], [`poll`], [`group`]: what takes part, and what sees it
//! - [`scene`], [`fault`]: one incident, played
//! - [`truth`]: what is known of it; [`words`], [`pack`]: what an operator is left with

mod draw;
mod fault;
mod group;
mod look;
mod owner;
pub mod pack;
mod poll;
mod resource;
mod scene;
mod stage;
mod store;
pub mod table;
pub mod truth;
mod words;

use crate::build;
use clap::Args;
use leaseproof_fault::warden::Warden;
use owner::Places;
use scene::Scene;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use table::Table;
use tokio::runtime::Runtime;
use truth::Truth;

/// The arguments.
#[derive(Args)]
pub struct IncidentArgs {
    /// The seed: the same draws the same kinds, clients and styles.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many.
    #[arg(long, default_value_t = 40)]
    count: u64,
    /// Only these kinds (can be given again); `--list` names them.
    #[arg(long)]
    kinds: Vec<String>,
    /// How many side by side.
    #[arg(long, default_value_t = 8)]
    jobs: usize,
    /// Where they go: `cases/`, `calls/` and `truth/`.
    #[arg(long, default_value = "target/incidents")]
    out: PathBuf,
    /// The `leaseproof` command, built already [default: the release build of this tree].
    #[arg(long)]
    leaseproof: Option<PathBuf>,
    /// Only names the kinds.
    #[arg(long)]
    list: bool,
}

/// An incident is drawn again so many times at most.
const ATTEMPTS: u64 = 9;

/// Makes them; whether all came about.
pub fn run(args: &IncidentArgs) -> Result<bool, String> {
    let table = Table::read()?;
    if args.list {
        for kind in &table.kinds {
            println!("{}", kind.name);
        }
        return Ok(true);
    }
    if let Some(unknown) = args
        .kinds
        .iter()
        .find(|name| !table.kinds.iter().any(|it| it.name == **name))
    {
        return Err(format!("there is no kind `{unknown}`: --list names them"));
    }
    let absolute = |path: &Path| {
        path.canonicalize()
            .map_err(|error| format!("{}: {error}", path.display()))
    };
    let leaseproof = match &args.leaseproof {
        Some(path) => absolute(path)?,
        None => build::leaseproof()?,
    };
    std::fs::create_dir_all(&args.out).map_err(|error| format!("{}: {error}", args.out.display()))?;
    let out = absolute(&args.out)?;
    let scratch = tempfile::Builder::new()
        .prefix("leaseproof-incidents-")
        .tempdir()
        .map_err(|error| error.to_string())?;
    let root = absolute(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))?;
    let places = Places {
        classes: compile(&root, scratch.path()),
        root,
        leaseproof,
    };
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    let warden = Warden::start(&out.join(".warden")).map_err(|error| error.to_string())?;
    let rig = Rig {
        args,
        table: &table,
        places,
        warden,
        runtime: &runtime,
        scratch: scratch.path(),
        out: &out,
        thrown: Mutex::new(BTreeMap::new()),
    };
    let began = Instant::now();
    let (next, made) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..args.jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    if number >= args.count {
                        return;
                    }
                    if rig.make(number) {
                        made.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    let thrown = stage::lock(&rig.thrown).clone();
    let made = made.load(Ordering::SeqCst);
    println!(
        "{made} of {} incidents in {} s, at {}",
        args.count,
        began.elapsed().as_secs(),
        out.display()
    );
    println!("thrown away and drawn again: {}", thrown.values().sum::<u64>());
    for (why, count) in thrown {
        println!("  {count} x {why}");
    }
    Ok(made == args.count)
}

/// What making an incident takes.
struct Rig<'a> {
    args: &'a IncidentArgs,
    table: &'a Table,
    places: Places,
    warden: Warden,
    runtime: &'a Runtime,
    scratch: &'a Path,
    out: &'a Path,
    thrown: Mutex<BTreeMap<String, u64>>,
}

impl Rig<'_> {
    fn make(&self, number: u64) -> bool {
        for attempt in 0..ATTEMPTS {
            let began = Instant::now();
            let (name, done) = self.attempt(number, attempt);
            match done {
                Ok(()) => {
                    eprintln!("{name}: {} s", began.elapsed().as_secs());
                    return true;
                }
                Err(why) => {
                    eprintln!("{name}: thrown away after {} s: {why}", began.elapsed().as_secs());
                    let kind = name.split_once('-').map_or("", |it| it.1);
                    let why: String = format!("{kind}: {why}").chars().take(140).collect();
                    *stage::lock(&self.thrown).entry(why).or_default() += 1;
                }
            }
        }
        false
    }

    fn attempt(&self, number: u64, attempt: u64) -> (String, Result<(), String>) {
        let draw = match draw::draw(self.table, &self.args.kinds, self.args.seed, number, attempt) {
            Ok(draw) => draw,
            Err(why) => return (format!("{number:03}"), Err(why)),
        };
        let name = draw.name();
        let dir = self.scratch.join(format!("{number}-{attempt}"));
        // A panic of one incident, ours or an adapter's, is a reason to throw it away; its guards have undone all by then.
        let played = catch_unwind(AssertUnwindSafe(|| {
            std::fs::create_dir_all(&dir).map_err(|error| error.to_string())?;
            let played = Scene::play(draw, &self.warden, self.runtime.handle(), &self.places, &dir)?;
            let truth = Truth::of(&played)?;
            pack::write(&played, &truth, self.out)
        }));
        let done = played.unwrap_or_else(|_| Err("it panicked".to_owned()));
        let _ = std::fs::remove_dir_all(&dir);
        (name, done)
    }
}

/// Compiles the Java programs, where there is a JDK and Curator.
fn compile(root: &Path, scratch: &Path) -> Option<PathBuf> {
    let classes = scratch.join("classes");
    std::fs::create_dir_all(&classes).ok()?;
    let sources = root.join("xtask/incidents/owners");
    let compiled = Command::new("javac")
        .arg("-d")
        .arg(&classes)
        .arg(sources.join("Ballast.java"))
        .arg(sources.join("Churn.java"))
        .status();
    compiled.is_ok_and(|it| it.success()).then_some(classes)
}
