//! Everything that is found out before the first process starts: a run that is refused here leaves
//! nothing behind.

use crate::bundle::{Folder, Log};
use crate::plan::Plan;
use crate::run::RunSettings;
use leaseproof_fault::journal;
use leaseproof_fault::warden::{Healed, Warden};
use leaseproof_model::budget::Budget;
use leaseproof_model::store::StoreFacts;
use leaseproof_store::{StoreError, StoreUrl};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long the store may take to answer before the run.
const STORE_PATIENCE: Duration = Duration::from_secs(3);

/// A run that may start.
pub struct Ready {
    /// Its id.
    pub run: String,
    /// Its seed.
    pub seed: u64,
    /// Its folder.
    pub folder: Folder,
    /// Its record.
    pub log: Arc<Log>,
    /// The budget in force: scaled to the store's floor, its slack counted in.
    pub budget: Budget,
    /// The store's facts.
    pub facts: StoreFacts,
    /// The store.
    pub url: StoreUrl,
    /// The warden: up, and it has answered.
    pub warden: Warden,
    /// Relays run on it.
    pub runtime: tokio::runtime::Runtime,
}

impl Ready {
    /// Ends what belongs to the whole run.
    pub fn close(self, keep: bool) {
        // The shim's files and the journals of witnesses are of no use to anybody later.
        if !keep {
            let _ = std::fs::remove_dir_all(self.folder.path().join("stage"));
        }
        self.runtime.shutdown_timeout(Duration::from_millis(200));
    }
}

/// Checks plan, store, owner and output folder, and starts the warden.
///
/// # Errors
/// One sentence: what is wrong, and what to do.
pub fn prepare(settings: &RunSettings, seed: u64) -> Result<Ready, String> {
    let plan = &settings.plan;
    // Before anything else: an owner that a killed run left stopped must not be our neighbour.
    for it in heal(&settings.out)? {
        match it {
            Healed::Failed(_) => eprintln!("after a killed run: {it}; `leaseproof undo` tries again"),
            it => eprintln!("healed after a killed run: {it}"),
        }
    }
    let url: StoreUrl = plan.store.url.parse().map_err(|error: StoreError| error.to_string())?;
    if !url.is_loopback() && !plan.store.allow_remote {
        return Err(format!(
            "the store {url} is not on loopback: faults and sampling would reach a remote store; if it is a test store, add --allow-remote"
        ));
    }
    find_program(&plan.owner.command)?;
    let facts = store_facts(plan, &url)?;
    let budget = budget_in_force(plan, &facts)?;
    let run = run_id(seed);
    let folder = Folder::create(&settings.out, &run).map_err(|error| error.to_string())?;
    let file = folder.file("events.jsonl").map_err(|error| error.to_string())?;
    // Before the first process: a run that is killed while its warden starts leaves a record, too.
    let log = Log::start(file, &run, seed, &plan.scenarios);
    let warden = Warden::start(&warden_dir(&settings.out)).map_err(|error| {
        format!("{error}\n  without it nothing could be undone after a crash, so nothing was started")
    })?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(512 << 10)
        .enable_all()
        .build()
        .map_err(|error| format!("no threads can be had: {error}"))?;
    Ok(Ready {
        log,
        run,
        seed,
        folder,
        budget,
        facts,
        url,
        warden,
        runtime,
    })
}

/// Heals what killed runs below `out` may have left.
///
/// # Errors
/// When the journals can't be read.
pub fn heal(out: &Path) -> Result<Vec<Healed>, String> {
    let dir = warden_dir(out);
    journal::undo_all(&dir).map_err(|error| format!("the journals in {} can't be read: {error}", dir.display()))
}

fn warden_dir(out: &Path) -> PathBuf {
    out.join(".warden")
}

/// A command whose first word is `leaseproof` is the running binary itself.
fn find_program(command: &[String]) -> Result<(), String> {
    let Some(word) = command.first().filter(|word| *word != "leaseproof") else {
        return Ok(());
    };
    let found = if word.contains('/') {
        Path::new(word).is_file()
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|dir| dir.join(word).is_file())
    };
    if found {
        return Ok(());
    }
    Err(format!(
        "the owner `{word}` is not there: name a program in PATH, or a path such as ./{}",
        word.trim_start_matches("./")
    ))
}

fn store_facts(plan: &Plan, url: &StoreUrl) -> Result<StoreFacts, String> {
    let hint = |error: StoreError| match error {
        StoreError::Unreachable { .. } => format!("{error}\n  start it, or name another with --store URL"),
        StoreError::Refused { .. } => {
            format!("{error}\n  put user and password into the URL: redis://user:password@host:port/db")
        }
        other => other.to_string(),
    };
    if let Some(path) = url.path()
        && let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty())
    {
        std::fs::create_dir_all(dir).map_err(|error| format!("the folder {} can't be made: {error}", dir.display()))?;
    } else if url.path().is_none() {
        let mut admin = leaseproof_store::open_administrator(url, STORE_PATIENCE).map_err(hint)?;
        admin.prepare().map_err(hint)?;
        if !plan.store.allow_shared {
            let foreign = admin.foreign_keys(&plan.store.prefix).map_err(hint)?;
            if foreign > 0 {
                return Err(format!(
                    "the store {url} holds {foreign} keys outside the canary prefix `{}`: it seems to serve somebody; \
                     use an empty one (another database number will do), or add --allow-shared-store",
                    plan.store.prefix
                ));
            }
        }
    }
    leaseproof_store::facts(url, STORE_PATIENCE).map_err(hint)
}

fn budget_in_force(plan: &Plan, facts: &StoreFacts) -> Result<Budget, String> {
    let mut budget = Budget {
        early_slack: facts.early_slack,
        ..plan.budget
    };
    if let Some(floor) = facts.ttl_floor.filter(|&floor| floor > budget.ttl) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a ratio of two TTLs, rounded up"
        )]
        let factor = floor.as_secs_f64() / budget.ttl.as_secs_f64();
        budget.ttl = floor;
        budget.heartbeat = budget.heartbeat.mul_f64(factor);
        budget.worst_pause = budget.worst_pause.mul_f64(factor);
        eprintln!(
            "{} grants no TTL below {floor:?}: the plan is scaled by {factor:.2}",
            facts.kind
        );
    }
    if budget.holds() {
        return Ok(budget);
    }
    let advice = match budget.heartbeat_that_holds() {
        Some(heartbeat) => format!("the smallest change that passes: heartbeat = \"{}ms\"", heartbeat.as_millis()),
        None => "no heartbeat would be short enough: the worst pause itself must get shorter (a longer TTL would widen the window in which two owners can act)".to_owned(),
    };
    Err(format!(
        "LP019 budget-invalid: the margin is {:?} (ttl {:?} - heartbeat {:?} - renew_timeout {:?} - max_clock_drift {:?} - early_slack {:?}), \
         and it must be greater than the worst pause of {:?}\n  {advice}",
        budget.margin(),
        budget.ttl,
        budget.heartbeat,
        budget.renew_timeout,
        budget.max_clock_drift,
        budget.early_slack,
        budget.worst_pause
    ))
}

/// Sorts by time, and is unique: the process is part of it.
fn run_id(seed: u64) -> String {
    let now = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S");
    format!("{now}-{}-{seed}", std::process::id())
}
