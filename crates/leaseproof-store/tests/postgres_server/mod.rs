//! A PostgreSQL server of a test's own: on a free loopback port, its files in a folder of its own that
//! nothing is flushed to, killed when dropped and when this process dies. Copy this file where another
//! crate's tests need one; it uses std, tempfile and rustix.
//!
//! Found by `LEASEPROOF_POSTGRES`, `LEASEPROOF_INITDB` and `LEASEPROOF_PSQL`, else on PATH, else where
//! Debian puts them. PostgreSQL refuses to run as root: then `nobody` runs it. Where there is none a
//! test says `skipped: why` loudly and ends.
//!
//! The user `postgres` may log in without a password, any other needs one.

#![allow(dead_code, reason = "each test file uses a part of this fixture")]

use rustix::process::{Pid, Signal, geteuid, kill_process};
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The user and the group that everybody has.
const NOBODY: u32 = 65_534;

const LOGINS: &str = "\
host all postgres 127.0.0.1/32 trust
host replication postgres 127.0.0.1/32 trust
host all all 127.0.0.1/32 scram-sha-256
";

/// Small, quick, and told to nobody but us.
const SETTINGS: &[&str] = &[
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "fsync=off",
    "shared_buffers=16MB",
    "max_connections=40",
    "autovacuum_naptime=5s",
    // Else a server that is killed leaves a file outside of its folder.
    "dynamic_shared_memory_type=mmap",
];

/// A running server.
pub struct PostgresServer {
    settings: Vec<String>,
    port: u16,
    folder: tempfile::TempDir,
    child: Child,
}

/// Ends a test that can't run here, so that nobody overlooks it.
pub fn skip(test: &str, why: &str) {
    // Straight to the terminal's stderr: the harness captures what println writes.
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {why}");
}

