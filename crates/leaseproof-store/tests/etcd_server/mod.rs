//! An etcd server of a test's own: one member on free loopback ports, in a folder of its own, ended when
//! dropped and with its parent.
//!
//! Found by `LEASEPROOF_ETCD` and `LEASEPROOF_ETCDCTL`, else on PATH; a current one by
//! `LEASEPROOF_ETCD_CURRENT` alone, which `.ci/tools etcd_current` builds. Its ticks are short, so that the
//! smallest TTL is one second.

#![allow(dead_code, reason = "each test file uses a part of this fixture")]

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::ffi::OsString;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A member that has no leader by then will have none.
const READY: Duration = Duration::from_secs(20);

/// A running server.
pub struct EtcdServer {
    program: PathBuf,
    arguments: Vec<String>,
    tls: bool,
    ports: [u16; 2],
    folder: tempfile::TempDir,
    child: Child,
}

/// The two that are tested: what people have, and what its makers maintain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// Debian's 3.4.
    Debian,
    /// A current 3.6.
    Current,
}

impl Version {
    fn program(self) -> Result<PathBuf, String> {
        match self {
            Self::Debian => Ok(program("LEASEPROOF_ETCD", "etcd")),
            Self::Current => std::env::var_os("LEASEPROOF_ETCD_CURRENT")
                .map(PathBuf::from)
                .ok_or_else(|| "LEASEPROOF_ETCD_CURRENT names no current etcd".to_owned()),
        }
    }
}

fn program(variable: &str, name: &str) -> PathBuf {
    std::env::var_os(variable).map_or_else(|| PathBuf::from(name), PathBuf::from)
}

fn free_ports() -> [u16; 2] {
    let ports = leaseproof_proc::ports::free(2).expect("loopback has free ports");
    [ports[0], ports[1]]
}

/// It syncs its log at each change: where memory can be had as a folder, that costs nothing.
fn folder() -> std::io::Result<tempfile::TempDir> {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())
}

impl EtcdServer {
    /// Starts a server; the error says why there is none.
    pub fn start() -> Result<Self, String> {
        Self::start_with(&[])
    }

    /// Starts a server with more settings, written as arguments (`--auth-token`, `simple`).
    pub fn start_with(settings: &[&str]) -> Result<Self, String> {
        Self::start_version(Version::Debian, settings)
    }

    /// Starts a server of that version, with more settings.
    pub fn start_version(version: Version, settings: &[&str]) -> Result<Self, String> {
        Self::launch(version.program()?, settings)
    }

    /// Starts a cluster of three, with the usual ticks: on a busy machine short ones would never let it
    /// keep a leader.
    pub fn start_cluster() -> Result<[Self; 3], String> {
        Self::start_cluster_of(Version::Debian)
    }

    /// The same, of that version.
    pub fn start_cluster_of(version: Version) -> Result<[Self; 3], String> {
        let program = version.program()?;
        let ports = [0; 3].map(|_| free_ports());
        let names = ["m0", "m1", "m2"];
        let all: Vec<String> = names
            .iter()
            .zip(ports)
            .map(|(name, [_, peer])| format!("{name}=http://127.0.0.1:{peer}"))
            .collect();
        let all = all.join(",");
        let mut started = Vec::new();
        for (name, ports) in names.iter().zip(ports) {
            let settings = [
                ["--name", name],
                ["--initial-cluster", &all],
                ["--heartbeat-interval", "100"],
                ["--election-timeout", "1000"],
            ];
            let arguments = settings.concat().iter().map(|&text| text.to_owned()).collect();
            started.push(Self::spawned(program.clone(), ports, arguments)?);
        }
        for member in &mut started {
            member.wait_ready()?;
        }
        started.try_into().map_err(|_| "three were started".to_owned())
    }

    /// Whether this member leads its cluster.
    pub fn leads(&self) -> bool {
        let status = self.cli(&["endpoint", "status", "--write-out", "fields"]);
        let field = |name: &str| {
            status
                .lines()
                .find_map(|line| line.strip_prefix(&format!("\"{name}\" : ")))
        };
        field("MemberID").is_some() && field("MemberID") == field("Leader")
    }

    fn launch(program: PathBuf, settings: &[&str]) -> Result<Self, String> {
        let arguments: Vec<String> = settings.iter().map(|&text| text.to_owned()).collect();
        let mut last = String::new();
        // Another process may take a free port first.
        for _ in 0..5 {
            let mut server = Self::spawned(program.clone(), free_ports(), arguments.clone())?;
            match server.wait_ready() {
                Ok(()) => return Ok(server),
                Err(error) => last = error,
            }
            server.kill();
        }
        Err(last)
    }

    fn spawned(program: PathBuf, ports: [u16; 2], arguments: Vec<String>) -> Result<Self, String> {
        let tls = arguments.iter().any(|argument| argument == "--cert-file");
        let folder = folder().map_err(|error| format!("no folder for etcd: {error}"))?;
        let child = spawn(&program, ports, tls, &folder, &arguments)?;
        Ok(Self {
            program,
            arguments,
            tls,
            ports,
            folder,
            child,
        })
    }

