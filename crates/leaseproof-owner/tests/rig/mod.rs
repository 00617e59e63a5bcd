//! Real owners against a real store and a real witness.

#![allow(dead_code, reason = "each test file uses a part of this fixture")]

use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Held, What, Write};
use leaseproof_model::name::OwnerName;
use leaseproof_model::scenario::WitnessMode;
use leaseproof_proc::clock::boot_now;
use leaseproof_store::{Administer, StoreUrl, open_administrator, open_observer};
use leaseproof_witness::{Place, Setup, Witness};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

#[path = "../../../leaseproof-store/tests/redis_server/mod.rs"]
pub mod redis_server;

use redis_server::RedisServer;

pub const KEY: &str = "canary/owner";

/// Far longer than anything here takes on a busy host.
const PATIENCE: Duration = Duration::from_secs(30);

/// A store, a witness, and what was written.
pub struct Rig {
    pub witness: Witness,
    pub store: StoreUrl,
    pub ttl: Duration,
    pub heartbeat: Duration,
    writes: Arc<Mutex<Vec<(OwnerName, Write)>>>,
    _server: Option<RedisServer>,
    _dir: tempfile::TempDir,
}

/// One rig for each store that is here; says loudly which is not.
pub fn on_each_store(test: &str, run: impl Fn(Rig)) {
    run(Rig::new(None));
    match RedisServer::start() {
        Ok(server) => run(Rig::new(Some(server))),
        Err(why) => redis_server::skip(test, &why),
    }
}

/// Looks until it is so.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(it) = look() {
            return it;
        }
        assert!(Instant::now() < end, "never came: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Rig {
    /// On the embedded store, or on this server.
    pub fn new(server: Option<RedisServer>) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let store = match &server {
            Some(server) => server.url(),
            None => format!("sqlite:{}", dir.path().join("locks.db").display()),
        };
        let writes = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&writes);
        let setup = Setup {
            dir: dir.path().to_owned(),
            mode: WitnessMode::Record,
            flaw: None,
            place: Place::Thread,
        };
        let witness = Witness::start(
            setup,
            Arc::new(move |seen| {
                if let (Some(owner), What::Write(write)) = (seen.owner, seen.what) {
                    into.lock().expect("no panic before").push((owner, write));
                }
            }),
        )
        .expect("a witness");
        Self {
            witness,
            store: store.parse().expect("a URL"),
            ttl: Duration::from_millis(1000),
            heartbeat: Duration::from_millis(250),
            writes,
            _server: server,
            _dir: dir,
        }
    }

    pub fn start(&self, name: &str, flaw: Option<&str>, arguments: &[&str]) -> Owner {
        let name = OwnerName::from(name);
        let mut child = Command::new(env!("CARGO_BIN_EXE_leaseproof-owner"))
            .args(arguments)
            .env("LEASEPROOF_STORE", self.store.with_secrets())
            .env("LEASEPROOF_KEY", KEY)
            .env("LEASEPROOF_TTL_MS", self.ttl.as_millis().to_string())
            .env("LEASEPROOF_HEARTBEAT_MS", self.heartbeat.as_millis().to_string())
            .env("LEASEPROOF_RENEW_TIMEOUT_MS", "200")
            .env("LEASEPROOF_OWNER", name.as_str())
            .env("LEASEPROOF_RESOURCE", self.witness.url_for(&name).expect("a URL"))
            .env("LEASEPROOF_FLAW", flaw.unwrap_or(""))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("an owner starts");
        let stdout = child.stdout.take().expect("a pipe");
        let lines = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&lines);
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line).expect("each line is JSON");
                into.lock().expect("no panic before").push(value);
            }
        });
        Owner { name, child, lines }
    }

    /// The tokens of this owner's writes so far.
    pub fn writes(&self, owner: &Owner) -> Vec<Write> {
        self.witness.settle().expect("settles");
        let writes = self.writes.lock().expect("no panic before");
        writes
            .iter()
            .filter(|(name, _)| *name == owner.name)
            .map(|(_, write)| write.clone())
            .collect()
    }

    /// Waits for `more` writes of this owner from now on.
    pub fn more_writes(&self, owner: &Owner, more: usize) {
        let before = self.writes(owner).len();
        until("more writes", || {
            (self.writes(owner).len() >= before + more).then_some(())
        });
    }

    /// Waits until the clock of owners is past this.
    pub fn until_past(&self, moment: BootNanos) {
        until("that moment", || (boot_now() > moment).then_some(()));
    }

    pub fn held(&self) -> Option<Held> {
        let mut observer = open_observer(&self.store, Duration::from_secs(5)).expect("the store is there");
        observer
            .read(KEY)
            .expect("it answers")
            .1
            .held
            .filter(|held| !held.expired)
    }

    pub fn administrator(&self) -> Box<dyn Administer> {
        open_administrator(&self.store, Duration::from_secs(5)).expect("the store is there")
    }

    /// The lab takes the lease away, for ten TTLs.
    pub fn steal(&self) -> leaseproof_store::Grant {
        let done = self.administrator().steal(KEY, "lab", self.ttl * 10);
        done.value.expect("the lab takes it")
    }
}

/// A running owner; killed when dropped.
pub struct Owner {
    pub name: OwnerName,
    pub child: Child,
    lines: Arc<Mutex<Vec<Value>>>,
}

impl Owner {
    pub fn lines(&self) -> Vec<Value> {
        self.lines.lock().expect("no panic before").clone()
    }

    pub fn said(&self, event: &str) -> Vec<Value> {
        self.lines().into_iter().filter(|line| line["lease"] == event).collect()
    }

    /// The events in order, with `renew_sent` and `renewed` left out.
    pub fn story(&self) -> Vec<String> {
        self.lines()
            .iter()
            .filter_map(|line| line["lease"].as_str().map(str::to_owned))
            .filter(|event| !event.starts_with("renew_sent") && event != "renewed")
            .collect()
    }

    /// Waits until it said this `count` times; the last of them.
    pub fn await_said(&self, event: &str, count: usize) -> Value {
        until(&format!("{count} x {event} of {}", self.name), || {
            let said = self.said(event);
            (said.len() >= count).then(|| said[said.len() - 1].clone())
        })
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// The process that works.
    pub fn worker(&self) -> Pid {
        let pid = self.child.id();
        let path = format!("/proc/{pid}/task/{pid}/children");
        until("a worker", || {
            let children = std::fs::read_to_string(&path).ok()?;
            children.split_whitespace().next()?.parse().ok().and_then(Pid::from_raw)
        })
    }

    pub fn freeze(&self) {
        kill_process(self.pid(), Signal::STOP).expect("it is there");
        kill_process(self.worker(), Signal::STOP).expect("it is there");
    }

    pub fn thaw(&self) {
        kill_process(self.pid(), Signal::CONT).expect("it is there");
        kill_process(self.worker(), Signal::CONT).expect("it is there");
    }

    pub fn terminate(&self) {
        kill_process(self.pid(), Signal::TERM).expect("it is there");
    }

    pub fn end(&mut self) -> ExitStatus {
        until("its end", || self.child.try_wait().expect("a child"))
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // The worker ends with its holder, also when it is stopped now.
        let pid = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        for worker in children.split_whitespace().filter_map(|text| text.parse().ok()) {
            if let Some(worker) = Pid::from_raw(worker) {
                let _ = kill_process(worker, Signal::KILL);
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn signal(pid: Pid, signal: Signal) {
    kill_process(pid, signal).expect("it is there");
}

pub fn is_alive(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with('Z'))
}
