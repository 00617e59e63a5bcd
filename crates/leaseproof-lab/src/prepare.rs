//! Everything that is found out before the first process starts: a run that is refused here leaves
//! nothing behind.

use crate::bundle::{Folder, Log};
use crate::left;
use crate::observe::Meter;
use crate::plan::{Fitted, OwnerPlan, Plan, fit};
use crate::server::{Server, Wanted};
use crate::settings::RunSettings;
use leaseproof_fault::journal;
use leaseproof_fault::warden::{Healed, Warden};
use leaseproof_model::budget::Budget;
use leaseproof_model::store::StoreFacts;
use leaseproof_store::{StoreError, StoreUrl};
use rustix::fs::Access;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long the store may take to answer before the run.
const STORE_PATIENCE: Duration = Duration::from_secs(3);

/// One store of a run.
#[derive(Clone, Debug)]
pub struct Site {
    /// Which, as people read it: its kind, and a number where a kind comes again.
    pub name: String,
    /// The store.
    pub url: StoreUrl,
    /// The store's facts.
    pub facts: StoreFacts,
    /// The budget in force: scaled to the store's floor, its slack counted in.
    pub budget: Budget,
    /// How its server is started, where leaseproof itself did that: only such a store meets faults of a store.
    pub own: Option<Wanted>,
}

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
    /// The stores, one at least.
    pub sites: Vec<Site>,
    /// Those that leaseproof itself started, for the scenarios that do nothing to them.
    servers: Vec<Server>,
    /// The warden: up, and it has answered.
    pub warden: Warden,
    /// How late ordinary threads wake.
    pub meter: Meter,
    /// Relays run on it.
    pub runtime: tokio::runtime::Runtime,
}

