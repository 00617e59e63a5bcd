//! A Consul agent of a test's own, a cluster of one: on free loopback ports, in memory, with a short least
//! TTL, killed when dropped, or when the test is.
//!
//! Found by `LEASEPROOF_CONSUL`, else on PATH. Where there is none a test says `skipped: why` loudly and
//! ends.

#![allow(dead_code, reason = "each test file uses a part of this fixture")]

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The least TTL; a session lives for twice as long.
pub const LEAST: Duration = Duration::from_millis(200);

/// A running agent.
pub struct ConsulServer {
    port: u16,
    folder: tempfile::TempDir,
    child: Child,
}

/// An entry as `consul kv get` shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlainEntry {
    pub value: String,
    pub modify_index: u64,
    pub session: Option<String>,
}

fn program() -> PathBuf {
    std::env::var_os("LEASEPROOF_CONSUL").map_or_else(|| PathBuf::from("consul"), PathBuf::from)
}

impl ConsulServer {
    /// Starts an agent; the error says why there is none.
    pub fn start() -> Result<Self, String> {
        Self::start_with("")
    }

    /// Starts an agent with more settings: JSON members, each with a comma before it. `{port}` in them is a
    /// free port.
    pub fn start_with(settings: &str) -> Result<Self, String> {
        // It syncs its log at each change: where memory can be had as a folder, that costs nothing.
        let folder = tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .map_err(|error| format!("no folder for Consul: {error}"))?;
        let mut last = String::new();
        // Another process may take a free port first.
        for _ in 0..5 {
            let ports = leaseproof_proc::ports::free(4).expect("loopback has free ports");
            let [port, server, serf, free] = ports[..] else {
                unreachable!("four were asked for")
            };
            let config = format!(
                r#"{{"bind_addr": "127.0.0.1", "client_addr": "127.0.0.1", "disable_update_check": true,
                "session_ttl_min": "{}ms", "ports": {{"http": {port}, "server": {server}, "serf_lan": {serf},
                "serf_wan": -1, "dns": -1, "grpc": -1, "https": {}}} {}}}"#,
                LEAST.as_millis(),
                if settings.contains("cert_file") {
                    i32::from(free)
                } else {
                    -1
                },
                settings.replace("{port}", &free.to_string())
            );
            std::fs::write(folder.path().join("agent.json"), config).map_err(|error| error.to_string())?;
            std::fs::write(folder.path().join("https"), free.to_string()).map_err(|error| error.to_string())?;
            let mut child = spawn(&folder)?;
            match wait_ready(&mut child, port) {
                Ok(()) => return Ok(Self { port, folder, child }),
                Err(error) => last = error,
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        Err(last)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The port of TLS, where the settings name a certificate.
    pub fn https_port(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("https")).expect("it was written")
    }

    /// `consul://127.0.0.1:PORT?lock_delay=0s`: without the delay that a test would wait for.
    pub fn url(&self) -> String {
        format!("consul://127.0.0.1:{}?lock_delay=0s", self.port)
    }

    /// Stops the process (SIGSTOP): connections stay, nothing is answered.
    pub fn freeze(&self) {
        let pid = self.signal(Signal::STOP);
        // A thread that runs goes on until it notices; the kernel says when all of them have.
        waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED).expect("our child stops");
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

    /// Starts it again on the same ports, empty.
    pub fn start_again(&mut self) {
        self.child = spawn(&self.folder).expect("it started before");
        wait_ready(&mut self.child, self.port).expect("it starts on its old ports");
    }

    /// The entry by `consul kv get -detailed`.
    pub fn plain(&self, key: &str) -> Option<PlainEntry> {
        let text = self.cli(&["kv", "get", "-detailed", key])?;
        let field = |name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name))
                .map(|value| value.trim().to_owned())
        };
        Some(PlainEntry {
            value: field("Value").unwrap_or_default(),
            modify_index: field("ModifyIndex ")?.parse().expect("a number"),
            session: field("Session ").filter(|session| session != "-"),
        })
    }

    /// What `consul ARGUMENTS` prints, if it succeeds.
    pub fn cli(&self, arguments: &[&str]) -> Option<String> {
        let output = Command::new(program())
            .args(arguments)
            .env("CONSUL_HTTP_ADDR", format!("127.0.0.1:{}", self.port))
            .output()
            .expect("consul runs (set LEASEPROOF_CONSUL)");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(text)
    }

    /// The body of an answer, by a socket of our own.
    pub fn http(&self, method: &str, path: &str, body: &str) -> String {
        http(self.port, method, path, body).expect("the agent answers")
    }

    /// A session as a broken client makes one: without a TTL.
    pub fn endless_session(&self) -> String {
        let answer = self.http("PUT", "/v1/session/create", r#"{"LockDelay": "0s", "NodeChecks": []}"#);
        // {"ID": "…"}
        answer.split('"').nth(3).expect("an id").to_owned()
    }

    fn signal(&self, signal: Signal) -> Pid {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("our child can be signalled");
        pid
    }
}

impl Drop for ConsulServer {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn(folder: &tempfile::TempDir) -> Result<Child, String> {
    let program = program();
    let found = Command::new(&program).arg("version").output();
    found.map_err(|error| format!("{} can't be started: {error}", program.display()))?;
    Command::new("setpriv")
        .args(["--pdeathsig", "KILL", "--"])
        .arg(&program)
        .args(["agent", "-dev", "-config-file"])
        .arg(folder.path().join("agent.json"))
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{} can't be started: {error}", program.display()))
}

fn wait_ready(child: &mut Child, port: u16) -> Result<(), String> {
    for _ in 0..3000 {
        if let Ok(Some(status)) = child.try_wait() {
            return Err(format!("consul ended at once: {status}"));
        }
        if http(port, "GET", "/v1/status/leader", "").is_some_and(|leader| leader.contains(':')) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err("consul had no leader within 60 s".to_owned())
}

fn http(port: u16, method: &str, path: &str, body: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.0\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text.split_once("\r\n\r\n")?.1.to_owned())
}
