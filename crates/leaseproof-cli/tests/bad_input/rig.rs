//! A room of a test's own: a working folder, the program run in it, and a look at what is left.

#[path = "../../../leaseproof-store/tests/tls_rig/mod.rs"]
pub mod tls_rig;

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_leaseproof");

/// The quickest plan that still means something.
const QUICK: [&str; 8] = [
    "--ttl",
    "1s",
    "--heartbeat",
    "250ms",
    "--worst-pause",
    "400ms",
    "--renew-timeout",
    "150ms",
];

/// A busy machine may make a sound owner's run "cannot tell": so often it is tried.
const TRIES: usize = 4;

/// What a run of the program came to.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ran {
    /// Refused before anything started: one message, exit 2, no verdict.
    #[track_caller]
    pub fn refused(&self, needles: &[&str]) {
        assert_eq!(self.code, Some(2), "{self:#?}");
        assert_eq!(self.stdout, "", "{self:#?}");
        let errors = self.stderr.lines().filter(|line| line.starts_with("error:")).count();
        assert_eq!(errors, 1, "{self:#?}");
        for needle in needles {
            assert!(self.stderr.contains(needle), "{needle:?} is missing in {self:#?}");
        }
        self.no_panic();
    }

    /// Ran, and cannot tell.
    #[track_caller]
    pub fn cannot_tell(&self, needles: &[&str]) {
        assert_eq!(self.code, Some(3), "{self:#?}");
        // Words may be wrapped.
        let said = self.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        for needle in needles {
            assert!(said.contains(needle), "{needle:?} is missing in {self:#?}");
        }
        self.no_panic();
    }

    #[track_caller]
    pub fn proven(&self) {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self.no_panic();
    }

    #[track_caller]
    pub fn no_panic(&self) {
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// A working folder.
pub struct Room {
    dir: tempfile::TempDir,
}

/// Looks until it is so.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < patience, "it never came to be that {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

impl Room {
    pub fn new() -> Self {
        Self {
            dir: tempfile::tempdir().expect("a folder"),
        }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, text).expect("a file");
        path
    }

    /// A script that can be run.
    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.write(name, &format!("#!/bin/sh\n{text}\n"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it is made executable");
        path
    }

    /// A key and a certificate of its own for `localhost`, NAME.key and NAME.pem; or why there is none.
    pub fn certificate(&self, name: &str) -> Result<(String, String), String> {
        let made = tls_rig::certificate_for(self.path(), name, "DNS:localhost")?;
        let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
        Ok((text(&made.key), text(&made.pem)))
    }

    pub fn command<I: IntoIterator<Item = S>, S: AsRef<std::ffi::OsStr>>(&self, arguments: I) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(arguments)
            .current_dir(self.path())
            .env_remove("NO_COLOR")
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).output().expect("the program starts").into()
    }

    /// A quick run with more arguments.
    pub fn quick(&self, more: &[&str]) -> Ran {
        self.run(&quick(more))
    }

    /// A quick run of an owner that is sound.
    #[track_caller]
    pub fn quick_proven(&self, more: &[&str]) -> Ran {
        for _ in 1..TRIES {
            let ran = self.quick(more);
            if ran.code != Some(3) {
                ran.proven();
                return ran;
            }
        }
        let ran = self.quick(more);
        ran.proven();
        ran
    }

    pub fn spawn(&self, arguments: &[&str]) -> Child {
        self.command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts")
    }

    /// Everything in the room.
    pub fn files(&self) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        walk(self.path(), &mut found);
        found
    }

    /// The bundles, in the order of their runs.
    pub fn bundles(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.path().join(".leaseproof/runs")) else {
            return Vec::new();
        };
        let mut found: Vec<_> = entries
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.file_name().is_some_and(|name| name != ".warden"))
            .collect();
        found.sort();
        found
    }

    /// No process of a run is left, no journal, no file but the run's folder and the test's own.
    #[track_caller]
    pub fn nothing_left(&self, own: &[&str]) {
        self.nothing_running();
        for entry in std::fs::read_dir(self.path()).expect("the room") {
            let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
            assert!(
                name == ".leaseproof" || own.contains(&name.as_str()),
                "left behind: {name}"
            );
        }
        for path in self.files() {
            let name = path.display().to_string();
            let bad = ["warden-", "/stage/", ".part", ".room", "locks."];
            assert!(!bad.iter().any(|bad| name.contains(bad)), "left behind: {name}");
        }
    }

    /// No process of a run is left.
    #[track_caller]
    pub fn nothing_running(&self) {
        let patience = Instant::now() + Duration::from_secs(30);
        until("no process is left running", || {
            let left = self.processes();
            assert!(left.is_empty() || Instant::now() < patience, "left running: {left:#?}");
            left.is_empty()
        });
    }

    /// Processes that work in this room or name it.
    fn processes(&self) -> Vec<String> {
        let here = self.path().display().to_string();
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
            let proc = entry.path();
            let cwd = std::fs::read_link(proc.join("cwd")).unwrap_or_default();
            let line = std::fs::read(proc.join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            if cwd.starts_with(self.path()) || line.contains(&here) && !line.contains("redis-server") {
                found.push(format!("{}: {line}", proc.display()));
            }
        }
        found
    }
}

fn walk(dir: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, found);
        }
        found.insert(path);
    }
}

/// One cycle of the quickest scenario, with more arguments.
pub fn quick<'a>(more: &[&'a str]) -> Vec<&'a str> {
    quickly("clean-release", more)
}

/// One cycle of a scenario by the quick plan, with more arguments.
pub fn quickly<'a>(scenario: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["verify"];
    words.extend(QUICK);
    words.extend(["--cycles", "1", "--quiet", "--scenario", scenario]);
    words.extend(more);
    words
}