impl Ready {
    /// Ends what belongs to the whole run.
    pub fn close(self, keep: bool) {
        drop(self.servers);
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
    let mut traces = Traces::default();
    let prepared = prepare_with(settings, seed, &mut traces);
    if prepared.is_err() {
        traces.remove();
    }
    prepared
}

fn prepare_with(settings: &RunSettings, seed: u64, traces: &mut Traces) -> Result<Ready, String> {
    let plan = &settings.plan;
    if let Some(file) = settings.out.ancestors().find(|path| path.is_file()) {
        return Err(format!(
            "the output folder {} can't be used: {} is a file\n  name another with --out DIR",
            settings.out.display(),
            file.display()
        ));
    }
    // Before anything else: an owner that a killed run left stopped must not be our neighbour.
    for it in heal(&settings.out)? {
        match it {
            Healed::Failed(_) => eprintln!("after a killed run: {it}; `leaseproof undo` tries again"),
            it => eprintln!("healed after a killed run: {it}"),
        }
    }
    if let Some(says) = left::told(&left::below(&settings.out)?, &settings.out) {
        eprintln!("after a killed run: {says}");
    }
    let mut urls: Vec<StoreUrl> = Vec::new();
    for text in &plan.store.urls {
        let url: StoreUrl = text.parse().map_err(|error: StoreError| error.to_string())?;
        if !url.is_loopback() && !plan.store.allow_remote {
            return Err(format!(
                "the store {url} is not on loopback: faults and sampling would reach a remote store; if it is a test store, add --allow-remote"
            ));
        }
        if urls.contains(&url) {
            return Err(format!("the store {url} is named twice: name each once"));
        }
        urls.push(url);
    }
    find_program(&plan.owner)?;
    let run = run_id(seed);
    let mut sites: Vec<Site> = Vec::new();
    for url in urls {
        let facts = store_facts(plan, &url, &run, traces)?;
        sites.push(site(plan, url, facts, None, &sites)?);
    }
    let wanted = wanted(plan)?;
    let mut names: Vec<String> = sites.iter().map(|site| site.name.clone()).collect();
    for it in &wanted {
        names.push(numbered(&it.name(), &names));
    }
    traces.will_make(&warden_dir(&settings.out));
    traces.will_make(&settings.out.join(&run));
    let folder = Folder::create(&settings.out, &run).map_err(|error| error.to_string())?;
    let file = folder.file("events.jsonl").map_err(|error| error.to_string())?;
    // Before the first process: a run that is killed while its warden starts leaves a record, too.
    let log = Log::start(file, &run, seed, (&plan.scenarios, &names), &plan.require);
    let warden = Warden::start(&warden_dir(&settings.out)).map_err(|error| {
        folder.discard();
        format!("{error}\n  without it nothing could be undone after a crash, so nothing was started")
    })?;
    if !settings.keep {
        // Should we be killed: what servers keep there takes a hundred times more room than all the rest.
        std::path::absolute(folder.path().join("stage"))
            .map_err(|error| error.to_string())
            .and_then(|stage| warden.folder(&stage).map_err(|error| error.to_string()))
            .inspect_err(|_| folder.discard())?;
    }
    let mut servers = Vec::new();
    for it in wanted {
        let started = start(plan, it, &warden, (&folder, &run), traces, &sites);
        let (server, site) = started.inspect_err(|_| folder.discard())?;
        servers.push(server);
        sites.push(site);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(512 << 10)
        .enable_all()
        .build()
        .map_err(|error| format!("no threads can be had: {error}"))?;
    // Half of what the margin leaves beside the worst pause: an owner that wakes later than that may lose its lease.
    let spare = sites
        .iter()
        .map(|site| site.budget.margin().saturating_sub(site.budget.worst_pause) / 2)
        .min()
        .unwrap_or_default();
    let meter = Meter::start(spare.max(Duration::from_millis(30)))
        .map_err(|error| format!("no threads can be had: {error}"))?;
    Ok(Ready {
        log,
        run,
        seed,
        folder,
        sites,
        servers,
        warden,
        meter,
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

/// The stores that are to be started here.
fn wanted(plan: &Plan) -> Result<Vec<Wanted>, String> {
    let mut wanted = Vec::new();
    for text in &plan.store.start {
        let it = Wanted::parse(text)?;
        it.recipe.find()?;
        wanted.push(it);
    }
    Ok(wanted)
}

fn start(
    plan: &Plan,
    wanted: Wanted,
    warden: &Warden,
    (folder, run): (&Folder, &str),
    traces: &mut Traces,
    before: &[Site],
) -> Result<(Server, Site), String> {
    let room = format!("stage/store-{}", before.len());
    let dir = folder.room(&room).map_err(|error| error.to_string())?;
    let server = Server::start(wanted, warden, &dir, false)?;
    let facts = store_facts(plan, &server.url(), run, traces)?;
    let site = site(plan, server.url(), facts, Some(wanted), before)?;
    Ok((server, site))
}

fn site(
    plan: &Plan,
    url: StoreUrl,
    mut facts: StoreFacts,
    own: Option<Wanted>,
    before: &[Site],
) -> Result<Site, String> {
    let Fitted { budget, says } = fit(plan.budget, plan.budget_chosen, &facts)?;
    if let Some(says) = says {
        eprintln!("{says}");
    }
    let before: Vec<String> = before.iter().map(|site| site.name.clone()).collect();
    let name = own.map_or_else(|| facts.kind.clone(), |own| own.name());
    facts.kind = numbered(&name, &before);
    Ok(Site {
        name: facts.kind.clone(),
        url,
        facts,
        budget,
        own,
    })
}
/// The kind, and a number where it comes again.
fn numbered(kind: &str, before: &[String]) -> String {
    match before
        .iter()
        .filter(|name| {
            // `redis-2` is a redis, `redis-sentinel` is none.
            let number = name.strip_prefix(kind).map(|rest| rest.trim_start_matches('-'));
            number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        })
        .count()
    {
        0 => kind.to_owned(),
        n => format!("{kind}-{}", n + 1),
    }
}

pub(crate) fn warden_dir(out: &Path) -> PathBuf {
    out.join(".warden")
}

/// A command whose first word is `leaseproof` is the running binary itself.
fn find_program(owner: &OwnerPlan) -> Result<(), String> {
    let Some(word) = owner.command.first().filter(|word| *word != "leaseproof") else {
        return Ok(());
    };
    let candidates: Vec<PathBuf> = if word.contains('/') {
        vec![PathBuf::from(word)]
    } else {
        let path = owner.env.get("PATH").map(OsString::from);
        let path = path.or_else(|| std::env::var_os("PATH")).unwrap_or_default();
        std::env::split_paths(&path).map(|dir| dir.join(word)).collect()
    };
    let executable = |path: &&PathBuf| rustix::fs::access(*path, Access::EXEC_OK).is_ok();
    let there: Vec<&PathBuf> = candidates.iter().filter(|path| path.is_file()).collect();
    if there.iter().any(executable) {
        return Ok(());
    }
    Err(match there.first() {
        Some(path) => format!(
            "the owner {} is not executable: `chmod +x` it, or name its interpreter first, such as `python3 {word}`",
            path.display()
        ),
        None if Path::new(word).is_dir() => format!("the owner `{word}` is a folder: name the program in it"),
        None if word.contains('/') => {
            let here = std::env::current_dir().unwrap_or_default();
            format!(
                "the owner `{word}` is not there: a path is seen from the current folder, {}",
                here.display()
            )
        }
        None => format!("the owner `{word}` is not in PATH: name a program that is, or a path such as ./{word}"),
    })
}

fn store_facts(plan: &Plan, url: &StoreUrl, run: &str, traces: &mut Traces) -> Result<StoreFacts, String> {
    let hint = |error: StoreError| match &error {
        StoreError::Unreachable { why, .. } if why.contains("certificate") => format!(
            "{error}\n  name the CA that signed it, {}://host:port?ca=FILE.pem, and the host that it was issued to",
            url.tls_scheme()
        ),
        StoreError::Unreachable { why, .. } if why.contains("reset") || why.contains("want TLS") => {
            format!("{error}\n  if it speaks TLS, write {}://", url.tls_scheme())
        }
        StoreError::Unreachable { .. } => format!("{error}\n  start it, or name another with --store URL"),
        other => other.to_string(),
    };
    if let Some(path) = url.path() {
        if path.is_dir() || path.file_name().is_none() {
            return Err(format!(
                "the store {url} is a folder\n  name a file in it: {url}{}locks.db",
                if url.to_string().ends_with('/') { "" } else { "/" }
            ));
        }
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        let dir = dir.unwrap_or(Path::new("."));
        let fail = |why: std::io::Error| {
            format!(
                "the folder {} of the store can't be used: {why}\n  name another with --store sqlite:PATH",
                dir.display()
            )
        };
        traces.will_make(dir);
        std::fs::create_dir_all(dir).map_err(fail)?;
        // Tried by writing: each scenario makes a file of its own there.
        let probe = dir.join(format!(".{run}.room"));
        let tried = std::fs::write(&probe, [0; 4096]);
        let _ = std::fs::remove_file(&probe);
        tried.map_err(fail)?;
    } else {
        let mut admin = leaseproof_store::open_administrator(url, STORE_PATIENCE).map_err(hint)?;
        admin.prepare().map_err(hint)?;
        if !plan.store.allow_shared {
            let foreign = admin.foreign_keys(&plan.store.prefix).map_err(hint)?;
            if foreign > 0 {
                return Err(format!(
                    "the store {url} holds {foreign} {} outside the canary prefix `{}`: it seems to serve somebody; \
                     use an empty one{}, or add --allow-shared-store",
                    if foreign == 1 { "key" } else { "keys" },
                    plan.store.prefix,
                    match url.has_numbered_databases() {
                        true => " (another database number will do)",
                        false => "",
                    }
                ));
            }
        }
    }
    leaseproof_store::facts(url, STORE_PATIENCE).map_err(hint)
}

/// Sorts by time, and is unique: the process is part of it.
fn run_id(seed: u64) -> String {
    let now = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S");
    format!("{now}-{}-{seed}", std::process::id())
}

/// What a run that is refused must not leave behind: the folders that weren't there before.
#[derive(Default)]
struct Traces(Vec<PathBuf>);

impl Traces {
    /// Notes which folders on the way to `dir` aren't there yet.
    fn will_make(&mut self, dir: &Path) {
        let missing = dir
            .ancestors()
            .take_while(|path| !path.as_os_str().is_empty() && !path.exists());
        self.0.extend(missing.map(Path::to_owned));
    }

    /// Removes them where they are empty, the deepest first: what somebody else put there stays.
    fn remove(mut self) {
        self.0.sort_by_key(|path| std::cmp::Reverse(path.components().count()));
        for path in &self.0 {
            let _ = std::fs::remove_dir(path);
        }
    }
}
