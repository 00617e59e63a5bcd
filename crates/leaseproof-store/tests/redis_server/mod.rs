//! A redis-server of a test's own: on a free loopback port, in a folder of its own, saving nothing,
//! killed when dropped and with its parent. Other crates' tests take this file by its path; it uses std and
//! rustix.
//!
//! Found by `LEASEPROOF_REDIS_SERVER` and `LEASEPROOF_REDIS_CLI`, else on PATH. Where there is none
//! a test says `skipped: why` loudly and ends.

#![allow(dead_code, reason = "each test file uses a part of this fixture")]

use rustix::process::{Pid, Signal, kill_process};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A running server.
pub struct RedisServer {
    program: PathBuf,
    arguments: Vec<String>,
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
    std::env::var_os(variable).map_or_else(|| PathBuf::from(name), PathBuf::from)
}

impl RedisServer {
    /// Starts a server; the error says why there is none.
    pub fn start() -> Result<Self, String> {
        Self::start_with(&[])
    }

    /// Starts the other version that is tested, where there is one (`LEASEPROOF_REDIS_OTHER`).
    pub fn start_other() -> Option<Result<Self, String>> {
        let program = std::env::var_os("LEASEPROOF_REDIS_OTHER")?;
        Some(Self::start_program(PathBuf::from(program), &[]))
    }

    /// Starts a server with more settings, written as arguments (`--requirepass`, `secret`).
    pub fn start_with(settings: &[&str]) -> Result<Self, String> {
        Self::start_program(program("LEASEPROOF_REDIS_SERVER", "redis-server"), settings)
    }

    fn start_program(program: PathBuf, settings: &[&str]) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| format!("no folder for redis: {error}"))?;
        let arguments: Vec<String> = settings.iter().map(|&text| text.to_owned()).collect();
        let mut last = String::new();
        // Another process may take the free port first.
        for _ in 0..5 {
            let port = leaseproof_proc::ports::one().expect("loopback has a free port");
            let mut child = spawn(&program, port, &folder, &arguments)?;
            match wait_ready(&mut child, port) {
                Ok(()) => {
                    return Ok(Self {
                        program,
                        arguments,
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

    /// The port; with `--tls-port {port}` among the settings it is the TLS one.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// `redis://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Stops the process (SIGSTOP): connections stay, nothing is answered.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
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

    /// Starts it again on the same port, empty.
    pub fn start_again(&mut self) {
        self.child = spawn(&self.program, self.port, &self.folder, &self.arguments).expect("it started before");
        wait_ready(&mut self.child, self.port).expect("it starts on its old port");
    }

    /// What `redis-cli ARGUMENTS` prints.
    pub fn cli(&self, arguments: &[&str]) -> String {
        let output = Command::new(program("LEASEPROOF_REDIS_CLI", "redis-cli"))
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "--no-auth-warning"])
            .args(arguments)
            .output()
            .expect("redis-cli runs (set LEASEPROOF_REDIS_CLI)");
        assert!(output.status.success(), "redis-cli {arguments:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a child has a pid"), signal).expect("our child can be signalled");
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn(program: &PathBuf, port: u16, folder: &tempfile::TempDir, arguments: &[String]) -> Result<Child, String> {
    let port = port.to_string();
    let tls = arguments.iter().any(|argument| argument == "--tls-port");
    // It ends with us also when we are killed: setpriv is part of every Debian and Ubuntu.
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    if !tls {
        command.args(["--port", &port]);
    }
    command
        .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
        .arg("--dir")
        .arg(folder.path())
        .args(arguments.iter().map(|argument| argument.replace("{port}", &port)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{} can't be started: {error}", program.display()))
}

/// Whether this very process listens on the port.
fn listens(pid: u32, port: u16) -> bool {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let place = format!(":{port:04X}");
    let listening = table.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let listens = words.get(1)?.ends_with(&place) && *words.get(3)? == "0A";
        listens.then(|| format!("socket:[{}]", words.get(9).copied().unwrap_or_default()))
    });
    let sockets: Vec<String> = listening.collect();
    let files = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten();
    let links = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    links
        .into_iter()
        .any(|link| sockets.iter().any(|socket| link.to_string_lossy() == socket.as_str()))
}

/// Any answer to PING will do: a server with a password or TLS answers with an error.
fn wait_ready(child: &mut Child, port: u16) -> Result<(), String> {
    for _ in 0..500 {
        if let Ok(Some(status)) = child.try_wait() {
            return Err(format!("redis-server ended at once: {status}"));
        }
        // Another's server may have taken the port meanwhile: ours will end, and must not be believed in.
        if listens(child.id(), port)
            && let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port))
        {
            let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
            let _ = stream.write_all(b"PING\r\n");
            // A TLS server just closes.
            let _ = stream.read(&mut [0; 64]);
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err("redis-server did not answer within 5 s".to_owned())
}
