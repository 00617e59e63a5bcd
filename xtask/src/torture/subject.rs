//! One run of `leaseproof verify` in its cage.

use super::cage::{Cage, MARK};
use crate::plan::QUICK;
use leaseproof_model::name::ProcessId;
use leaseproof_proc::identity;
use leaseproof_proc::pidfd::PidFd;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What is run.
#[derive(Clone, Debug)]
pub struct Manner {
    /// The store's URL; `None` for an embedded one in the run's folder.
    pub store: Option<String>,
    /// `--freeze`.
    pub freeze: &'static str,
    /// `--jobs`: with few, a killed run has scenarios that never began.
    pub jobs: Option<u32>,
    /// `LEASEPROOF_DIE_AT`.
    pub die_at: Option<String>,
}

/// A running subject.
pub struct Subject {
    program: PathBuf,
    child: Child,
    held: PidFd,
    dir: PathBuf,
    manner: Manner,
    /// Its cage.
    pub cage: Cage,
    /// When it was started.
    pub began: Instant,
}

impl Subject {
    /// Starts one, with its files below `dir`.
    pub fn start(program: &Path, dir: &Path, number: usize, manner: &Manner) -> Result<Self, String> {
        std::fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
        let cage = Cage::build(number);
        let file = |name: &str| File::create(dir.join(name)).map_err(|error| error.to_string());
        // It enters the group before it becomes leaseproof: nothing of it is ever outside.
        let script = "[ -z \"$1\" ] || echo $$ > \"$1\"/cgroup.procs || exit 120; shift; exec \"$@\"";
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script, "sh"]);
        command.arg(cage.folder().unwrap_or(Path::new("")));
        command.arg(program).arg("verify").args(arguments(dir, manner));
        if let Some(point) = &manner.die_at {
            command.env(leaseproof_fault::torture_points::VARIABLE, point);
        }
        let child = command
            .env(MARK, cage.mark())
            .current_dir(dir)
            .stdin(Stdio::null())
            .stdout(file("verify.out")?)
            .stderr(file("verify.err")?)
            // A foreground group of its own, as a shell would give it.
            .process_group(0)
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        // Not reaped, so the pid is still its.
        let held = identity::identify(child.id())
            .and_then(PidFd::open)
            .map_err(|error| format!("the run that was just started: {error}"))?;
        Ok(Self {
            program: program.to_owned(),
            child,
            held,
            dir: dir.to_owned(),
            manner: manner.clone(),
            cage,
            began: Instant::now(),
        })
    }

    /// Its process.
    pub fn id(&self) -> ProcessId {
        self.held.id()
    }

    /// The folder of its runs.
    pub fn out(&self) -> PathBuf {
        self.dir.join("out")
    }

    /// Sleeps until `at` after its start; false when it ended before.
    pub fn reaches(&self, at: Duration) -> bool {
        !self.held.wait_ended(at.saturating_sub(self.began.elapsed()))
    }

    /// Signals the process.
    pub fn signal(&self, signal: Signal) {
        let _ = self.held.signal(signal);
    }

    /// Signals its group, as a terminal does.
    pub fn signal_group(&self, signal: Signal) {
        if let Some(group) = i32::try_from(self.id().pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, signal);
        }
    }

    /// Waits for its end.
    pub fn wait(&mut self, timeout: Duration) -> Option<ExitStatus> {
        if self.held.wait_ended(timeout) {
            self.child.wait().ok()
        } else {
            None
        }
    }

    /// The folder of its embedded store.
    pub fn stores(&self) -> &Path {
        &self.dir
    }

    /// The URL of its store, where that is a server.
    pub fn server(&self) -> Option<&str> {
        self.manner.store.as_deref()
    }

    /// The journals that are there, and the notes of what is left in servers.
    pub fn journals(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.out().join(".warden"));
        entries
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect()
    }

    /// Its warden, by the journal's first line.
    pub fn warden(&self) -> Option<ProcessId> {
        let journal = self.journals().into_iter().find(|path| is_named(path, "warden-"))?;
        let text = std::fs::read_to_string(journal).ok()?;
        let header: serde_json::Value = serde_json::from_str(text.lines().next()?).ok()?;
        serde_json::from_value(header.get("warden")?.clone()).ok()
    }

    /// The folders of runs.
    pub fn bundles(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.out());
        let mut bundles: Vec<PathBuf> = entries
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.join("events.jsonl").is_file())
            .collect();
        bundles.sort();
        bundles
    }

    /// Another command of leaseproof, in the same folder and outside of the cage.
    pub fn command(&self, words: &[&str]) -> std::io::Result<std::process::Output> {
        Command::new(&self.program)
            .args(words)
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .output()
    }

    /// A short run over the same folder, which heals first.
    pub fn next_start(&self) -> std::io::Result<std::process::Output> {
        let manner = Manner {
            die_at: None,
            ..self.manner.clone()
        };
        Command::new(&self.program)
            .arg("verify")
            .args(arguments(&self.dir, &manner))
            .args(["--scenario", "stale-token"])
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .output()
    }
}

/// Whether a file's name begins so.
pub fn is_named(path: &Path, prefix: &str) -> bool {
    path.file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with(prefix))
}

impl Drop for Subject {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn arguments(dir: &Path, manner: &Manner) -> Vec<String> {
    let mut words: Vec<String> = QUICK.iter().chain(&["--quiet"]).map(|&word| word.to_owned()).collect();
    let store = manner
        .store
        .clone()
        .unwrap_or_else(|| format!("sqlite:{}", dir.join("locks.db").display()));
    let out = dir.join("out").display().to_string();
    words.extend(["--store".to_owned(), store, "--out".to_owned(), out]);
    words.extend(["--freeze".to_owned(), manner.freeze.to_owned()]);
    if let Some(jobs) = manner.jobs {
        words.extend(["--jobs".to_owned(), jobs.to_string()]);
    }
    words
}
