//! Owners with logs, a witness that they write to, and a monitor.

use leaseproof_model::name::OwnerName;
use leaseproof_model::scenario::WitnessMode;
use leaseproof_proc::pidfd::PidFd;
use leaseproof_proc::{identity, stat};
use leaseproof_store::{StoreUrl, open_administrator};
use leaseproof_witness::{Place, Setup, Witness};
use rustix::process::Signal;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_leaseproof");

/// Far longer than anything here takes on a busy host.
const PATIENCE: Duration = Duration::from_secs(120);

/// Looks until it is so.
#[track_caller]
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(it) = look() {
            return it;
        }
        assert!(Instant::now() < end, "never came: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A program that ends with us, also when we are killed: setpriv is part of every Debian and Ubuntu.
pub fn bound(program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command
        .args(["--pdeathsig", "KILL", "--", program])
        .stdin(Stdio::null());
    command
}

/// The body of a GET, and its status line.
pub fn get(address: &str, path: &str) -> Option<(String, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    // HTTP/1.0, so that the answer ends with the connection and has no chunks.
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    Some((head.lines().next()?.to_owned(), body.to_owned()))
}

/// A folder, a store and a witness.
pub struct Rig {
    pub dir: tempfile::TempDir,
    pub store: String,
    witness: Witness,
}

impl Rig {
    pub fn new(store: Option<&str>) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let store = match store {
            Some(url) => {
                let store: StoreUrl = url.parse().expect("a URL");
                // Where there is a table to be made: by who may. Elsewhere nothing is sent but what the program sends.
                if store.kind() == "postgres" {
                    let mut administrator = open_administrator(&store, PATIENCE).expect("it is there");
                    administrator.prepare().expect("a table");
                }
                url.to_owned()
            }
            None => {
                let store = format!("sqlite:{}", dir.path().join("locks.db").display());
                let url: StoreUrl = store.parse().expect("a URL");
                // The monitor makes no file and no table.
                let mut administrator = open_administrator(&url, PATIENCE).expect("the store");
                administrator.prepare().expect("it is made");
                store
            }
        };
        let setup = Setup {
            dir: dir.path().to_owned(),
            mode: WitnessMode::Record,
            flaw: None,
            place: Place::Thread,
        };
        let witness = Witness::start(setup, Arc::new(|_| {})).expect("a witness");
        Self { dir, store, witness }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// An owner of `jobs/NAME` that logs to `NAME.log`.
    pub fn owner(&self, name: &str, more: &[&str]) -> Owner {
        let url = self.witness.url_for(&OwnerName::from(name)).expect("a URL");
        let log = File::create(self.path().join(format!("{name}.log"))).expect("a file");
        let child = bound(PROGRAM)
            .args([
                "owner",
                "--store",
                &self.store,
                "--key",
                &format!("jobs/{name}"),
                "--owner",
                name,
            ])
            .args([
                "--ttl-ms",
                "2000",
                "--heartbeat-ms",
                "500",
                "--resource",
                &url,
                "--say-writes",
            ])
            .args(more)
            .stdout(log)
            .spawn()
            .expect("an owner starts");
        Owner { child }
    }

    /// The plan of these owners.
    pub fn plan(&self, names: &[&str]) -> PathBuf {
        let mut text = format!(
            "[budget]\nttl = \"2s\"\nheartbeat = \"500ms\"\nworst_pause = \"1s\"\n[store]\nurl = \"{}\"\n[watch]\n\
             interval = \"250ms\"\nlisten = \"127.0.0.1:0\"\n",
            self.store
        );
        for name in names {
            let log = self.path().join(format!("{name}.log"));
            text += &format!(
                "[[watch.lease]]\nkey = \"jobs/{name}\"\nname = \"{name}\"\nowner = {{ log = \"{}\" }}\n",
                log.display()
            );
        }
        let path = self.path().join("plan.toml");
        std::fs::write(&path, text).expect("a file");
        path
    }

    pub fn monitor(&self, plan: &Path) -> Running {
        let mut child = bound(PROGRAM)
            .arg("watch")
            .arg(plan)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the monitor starts");
        let stdout = child.stdout.take().expect("a pipe");
        let lines = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&lines);
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                into.lock().expect("no panic before").push(line);
            }
        });
        let address = until("the monitor's address", || {
            let lines = lines.lock().expect("no panic before");
            let line = lines
                .iter()
                .find_map(|line: &String| line.strip_prefix("metrics: http://"))?;
            Some(line.trim_end_matches("/metrics").to_owned())
        });
        Running { child, address, lines }
    }
}

/// A running monitor.
pub struct Running {
    child: Child,
    pub address: String,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Running {
    pub fn page(&self) -> String {
        let (status, page) = until("the page of metrics", || get(&self.address, "/metrics"));
        assert!(status.contains("200"), "{status}");
        page
    }

    /// One series of the page.
    pub fn series(&self, name: &str) -> Option<f64> {
        let page = self.page();
        let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map(|text| text.parse().expect("a number"))
    }

    pub fn said(&self, needle: &str) -> bool {
        let lines = self.lines.lock().expect("no panic before");
        lines.iter().any(|line| line.contains(needle))
    }

    pub fn signal(&self, signal: Signal) {
        send(self.child.id(), signal);
    }

    /// Asks it to end.
    pub fn end(mut self) -> (ExitStatus, Vec<String>) {
        self.signal(Signal::TERM);
        let status = self.child.wait().expect("it ends");
        until("its last words", || (Arc::strong_count(&self.lines) == 1).then_some(()));
        (status, self.lines.lock().expect("no panic before").clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A running owner: the process that holds, and the one that works.
pub struct Owner {
    child: Child,
}

impl Owner {
    /// SIGSTOP or SIGCONT to the whole tree, each through its pidfd.
    pub fn signal(&self, signal: Signal) {
        let all = stat::all().expect("/proc");
        let root = self.child.id();
        for process in all.iter().filter(|it| it.id.pid == root || it.parent == root) {
            send(process.id.pid, signal);
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }
}

fn send(pid: u32, signal: Signal) {
    let process = identity::identify(pid).and_then(PidFd::open).expect("it runs");
    process.signal(signal).expect("it can be signalled");
}
