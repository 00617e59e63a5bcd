//! A ZooKeeper server of a test's own: on a free loopback port, in a folder of its own, with a short tick,
//! killed when dropped, or when the test is.
//!
//! Found by `LEASEPROOF_ZOOKEEPER`, a program that runs a class with ZooKeeper's jars. Where there is none
//! a test says `skipped: why` loudly and ends.

#![allow(dead_code, reason = "each test file uses a part of this fixture")]

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// Sessions are ended once in so many ms; the least time-out is twice as long.
pub const TICK: Duration = Duration::from_millis(50);

/// A running server.
pub struct ZooKeeperServer {
    port: u16,
    folder: tempfile::TempDir,
    child: Child,
    cli: RefCell<Option<Cli>>,
}

/// A node as the server's own client shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlainNode {
    pub data: String,
    pub czxid: u64,
    pub ephemeral: bool,
}

impl ZooKeeperServer {
    /// Starts a server; the error says why there is none.
    pub fn start() -> Result<Self, String> {
        Self::start_with("")
    }

    /// Starts a server with more lines in its configuration.
    pub fn start_with(settings: &str) -> Result<Self, String> {
        // It syncs its log at each change: where memory can be had as a folder, that costs nothing.
        let folder = tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .map_err(|error| format!("no folder for ZooKeeper: {error}"))?;
        let mut last = String::new();
        // Another process may take the free port first.
        for _ in 0..5 {
            let port = leaseproof_proc::ports::one().expect("loopback has a free port");
            let data = folder.path().join(port.to_string());
            let tick = TICK.as_millis();
            let config = format!(
                "tickTime={tick}\ndataDir={}\nclientPort={port}\nclientPortAddress=127.0.0.1\n\
                 maxClientCnxns=0\nadmin.enableServer=false\n\
                 4lw.commands.whitelist=*\nmaxSessionTimeout=3600000\n{settings}\n",
                data.display()
            );
            std::fs::write(folder.path().join("zoo.cfg"), config).map_err(|error| error.to_string())?;
            let mut child = spawn(&folder)?;
            match wait_ready(&mut child, port) {
                Ok(()) => {
                    return Ok(Self {
                        port,
                        folder,
                        child,
                        cli: RefCell::new(None),
                    });
                }
                Err(error) => last = error,
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        Err(last)
    }

    /// Starts an ensemble of three.
    pub fn start_ensemble() -> Result<[Self; 3], String> {
        let ports = leaseproof_proc::ports::free(9).expect("loopback has free ports");
        let all: Vec<String> = (1..=3)
            .map(|id| format!("server.{id}=127.0.0.1:{}:{}", ports[id + 2], ports[id + 5]))
            .collect();
        let mut members = Vec::new();
        for id in 1..=3 {
            let folder = tempfile::tempdir().map_err(|error| format!("no folder for ZooKeeper: {error}"))?;
            let (port, data) = (ports[id - 1], folder.path().join("data"));
            std::fs::create_dir(&data).map_err(|error| error.to_string())?;
            std::fs::write(data.join("myid"), id.to_string()).map_err(|error| error.to_string())?;
            let config = format!(
                "tickTime=100\ninitLimit=300\nsyncLimit=10\ndataDir={}\nclientPort={port}\n\
                 clientPortAddress=127.0.0.1\nmaxClientCnxns=0\nadmin.enableServer=false\n\
                 4lw.commands.whitelist=*\nmaxSessionTimeout=3600000\n{}\n",
                data.display(),
                all.join("\n")
            );
            std::fs::write(folder.path().join("zoo.cfg"), config).map_err(|error| error.to_string())?;
            let child = spawn_class("org.apache.zookeeper.server.quorum.QuorumPeerMain", &folder)?;
            members.push(Self {
                port,
                folder,
                child,
                cli: RefCell::new(None),
            });
        }
        for member in &mut members {
            wait_ready(&mut member.child, member.port)?;
        }
        members.try_into().map_err(|_| "three were started".to_owned())
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// `zookeeper://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("zookeeper://127.0.0.1:{}", self.port)
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

    /// Starts it again on the same port, with what it had.
    pub fn start_again(&mut self) {
        self.child = spawn(&self.folder).expect("it started before");
        wait_ready(&mut self.child, self.port).expect("it starts on its old port");
    }

    /// The node by the server's own client.
    pub fn plain(&self, path: &str) -> Option<PlainNode> {
        let lines = self.cli(&format!("get -s {path}"));
        let value = |name: &str| {
            let line = lines.iter().find_map(|line| line.strip_prefix(name))?;
            let hex = line.trim_start_matches(" = 0x");
            Some(u64::from_str_radix(hex, 16).expect("a hex number"))
        };
        Some(PlainNode {
            czxid: value("cZxid")?,
            ephemeral: value("ephemeralOwner")? != 0,
            // Events are printed whenever they come; the data stands right before the state.
            data: lines
                .iter()
                .take_while(|line| !line.starts_with("cZxid"))
                .last()
                .cloned()
                .unwrap_or_default(),
        })
    }

    /// What the server's own client prints for a command.
    pub fn cli(&self, command: &str) -> Vec<String> {
        let mut cli = self.cli.borrow_mut();
        cli.get_or_insert_with(|| Cli::start(self.port)).run(command)
    }

    fn signal(&self, signal: Signal) -> Pid {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("our child can be signalled");
        pid
    }
}

impl Drop for ZooKeeperServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The server's own client, kept, since each start of it takes seconds.
struct Cli {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Cli {
    fn start(port: u16) -> Self {
        let mut child = java()
            .expect("the server was started by it")
            .args([
                "org.apache.zookeeper.ZooKeeperMain",
                "-server",
                &format!("127.0.0.1:{port}"),
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the client starts");
        Self {
            input: child.stdin.take().expect("a pipe"),
            output: BufReader::new(child.stdout.take().expect("a pipe")),
            child,
        }
    }

    fn run(&mut self, command: &str) -> Vec<String> {
        // It prints events of its own before the first answer; the version is a mark behind the last.
        const MARK: &str = "ZooKeeper CLI version";
        writeln!(self.input, "version\n{command}\nversion").expect("the client listens");
        let mut lines = Vec::new();
        let mut marks = 0;
        while marks < 2 {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).expect("the client prints");
            assert!(read > 0, "the client ended at {command}");
            if line.starts_with(MARK) {
                marks += 1;
            } else if marks == 1 {
                lines.push(line.trim_end().to_owned());
            }
        }
        lines
    }
}

impl Drop for Cli {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Java with ZooKeeper's jars, ended when this thread is.
fn java() -> Result<Command, String> {
    let program = std::env::var_os("LEASEPROOF_ZOOKEEPER")
        .ok_or_else(|| "LEASEPROOF_ZOOKEEPER is not set: .ci/tools zookeeper finds one".to_owned())?;
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    Ok(command)
}

fn spawn(folder: &tempfile::TempDir) -> Result<Child, String> {
    spawn_class("org.apache.zookeeper.server.ZooKeeperServerMain", folder)
}

fn spawn_class(class: &str, folder: &tempfile::TempDir) -> Result<Child, String> {
    java()?
        // Nothing here outlives a power cut.
        .args(["-Dzookeeper.forceSync=no", "-Dzookeeper.preAllocSize=64"])
        .arg(format!("-Djava.io.tmpdir={}", folder.path().display()))
        .arg(class)
        .arg(folder.path().join("zoo.cfg"))
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("ZooKeeper can't be started: {error}"))
}

fn wait_ready(child: &mut Child, port: u16) -> Result<(), String> {
    for _ in 0..3000 {
        if let Ok(Some(status)) = child.try_wait() {
            return Err(format!("ZooKeeper ended at once: {status}"));
        }
        if word(port, "srvr").is_some_and(|text| text.contains("Mode:")) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err("ZooKeeper did not answer within 60 s".to_owned())
}

/// What the server answers to a four-letter word.
pub fn word(port: u16, word: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    stream.write_all(word.as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text)
}