    pub fn port(&self) -> u16 {
        self.ports[0]
    }

    /// Its process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// `etcd://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("etcd://127.0.0.1:{}", self.port())
    }

    /// Stops the process (SIGSTOP): connections stay, nothing is answered.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
        // It has threads, and the last of them may still answer.
        waitid(WaitId::Pid(self.pid()), WaitIdOptions::STOPPED).expect("it is stopped");
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// Kills it and waits for its end.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again on the same ports, with its data.
    pub fn start_again(&mut self) {
        self.child =
            spawn(&self.program, self.ports, self.tls, &self.folder, &self.arguments).expect("it started before");
        self.wait_ready().expect("it starts on its old ports");
    }

    /// Starts it again on the same ports, without its data.
    pub fn start_again_empty(&mut self) {
        std::fs::remove_dir_all(self.folder.path().join("data")).expect("its data is there");
        self.start_again();
    }

    /// What `etcdctl ARGUMENTS` prints.
    pub fn cli(&self, arguments: &[&str]) -> String {
        let output = self.etcdctl(arguments);
        assert!(output.status.success(), "etcdctl {arguments:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// What `etcdctl ARGUMENTS` says where it fails; nothing where it does not.
    pub fn cli_fails(&self, arguments: &[&str]) -> Option<String> {
        let output = self.etcdctl(arguments);
        (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
    }

    fn etcdctl(&self, arguments: &[&str]) -> std::process::Output {
        let scheme = if self.tls { "https" } else { "http" };
        let endpoint = format!("{scheme}://localhost:{}", self.port());
        let mut command = Command::new(program("LEASEPROOF_ETCDCTL", "etcdctl"));
        command
            .env("ETCDCTL_API", "3")
            .args(["--endpoints", &endpoint, "--command-timeout", "5s"]);
        // The server's own certificate is the one to trust: to leave it unchecked is what 3.4 can't do.
        if let Some(at) = self.arguments.iter().position(|argument| argument == "--cert-file") {
            command.args(["--cacert", &self.arguments[at + 1]]);
        }
        command
            .args(arguments)
            .output()
            .expect("etcdctl runs (set LEASEPROOF_ETCDCTL)")
    }

    /// A field of the key, as `etcdctl get --write-out fields` names it.
    pub fn field(&self, key: &str, name: &str) -> Option<String> {
        let text = self.cli(&["get", "--write-out", "fields", "--", key]);
        text.lines()
            .find_map(|line| line.strip_prefix(&format!("\"{name}\" : ")))
            .map(str::to_owned)
    }

    /// The key's value.
    pub fn value(&self, key: &str) -> Option<String> {
        self.field(key, "ModRevision")?;
        Some(self.cli(&["get", "--print-value-only", "--", key]))
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("our child can be signalled");
    }

    /// Ready is a member that has a leader: a read through it is answered.
    fn wait_ready(&mut self) -> Result<(), String> {
        let began = std::time::Instant::now();
        while began.elapsed() < READY {
            if let Ok(Some(status)) = self.child.try_wait() {
                let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
                let last = log.lines().last().unwrap_or_default().to_owned();
                return Err(format!("etcd ended at once: {status}: {last}"));
            }
            if TcpStream::connect(("127.0.0.1", self.port())).is_ok() {
                // With a login the answer is a refusal, which is an answer.
                let answer = self.etcdctl(&["get", "ready"]);
                let words = String::from_utf8_lossy(&answer.stderr).into_owned();
                if answer.status.success() || words.contains("user name is empty") {
                    return Ok(());
                }
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(format!("etcd was not ready within {READY:?}"))
    }
}

impl Drop for EtcdServer {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn(
    program: &PathBuf,
    ports: [u16; 2],
    tls: bool,
    folder: &tempfile::TempDir,
    arguments: &[String],
) -> Result<Child, String> {
    let [client, peer] = ports;
    let scheme = if tls { "https" } else { "http" };
    let log = std::fs::File::create(folder.path().join("log")).map_err(|error| format!("no log for etcd: {error}"))?;
    // It ends with us also when we are killed: setpriv is part of every Debian and Ubuntu.
    let mut command = Command::new("setpriv");
    command
        .args(["--pdeathsig", "KILL", "--"])
        .arg(program)
        .args(["--name", "m", "--heartbeat-interval", "10", "--election-timeout", "100"])
        .args([OsString::from("--data-dir"), folder.path().join("data").into()])
        .args(["--listen-client-urls", &format!("{scheme}://127.0.0.1:{client}")])
        .args(["--advertise-client-urls", &format!("{scheme}://127.0.0.1:{client}")])
        .args(["--listen-peer-urls", &format!("http://127.0.0.1:{peer}")])
        .args(["--initial-advertise-peer-urls", &format!("http://127.0.0.1:{peer}")])
        .args(["--initial-cluster", &format!("m=http://127.0.0.1:{peer}")])
        .args(arguments)
        // Debian builds it for more machines than its makers test it on.
        .env("ETCD_UNSUPPORTED_ARCH", "arm64")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .map_err(|error| format!("{} can't be started: {error}", program.display()))
}
