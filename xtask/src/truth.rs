//! `cargo xtask truth`: every flaw shows its required code and no forbidden one; the sound owner is
//! proven; and with any one rule switched off, judging the kept bundles again goes red.
//!
//! - `flaws`: flawed owners and witnesses, each in the scenario that demands it
//! - `suites`: the sound owner in all scenarios
//! - `recheck`: the check on the check
//! - `gist`: a verdict in short
//! - `library`: owners built on the library, and its flaws

mod flaws;
mod gist;
mod library;
mod recheck;
mod suites;

use crate::build;
use crate::matrix::Matrix;
use crate::runs::Ran;
use crate::server::Server;
use clap::Args;
use std::path::PathBuf;
use std::sync::Mutex;

/// The arguments.
#[derive(Args)]
pub struct TruthArgs {
    /// `sqlite`, `redis`, `postgres`, `etcd`, `zookeeper` or `consul`; the first two if none is named.
    #[arg(long)]
    store: Vec<String>,
    /// Only this flaw of the owner or of the library (can be given again); `none` for no flaw.
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
    /// The library's example owner, built already with its flaws [default: the release build of this tree].
    #[arg(long)]
    library_owner: Option<PathBuf>,
    /// Where bundles are kept.
    #[arg(long, default_value = "target/truth")]
    out: PathBuf,
}

impl TruthArgs {
    /// Whether this flaw is to be run.
    fn wants(&self, flaw: &str) -> bool {
        self.flaw.is_empty() || self.flaw.iter().any(|name| name == flaw)
    }
}

/// Runs it; whether everything was right.
pub fn run(args: &TruthArgs) -> Result<bool, String> {
    let absolute = |path: &PathBuf| {
        path.canonicalize()
            .map_err(|error| format!("{}: {error}", path.display()))
    };
    let program = match &args.program {
        Some(program) => absolute(program)?,
        None => build::leaseproof()?,
    };
    let wants_library = library::ROWS.iter().any(|row| args.wants(row.flaw));
    let library_owner = match &args.library_owner {
        Some(path) => Some(absolute(path)?),
        None if wants_library => Some(build::library_owner()?),
        None => None,
    };
    let stores: Vec<&str> = match args.store.is_empty() {
        true => vec!["sqlite", "redis"],
        false => args.store.iter().map(String::as_str).collect(),
    };
    let _ = std::fs::remove_dir_all(&args.out);
    std::fs::create_dir_all(&args.out).map_err(|error| format!("{}: {error}", args.out.display()))?;
    let out = args.out.canonicalize().map_err(|error| error.to_string())?;
    let mut matrix = Matrix::default();
    let mut wrong = Vec::new();
    let mut kept = Vec::new();
    for store in stores {
        let server = match Server::start(store) {
            Some(Ok(server)) => Some(server),
            Some(Err(why)) => {
                println!("skipped: {store}: {why}");
                continue;
            }
            None if store == "sqlite" => None,
            None => return Err(format!("there is no store `{store}` here")),
        };
        let url = match &server {
            Some(server) => server.url.clone(),
            None => format!("sqlite:{}", out.join("locks.db").display()),
        };
        let library = library_owner.as_deref();
        flaws::run(
            args,
            &program,
            library,
            &out,
            store,
            &url,
            &mut matrix,
            &mut wrong,
            &mut kept,
        )?;
        suites::run(args, &program, &out, store, &url, &mut matrix, &mut wrong);
    }
    let blind = recheck::all(&program, &kept);
    println!("{}", matrix.table());
    for line in wrong.iter().chain(&blind) {
        println!("wrong: {line}");
    }
    Ok(matrix.all_right() && wrong.is_empty() && blind.is_empty())
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