fn program(variable: &str, name: &str) -> PathBuf {
    if let Some(path) = std::env::var_os(variable) {
        return PathBuf::from(path);
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let debian = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    std::env::split_paths(&folders)
        .chain(debian.map(|version| version.path().join("bin")))
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
        .unwrap_or_else(|| PathBuf::from(name))
}

/// As this user, or as nobody where this one is root; ends with the thread that starts it.
fn unprivileged(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    if geteuid().is_root() {
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    }
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command.stdin(Stdio::null());
    command
}

/// Gives a file to whoever runs the server.
fn hand_over(path: &Path) -> Result<(), String> {
    if !geteuid().is_root() {
        return Ok(());
    }
    chown(path, Some(NOBODY), Some(NOBODY)).map_err(|error| format!("{}: {error}", path.display()))
}

impl PostgresServer {
    /// Starts a server; the error says why there is none.
    pub fn start() -> Result<Self, String> {
        Self::start_with(&[])
    }

    /// Starts a server with more settings (`ssl=on`).
    pub fn start_with(settings: &[&str]) -> Result<Self, String> {
        let folder = folder()?;
        let output = unprivileged(&program("LEASEPROOF_INITDB", "initdb"))
            .args(["--username=postgres", "--auth=trust", "--no-sync", "--locale=C"])
            .args(["--encoding=UTF8", "--pgdata"])
            .arg(data(&folder))
            .output()
            .map_err(|error| format!("setpriv can't be started: {error}"))?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            return Err(format!("initdb fails: {}", words.trim()));
        }
        let file = data(&folder).join("pg_hba.conf");
        std::fs::write(&file, LOGINS).map_err(|error| format!("{}: {error}", file.display()))?;
        Self::start_in(folder, settings)
    }

    /// Starts a standby of this server, on a copy of its files.
    pub fn start_standby(&self) -> Result<Self, String> {
        let folder = folder()?;
        let copy = unprivileged(&program("LEASEPROOF_PG_BASEBACKUP", "pg_basebackup"))
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", "postgres"])
            .args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--pgdata"])
            .arg(data(&folder))
            .output()
            .map_err(|error| format!("setpriv can't be started: {error}"))?;
        if !copy.status.success() {
            let words = String::from_utf8_lossy(&copy.stderr);
            return Err(format!("pg_basebackup fails: {}", words.trim()));
        }
        Self::start_in(folder, &[])
    }

    fn start_in(folder: tempfile::TempDir, settings: &[&str]) -> Result<Self, String> {
        let settings: Vec<String> = settings.iter().map(|&text| text.to_owned()).collect();
        let mut last = String::new();
        // Another process may take the free port first.
        for _ in 0..5 {
            let port = leaseproof_proc::ports::one().expect("loopback has a free port");
            let mut child = spawn(&folder, port, &settings)?;
            match wait_ready(&mut child, &folder) {
                Ok(()) => {
                    return Ok(Self {
                        settings,
                        port,
                        folder,
                        child,
                    });
                }
                Err(error) => last = error,
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        Err(last)
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `postgres://postgres@127.0.0.1:PORT/postgres`.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// What psql prints for these statements, as the user `postgres`: a row a line, columns by `|`.
    pub fn psql(&self, statements: &str) -> String {
        self.psql_with(&[], statements)
    }

    /// The same with variables, which stand as `:'name'` in the statements.
    pub fn psql_with(&self, variables: &[(&str, &str)], statements: &str) -> String {
        let output = self
            .session(variables, statements)
            .wait_with_output()
            .expect("psql ends");
        assert!(output.status.success(), "psql {statements}: {output:?}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// A psql that was given these statements, and is still at them.
    pub fn session(&self, variables: &[(&str, &str)], statements: &str) -> Child {
        let mut child = Command::new(program("LEASEPROOF_PSQL", "psql"))
            .args(["-X", "-A", "-t", "-q", "-h", "127.0.0.1", "-p", &self.port.to_string()])
            .args(["-U", "postgres", "-d", "postgres", "-v", "ON_ERROR_STOP=1", "-f", "-"])
            .args(
                variables
                    .iter()
                    .flat_map(|(name, value)| ["-v".to_owned(), format!("{name}={value}")]),
            )
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("psql runs (set LEASEPROOF_PSQL)");
        let mut input = child.stdin.take().expect("its input");
        input.write_all(statements.as_bytes()).expect("psql reads");
        child
    }

    /// Its own folder; what is there is gone when it is dropped.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// Gives a file of its folder to the server alone, as it demands of its key.
    pub fn own_file(&self, name: &str) {
        let file = self.folder.path().join(name);
        std::fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("its mode can be set");
        hand_over(&file).expect("it can be handed over");
    }

    /// Lets in whom these lines of pg_hba.conf say, beside the user `postgres`.
    pub fn allow(&self, lines: &str) {
        let own = LOGINS.lines().filter(|line| line.contains(" postgres "));
        let text: String = own.chain(lines.lines()).map(|line| format!("{line}\n")).collect();
        std::fs::write(data(&self.folder).join("pg_hba.conf"), text).expect("it can be written");
        let before = self.psql("SELECT pg_conf_load_time()");
        self.psql("SELECT pg_reload_conf()");
        self.wait_until(&format!("SELECT pg_conf_load_time() > '{before}'"));
    }

    /// Waits until a query gives `true`.
    pub fn wait_until(&self, query: &str) {
        for _ in 0..500 {
            if self.psql(query) == "t" {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("it never came to be: {query}");
    }

    /// Stops all its processes (SIGSTOP): connections stay, nothing is answered.
    pub fn freeze(&self) {
        // The first process first, so that no new one comes after the list was made.
        signal(self.child.id(), Signal::STOP);
        for process in self.children() {
            signal(process, Signal::STOP);
        }
    }

    /// Lets them go on.
    pub fn thaw(&self) {
        for process in self.children() {
            signal(process, Signal::CONT);
        }
        signal(self.child.id(), Signal::CONT);
    }

    /// Kills all of it at once, as a crash would, and waits for its end.
    pub fn kill(&mut self) {
        let children = self.children();
        let _ = self.child.kill();
        let _ = self.child.wait();
        for process in &children {
            signal(*process, Signal::KILL);
        }
        // A server that finds another's processes in its files does not start.
        for process in children {
            for _ in 0..500 {
                if !Path::new(&format!("/proc/{process}")).exists() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }

    /// Starts it again on the same port and the same files.
    pub fn start_again(&mut self) {
        self.child = spawn(&self.folder, self.port, &self.settings).expect("it started before");
        wait_ready(&mut self.child, &self.folder).expect("it starts on its old port");
    }

    /// The server's processes but the first; they end with it.
    fn children(&self) -> Vec<u32> {
        let id = self.child.id();
        std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"))
            .unwrap_or_default()
            .split_whitespace()
            .filter_map(|id| id.parse().ok())
            .collect()
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.kill();
        // The segment by which it tells another server on its files; its pid file names it, key and id.
        let file = std::fs::read_to_string(data(&self.folder).join("postmaster.pid")).unwrap_or_default();
        let id = file.lines().nth(6).and_then(|line| line.split_whitespace().nth(1));
        if let Some(id) = id {
            let _ = Command::new("ipcrm").args(["-m", id]).stderr(Stdio::null()).status();
        }
    }
}

fn signal(process: u32, signal: Signal) {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    // It may have ended since the list was made.
    let _ = kill_process(pid.expect("a process has a pid"), signal);
}

fn folder() -> Result<tempfile::TempDir, String> {
    // It syncs its log at each change: where memory can be had as a folder, that costs nothing.
    let folder = tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .map_err(|error| format!("no folder for postgres: {error}"))?;
    hand_over(folder.path())?;
    Ok(folder)
}

fn data(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join("data")
}

fn spawn(folder: &tempfile::TempDir, port: u16, settings: &[String]) -> Result<Child, String> {
    let program = program("LEASEPROOF_POSTGRES", "postgres");
    let log = std::fs::File::create(folder.path().join("log")).map_err(|error| format!("no log: {error}"))?;
    let _ = std::fs::remove_file(data(folder).join("postmaster.pid"));
    unprivileged(&program)
        .arg("-D")
        .arg(data(folder))
        .args(["-p", &port.to_string()])
        .args(SETTINGS.iter().flat_map(|setting| ["-c", setting]))
        .args(settings.iter().flat_map(|setting| ["-c", setting.as_str()]))
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .map_err(|error| format!("setpriv can't be started: {error}"))
}

/// The server itself says in its pid file when it takes connections (a standby: when it may be read).
fn wait_ready(child: &mut Child, folder: &tempfile::TempDir) -> Result<(), String> {
    let file = data(folder).join("postmaster.pid");
    let log = || std::fs::read_to_string(folder.path().join("log")).unwrap_or_default();
    for _ in 0..1000 {
        if let Ok(Some(status)) = child.try_wait() {
            return Err(format!("postgres ended at once: {status}: {}", log().trim()));
        }
        let state = std::fs::read_to_string(&file).unwrap_or_default();
        if state
            .lines()
            .nth(7)
            .is_some_and(|line| ["ready", "standby"].contains(&line.trim()))
        {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(format!("postgres was not ready within 10 s: {}", log().trim()))
}
