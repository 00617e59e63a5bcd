//! What many leases cost the monitor: CPU time and memory, over growing numbers.

use super::http::{get, series};
use super::load::{Load, Store};
use crate::build;
use clap::Args;
use leaseproof_proc::cpu;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The arguments.
#[derive(Args)]
pub struct BenchArgs {
    /// The store.
    #[arg(long, value_enum, default_value_t = Store::Redis)]
    store: Store,
    /// How many leases (can be given again) [default: 1000, 10000, and on Redis 100000].
    #[arg(long)]
    leases: Vec<usize>,
    /// How long each is measured.
    #[arg(long, default_value_t = 30)]
    seconds: u64,
    /// The binary to examine, built already [default: the release build of this tree].
    #[arg(long)]
    program: Option<PathBuf>,
}

/// How often the metrics are scraped meanwhile.
const SCRAPE: Duration = Duration::from_secs(5);

/// Measures.
pub fn run(args: &BenchArgs) -> Result<bool, String> {
    let program = match &args.program {
        Some(program) => program.clone(),
        None => build::leaseproof()?,
    };
    let counts = match args.leases.is_empty() {
        true if args.store == Store::Redis => vec![1000, 10_000, 100_000],
        true => vec![1000, 10_000],
        false => args.leases.clone(),
    };
    let load = Load::start(args.store)?;
    println!("| leases | readings a second | cores, monitor | RSS at most, monitor | cores, store | round | scrape |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for count in counts {
        println!("{}", measure(&program, &load, count, args.seconds)?);
    }
    Ok(true)
}

fn measure(program: &PathBuf, load: &Load, count: usize, seconds: u64) -> Result<String, String> {
    let stop = Arc::new(AtomicBool::new(false));
    let renewer = load.renew(count, Arc::clone(&stop))?;
    let monitor = Monitor::start(program, load, count)?;
    // The first rounds also find the memory that it needs.
    monitor.rounds(3)?;
    let pids = [monitor.child.id(), load.pid()];
    let cpu_now = || pids.map(|pid| cpu::total([pid]).unwrap_or(0));
    let (began, before, rounds) = (
        Instant::now(),
        cpu_now(),
        monitor.series("leaseproof_watch_rounds_total")?,
    );
    let mut scrape = Duration::ZERO;
    while began.elapsed() < Duration::from_secs(seconds) {
        let asked = Instant::now();
        let leases = monitor.series("leaseproof_watch_leases")?;
        scrape = scrape.max(asked.elapsed());
        if leases != count as f64 {
            return Err(format!("it watches {leases} leases of {count}"));
        }
        std::thread::sleep(SCRAPE.saturating_sub(asked.elapsed()));
    }
    let (took, after) = (began.elapsed(), cpu_now());
    let rounds = monitor.series("leaseproof_watch_rounds_total")? - rounds;
    let round = monitor.series("leaseproof_watch_round_seconds")?;
    let cores = |at: usize| (after[at] - before[at]) as f64 / took.as_nanos() as f64;
    let memory = monitor.memory_mib()?;
    stop.store(true, Ordering::Relaxed);
    renewer.join().map_err(|_| "the renewals failed".to_owned())??;
    Ok(format!(
        "| {count} | {:.0} | {:.3} | {memory:.0} MiB | {:.3} | {round:.2} s | {:.0} ms |",
        rounds * count as f64 / took.as_secs_f64(),
        cores(0),
        cores(1),
        scrape.as_secs_f64() * 1000.0,
    ))
}

/// A running monitor; killed when dropped.
struct Monitor {
    child: Child,
    address: String,
    dir: PathBuf,
}

impl Monitor {
    fn start(program: &PathBuf, load: &Load, count: usize) -> Result<Self, String> {
        let dir = std::env::temp_dir().join(format!("leaseproof-xtask-watch-{}", std::process::id()));
        std::fs::create_dir_all(&dir).map_err(|error| error.to_string())?;
        let plan = dir.join("plan.toml");
        let text = format!(
            "[budget]\nttl = \"60s\"\nheartbeat = \"10s\"\nworst_pause = \"30s\"\n[store]\nurl = \"{}\"\n[watch]\n\
             listen = \"127.0.0.1:0\"\n[[watch.lease]]\nprefix = \"bench/{count}/\"\nmax = {count}\n",
            load.url()
        );
        std::fs::write(&plan, text).map_err(|error| error.to_string())?;
        let mut child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--"])
            .arg(program)
            .arg("watch")
            .arg(&plan)
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("the monitor can't be started: {error}"))?;
        let stdout = child.stdout.take().ok_or("no output")?;
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let address = lines
            .find_map(|line| {
                Some(
                    line.strip_prefix("metrics: http://")?
                        .trim_end_matches("/metrics")
                        .to_owned(),
                )
            })
            .ok_or("the monitor ended at once")?;
        // What it tells is read on, so that it never waits for us.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Self { child, address, dir })
    }

    fn series(&self, name: &str) -> Result<f64, String> {
        let page = get(&self.address, "/metrics").ok_or("the metrics can't be read")?;
        series(&page, name).ok_or_else(|| format!("there is no {name}"))
    }

    fn rounds(&self, count: u32) -> Result<(), String> {
        let end = Instant::now() + Duration::from_secs(120);
        while self.series("leaseproof_watch_rounds_total")? < f64::from(count) {
            if Instant::now() > end {
                return Err("it reads nothing".to_owned());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    fn memory_mib(&self) -> Result<f64, String> {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        kib.map(|kib| kib / 1024.0)
            .ok_or_else(|| "the kernel does not say".to_owned())
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
