//! The alert under a real Prometheus: a sound owner that is paused again and again never fires it, and a
//! flawed one does.

use super::http::get;
use crate::build;
use crate::redis_server::RedisServer;
use clap::Args;
use leaseproof_model::name::OwnerName;
use leaseproof_model::scenario::WitnessMode;
use leaseproof_proc::pidfd::PidFd;
use leaseproof_proc::stat;
use leaseproof_witness::{Place, Setup, Witness};
use rustix::process::Signal;
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The arguments.
#[derive(Args)]
pub struct SoakArgs {
    /// How long the sound owner is watched and paused.
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// The binary to examine, built already [default: the release build of this tree].
    #[arg(long)]
    program: Option<PathBuf>,
}

/// The pauses of the sound owner, in turn: within the margin, at its edge, around the TTL, beyond it.
const PAUSES_MS: [u64; 6] = [300, 1000, 1900, 2100, 3000, 5000];

/// Between two pauses: it acquires anew and works.
const BETWEEN: Duration = Duration::from_secs(4);

/// Soaks.
pub fn run(args: &SoakArgs) -> Result<bool, String> {
    let program = match &args.program {
        Some(program) => program.clone(),
        None => build::leaseproof()?,
    };
    let redis = RedisServer::start()
        .map_err(|why| format!("no redis-server: {why}: set LEASEPROOF_REDIS_SERVER, or run .ci/tools redis"))?;
    let dir = std::env::temp_dir().join(format!("leaseproof-xtask-soak-{}", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|error| error.to_string())?;
    let done = soak(args, &program, &redis, &dir);
    let _ = std::fs::remove_dir_all(&dir);
    done
}

fn soak(args: &SoakArgs, program: &Path, redis: &RedisServer, dir: &Path) -> Result<bool, String> {
    let setup = Setup {
        dir: dir.to_owned(),
        mode: WitnessMode::Record,
        flaw: None,
        place: Place::Thread,
    };
    let witness = Witness::start(setup, Arc::new(|_| {})).map_err(|error| error.to_string())?;
    let owner = |name: &str, flaw: &[&str]| {
        let url = witness
            .url_for(&OwnerName::from(name))
            .map_err(|error| error.to_string())?;
        let log = File::create(dir.join(format!("{name}.log"))).map_err(|error| error.to_string())?;
        let arguments = [
            "owner",
            "--store",
            &redis.url(),
            "--key",
            &format!("jobs/{name}"),
            "--owner",
            name,
            "--ttl-ms",
            "2000",
            "--heartbeat-ms",
            "500",
            "--resource",
            &url,
            "--say-writes",
        ]
        .map(str::to_owned);
        let more = flaw.iter().map(|&word| word.to_owned());
        Running::start(program, arguments.into_iter().chain(more), Stdio::from(log))
    };
    let sound = owner("sound", &[])?;
    let flawed = owner("flawed", &["--flaw", "silent-retain"])?;
    let listen = free_address()?;
    let plan = dir.join("plan.toml");
    std::fs::write(&plan, plan_text(redis, dir, &listen)).map_err(|error| error.to_string())?;
    let words = |more: &[&str]| {
        let plan = plan.display().to_string();
        let all = ["watch".to_owned(), plan].into_iter();
        all.chain(more.iter().map(|&word| word.to_owned())).collect::<Vec<_>>()
    };
    let rules = Command::new(program)
        .args(words(&["--rules"]))
        .output()
        .map_err(|error| error.to_string())?;
    std::fs::write(dir.join("rules.yml"), rules.stdout).map_err(|error| error.to_string())?;
    let monitor_log = File::create(dir.join("monitor.log")).map_err(|error| error.to_string())?;
    let _monitor = Running::start(program, words(&[]).into_iter(), Stdio::from(monitor_log))?;
    let prometheus = free_address()?;
    let _server = start_prometheus(dir, &prometheus, &listen)?;
    wait(|| firing(&prometheus, "LeaseDivergence").ok())?;

    let (end, mut pauses) = (Instant::now() + Duration::from_secs(args.minutes * 60), 0_u64);
    while Instant::now() < end {
        let pause = PAUSES_MS[usize::try_from(pauses).unwrap_or(0) % PAUSES_MS.len()];
        sound.signal(Signal::STOP)?;
        std::thread::sleep(Duration::from_millis(pause));
        sound.signal(Signal::CONT)?;
        pauses += 1;
        std::thread::sleep(BETWEEN);
        let fired = firing(&prometheus, "LeaseDivergence")?;
        if !fired.is_empty() {
            println!("the alert fired for {fired:?} after {pauses} pauses of the sound owner");
            return Ok(false);
        }
    }
    println!(
        "sound: {pauses} pauses in {} minutes, the alert never fired",
        args.minutes
    );
    flawed.signal(Signal::STOP)?;
    std::thread::sleep(Duration::from_secs(5));
    flawed.signal(Signal::CONT)?;
    let fired = wait(|| {
        firing(&prometheus, "LeaseDivergence")
            .ok()
            .filter(|fired| !fired.is_empty())
    })?;
    println!("flawed: 1 pause, the alert fired for {fired:?}");
    Ok(fired == ["flawed"])
}

fn plan_text(redis: &RedisServer, dir: &Path, listen: &str) -> String {
    let mut text = format!(
        "[budget]\nttl = \"2s\"\nheartbeat = \"500ms\"\nworst_pause = \"1s\"\n[store]\nurl = \"{}\"\n[watch]\n\
         listen = \"{listen}\"\n",
        redis.url()
    );
    for name in ["sound", "flawed"] {
        let log = dir.join(format!("{name}.log"));
        text += &format!(
            "[[watch.lease]]\nkey = \"jobs/{name}\"\nname = \"{name}\"\nowner = {{ log = \"{}\" }}\n",
            log.display()
        );
    }
    text
}

fn start_prometheus(dir: &Path, address: &str, target: &str) -> Result<Running, String> {
    let program = std::env::var("LEASEPROOF_PROMETHEUS").unwrap_or_else(|_| "prometheus".to_owned());
    let config = format!(
        "global: {{ scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }}\nrule_files: [rules.yml]\n\
         scrape_configs:\n  - job_name: leases\n    static_configs: [{{ targets: ['{target}'] }}]\n"
    );
    std::fs::write(dir.join("prometheus.yml"), config).map_err(|error| error.to_string())?;
    let arguments = [
        format!("--config.file={}", dir.join("prometheus.yml").display()),
        format!("--storage.tsdb.path={}", dir.join("tsdb").display()),
        format!("--web.listen-address={address}"),
        "--log.level=error".to_owned(),
    ];
    Running::start(Path::new(&program), arguments.into_iter(), Stdio::null())
}

/// The leases for which the alert fires now.
fn firing(prometheus: &str, alert: &str) -> Result<Vec<String>, String> {
    let body = get(prometheus, "/api/v1/alerts").ok_or("prometheus does not answer")?;
    let answer: Value = serde_json::from_str(&body).map_err(|error| error.to_string())?;
    let alerts = answer["data"]["alerts"]
        .as_array()
        .ok_or("prometheus answers something else")?;
    let of = alerts
        .iter()
        .filter(|it| it["labels"]["alertname"] == alert && it["state"] == "firing");
    Ok(of
        .map(|it| it["labels"]["lease"].as_str().unwrap_or_default().to_owned())
        .collect())
}

fn wait<T>(mut look: impl FnMut() -> Option<T>) -> Result<T, String> {
    let end = Instant::now() + Duration::from_secs(120);
    while Instant::now() < end {
        if let Some(it) = look() {
            return Ok(it);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Err("it never came".to_owned())
}

fn free_address() -> Result<String, String> {
    let port = leaseproof_proc::ports::one().map_err(|error| error.to_string())?;
    Ok(format!("127.0.0.1:{port}"))
}

/// A process and its children; killed when dropped, and when we are.
struct Running(Child);

impl Running {
    fn start(program: &Path, words: impl Iterator<Item = String>, stdout: Stdio) -> Result<Self, String> {
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--"])
            .arg(program)
            .args(words)
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(Stdio::null())
            .spawn();
        child
            .map(Self)
            .map_err(|error| format!("{} can't be started: {error}", program.display()))
    }

    /// To the whole tree, each process through its pidfd.
    fn signal(&self, signal: Signal) -> Result<(), String> {
        let root = self.0.id();
        let all = stat::all().map_err(|error| error.to_string())?;
        for process in all.iter().filter(|it| it.id.pid == root || it.parent == root) {
            let held = PidFd::open(process.id).map_err(|error| error.to_string())?;
            held.signal(signal).map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.signal(Signal::KILL);
        let _ = self.0.wait();
    }
}
