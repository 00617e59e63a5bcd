//! A `hold` of a test's own, in a folder of its own, on an SQLite file there; killed with all of its tree when dropped.

use leaseproof_proc::family::Family;
use leaseproof_proc::{identity, stat};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longer than anything here takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);

/// A TTL of 3 s, a SIGTERM 350 ms and a SIGKILL 50 ms before its end.
pub const BUDGET: &[&str] = &[
    "--ttl",
    "3s",
    "--heartbeat",
    "500ms",
    "--renew-timeout",
    "400ms",
    "--worst-pause",
    "500ms",
    "--grace",
    "300ms",
];

/// Says the boot clock again and again, to 10 ms, until it is ended.
pub const TICKS: &str = r"while :; do read now _ </proc/uptime; echo $now >>ticks; sleep 0.02; done";

/// A folder with a store, for the `hold`s of one test.
pub struct Room {
    folder: TempDir,
    pub url: String,
}

impl Room {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite:{}", folder.path().join("locks.db").display());
        Self { folder, url }
    }

    pub fn on(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            ..Self::new()
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// `hold OPTIONS… URL key -- COMMAND…`, with the test's budget.
    pub fn command(&self, options: &[&str], command: &[&str]) -> Command {
        // What a test sets itself is not set twice.
        let budget = BUDGET.chunks(2).filter(|pair| !options.contains(&pair[0])).flatten();
        let mut hold = Command::new(env!("CARGO_BIN_EXE_leaseproof"));
        hold.arg("hold")
            .args(budget)
            .args(options)
            .args([self.url.as_str(), "canary/key", "--"])
            .args(command)
            .current_dir(self.folder.path())
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        hold
    }

    /// Runs it to its end: status, stdout, stderr.
    pub fn run(&self, options: &[&str], command: &[&str]) -> (i32, String, String) {
        let output = self.command(options, command).output().expect("hold runs");
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.code().expect("it exits"),
            text(&output.stdout),
            text(&output.stderr),
        )
    }

    /// Starts it, with its events in a file.
    pub fn start(&self, options: &[&str], command: &[&str]) -> Held<'_> {
        self.start_as(self.command(&[&["--events", "events"], options].concat(), command))
    }

    pub fn start_as(&self, mut command: Command) -> Held<'_> {
        let _ = fs::remove_file(self.path("events"));
        let child = command.spawn().expect("hold starts");
        let root = identity::identify(child.id()).expect("it is there");
        Held {
            room: self,
            child,
            family: Family {
                root,
                mark: None,
                cgroup: None,
            },
        }
    }
}

/// Waits for a condition.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process is there, and no zombie.
pub fn lives(pid: u32) -> bool {
    stat::read(pid).is_ok_and(|row| !row.is_over())
}

pub fn signal(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a pid");
    // One that is gone is what some tests are about.
    let _ = kill_process(pid, signal);
}

/// A running `hold`.
pub struct Held<'a> {
    room: &'a Room,
    child: Child,
    family: Family,
}

impl Held<'_> {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn events(&self) -> Vec<Value> {
        let text = self.room.read("events");
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// The last event of this kind, once there is one: `lease` or `hold`, and its name.
    pub fn event(&self, kind: &str, name: &str) -> Value {
        until(name, || {
            self.events().into_iter().rev().find(|event| event[kind] == name)
        })
    }

    /// The command's first process.
    pub fn command(&self) -> u32 {
        let pid = self.event("hold", "started")["pid"].as_u64().expect("a pid");
        u32::try_from(pid).expect("a pid")
    }

    /// The guardian.
    pub fn guardian(&self) -> u32 {
        stat::read(self.command()).expect("it is there").parent
    }

    /// Once the command has ticked.
    pub fn ticking(&self) -> u32 {
        until("a tick", || (!self.room.read("ticks").is_empty()).then_some(()));
        self.command()
    }

    /// The last tick of the command and the last end of validity, in seconds of the boot clock.
    pub fn last_tick(&self) -> (f64, f64) {
        let ticks = self.room.read("ticks");
        let tick = ticks
            .lines()
            .last()
            .and_then(|line| line.parse().ok())
            .expect("it ticked");
        let ends = self
            .events()
            .into_iter()
            .filter_map(|event| event["valid_until_boot_ns"].as_f64());
        (tick, ends.fold(0.0, f64::max) / 1e9)
    }

    /// Its exit status.
    pub fn status(&mut self) -> i32 {
        until("the end of hold", || {
            self.child.try_wait().expect("it can be waited for")
        })
        .code()
        .expect("it exits by itself")
    }

    /// After it was killed.
    pub fn reap(&mut self) {
        until("the end of hold", || {
            self.child.try_wait().expect("it can be waited for")
        });
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            let _ = self.family.kill(PATIENCE);
            let _ = self.child.wait();
        }
    }
}
