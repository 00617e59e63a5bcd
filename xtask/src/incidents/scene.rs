//! One incident, played: servers and owners up, the fault, its end, and what each side left.

use super::draw::{Draw, Herring};
use super::fault::{self, PATIENCE, Proof};
use super::group::Group;
use super::look::{Looks, Seen};
use super::owner::{Owner, Places, Wanted};
use super::poll::{Of, Poll};
use super::resource::{Resource, Write};
use super::stage::{Process, Start, wall_now};
use super::store::{self, Store};
use super::table::{Fault, Needs};
use leaseproof_fault::clock_step::Stepped;
use leaseproof_fault::relay::{Relay, WireSink};
use leaseproof_fault::warden::Warden;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// An incident that is being played.
pub struct Scene {
    pub draw: Draw,
    pub warden: Warden,
    places: Places,
    dir: PathBuf,
    // In this order they end: owners first, the store last.
    owners: Vec<Owner>,
    pub looks: Looks,
    polls: Vec<(String, Poll)>,
    pub steps: Vec<Stepped>,
    pub groups: Vec<Group>,
    pub relay: Option<Relay>,
    pub resource: Resource,
    herring: Option<Process>,
    pub extra: Vec<(String, Vec<u8>)>,
    pub store: Store,
    began_ns: i64,
}

/// What is left of it.
pub struct Played {
    pub draw: Draw,
    pub proof: Option<Proof>,
    pub fault_at_ns: i64,
    pub seen: Vec<Seen>,
    pub writes: Vec<Write>,
    pub events: Vec<(String, i64, Value)>,
    /// Owners' logs: name and text.
    pub owners: Vec<(String, Vec<u8>)>,
    pub store: Vec<(String, Vec<u8>)>,
    pub runtime: Vec<(String, Vec<u8>)>,
    pub other: Vec<(String, Vec<u8>)>,
    pub began_ns: i64,
    pub ended_ns: i64,
}

impl Scene {
    /// Plays it.
    ///
    /// # Errors
    /// Why it can't be kept.
    pub fn play(draw: Draw, warden: &Warden, runtime: &Handle, places: &Places, dir: &Path) -> Result<Played, String> {
        let mut scene = Self::set(draw, warden, runtime, places, dir)?;
        scene.begin()?;
        let fault_at_ns = wall_now();
        let proof = fault::apply(&mut scene)?;
        scene.sleep(scene.draw.tail_ms);
        scene.end(proof, fault_at_ns)
    }

    fn set(draw: Draw, warden: &Warden, runtime: &Handle, places: &Places, dir: &Path) -> Result<Self, String> {
        let began_ns = wall_now();
        let fault = draw.kind.fault;
        let wanted = store::Wanted {
            tight: fault == Fault::Evict,
            stepped: fault == Fault::StoreClock,
            monitor: draw.monitor,
        };
        let mut store = Store::start(warden, &draw.store, wanted, &dir.join("store"))?;
        store.record()?;
        let mut url = store.url_at(store.place());
        if draw.client.recipe {
            url.push_str("?recipe=lock");
        }
        let relay = match fault {
            Fault::Blackhole | Fault::IdleDrop => {
                let relay = Relay::start(runtime, &[store.place()], WireSink::new(|_, _| {}));
                Some(relay.map_err(|error| error.to_string())?)
            }
            _ => None,
        };
        Ok(Self {
            looks: Looks::start(&url, &draw.store_key())?,
            resource: Resource::start(draw.fenced)?,
            warden: warden.clone(),
            places: places.clone(),
            dir: dir.to_owned(),
            owners: Vec::new(),
            polls: Vec::new(),
            steps: Vec::new(),
            groups: Vec::new(),
            herring: None,
            extra: Vec::new(),
            relay,
            store,
            draw,
            began_ns,
        })
    }

    fn begin(&mut self) -> Result<(), String> {
        if self.draw.herring == Some(Herring::Collections) {
            self.herring = self.other_jvm();
        }
        let direct = self.store.url_at(self.store.place());
        let by_relay = self.relay.as_ref().and_then(|it| it.addrs().first().copied());
        let url = by_relay.map_or(direct.clone(), |place| self.store.url_at(place));
        let ballast = matches!(self.draw.kind.fault, Fault::Gc | Fault::StopInGc);
        self.add("worker-a", &url, ballast)?;
        if !self.looks.wait(Duration::from_secs(60), |seen| {
            seen.last().is_some_and(|it| it.holder.is_some())
        }) {
            return Err("the first owner did not get the lease".to_owned());
        }
        if self.draw.kind.needs != Needs::Kept || self.draw.number.is_multiple_of(2) {
            self.add("worker-b", &direct, false)?;
        }
        self.watch();
        if !self.until(Duration::from_secs(30), |scene| scene.resource.writes().len() >= 5) {
            return Err("the first owner did not write".to_owned());
        }
        // For a client that needs no fault the time before is part of what happens.
        if self.draw.kind.fault != Fault::None {
            self.sleep(self.draw.lead_ms);
        }
        if self.draw.herring == Some(Herring::SlowCommand) && self.draw.store == "redis" {
            self.store.cli(&[
                "eval",
                "local n = 0; for i = 1, 3000000 do n = n + i end; return n",
                "0",
            ]);
        }
        if self.looks.all().iter().filter(|it| it.holder.is_some()).count() != 1 && self.draw.kind.fault != Fault::None
        {
            return Err("the lease moved before the fault".to_owned());
        }
        // The contender stands by.
        match self.owners.iter().any(|it| it.process.has_ended()) {
            true => Err(format!("an owner ended: {:?}", self.last_words())),
            false => Ok(()),
        }
    }

    fn last_words(&self) -> Vec<String> {
        let last = |owner: &Owner| owner.process.lines().last().map(|it| it.text.clone());
        self.owners.iter().filter_map(last).collect()
    }

    fn add(&mut self, name: &str, url: &str, ballast: bool) -> Result<(), String> {
        let resource = self.resource.url();
        let wanted = Wanted {
            name,
            url,
            resource: &resource,
            cgroup: self.draw.kind.fault == Fault::Freeze && name == "worker-a",
            ballast,
        };
        let owner = Owner::start(&self.warden, &self.places, &self.draw, &self.dir, &wanted)?;
        self.owners.push(owner);
        Ok(())
    }

    fn watch(&mut self) {
        let wants = |what: &str| self.draw.kind.evidence.iter().any(|it| it == what);
        if wants("freezer")
            && let Some(group) = self.owners.first().and_then(|it| it.process.target().cgroup())
        {
            let of = Of::Counters(group.path().join("cgroup.events"));
            self.poll("cgroup.events.txt", of, 200);
        }
        let wants = |what: &str| self.draw.kind.evidence.iter().any(|it| it == what);
        if wants("ss") {
            let port = self
                .relay
                .as_ref()
                .and_then(|it| it.addrs().first())
                .map_or(0, |it| it.port());
            self.poll("ss.txt", Of::Sockets(port), 1000);
        }
    }

    /// Begins to look at something again and again.
    pub fn poll(&mut self, name: &str, of: Of, every_ms: u64) {
        let poll = Poll::start(of, Duration::from_millis(every_ms));
        self.polls.push((name.to_owned(), poll));
    }

    fn other_jvm(&self) -> Option<Process> {
        let classes = self.places.classes.as_ref()?;
        let log = format!(
            "-Xlog:gc*,safepoint:file={}:time,uptime,level,tags",
            self.dir.join("churn.log").display()
        );
        let argv = [
            "java",
            "-Xmx16m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            &log,
            "-cp",
            &classes.display().to_string(),
            "Churn",
        ]
        .map(str::to_owned)
        .into();
        let start = Start {
            argv,
            env: Vec::new(),
            cwd: &self.dir,
            cgroup: false,
            shim: None,
        };
        Process::start(&self.warden, start).ok()
    }

    /// The owner with the lease at the begin.
    ///
    /// # Errors
    /// When there is none.
    pub fn first(&self) -> Result<&Owner, String> {
        self.owners.first().ok_or_else(|| "no owner".to_owned())
    }

    /// The owner of this name.
    pub fn owner(&self, name: &str) -> &Owner {
        let found = self.owners.iter().find(|it| it.name == name);
        // There are two at most, and whoever asks started them.
        found.unwrap_or(&self.owners[0])
    }

    /// Sleeps.
    pub fn sleep(&self, ms: u64) {
        std::thread::sleep(Duration::from_millis(ms));
    }

    fn until(&self, patience: Duration, wanted: impl Fn(&Self) -> bool) -> bool {
        let until = Instant::now() + patience;
        while !wanted(self) {
            if Instant::now() > until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    }

    /// Waits until another holder came, and its owner wrote.
    ///
    /// # Errors
    /// When none came.
    pub fn until_taken_over(&self) -> Result<(), String> {
        if !self.looks.wait(PATIENCE, |seen| taken_over(seen).is_some()) {
            return Err("nobody took over".to_owned());
        }
        match self.until(Duration::from_secs(8), |scene| {
            scene.resource.writes().iter().any(|it| it.owner == "worker-b")
        }) {
            true => Ok(()),
            false => Err("the next owner did not write".to_owned()),
        }
    }

    /// Waits until the first grant is over.
    ///
    /// # Errors
    /// When it is not.
    pub fn until_lost(&self) -> Result<(), String> {
        match self.looks.wait(PATIENCE, |seen| lost(seen).is_some()) {
            true => Ok(()),
            false => Err("the lease was not lost".to_owned()),
        }
    }

    /// Lets a client go on by itself.
    ///
    /// # Errors
    /// When what it is there for did not happen.
    pub fn run_without_fault(&self) -> Result<(), String> {
        match self.draw.kind.needs {
            Needs::Kept => {
                self.sleep(self.draw.lead_ms + self.draw.ttl_ms);
                Ok(())
            }
            Needs::Lost => self.until_lost(),
            Needs::TakenOver | Needs::LateAct => self.until_taken_over(),
        }
    }

    fn end(mut self, proof: Option<Proof>, fault_at_ns: i64) -> Result<Played, String> {
        let writes = self.resource.writes();
        let seen = self.looks.all();
        let mut events = Vec::new();
        let mut owners = Vec::new();
        for owner in &self.owners {
            events.extend(
                owner
                    .events()
                    .into_iter()
                    .map(|(at, said)| (owner.name.clone(), at, said)),
            );
            owners.push((format!("{}.log", owner.name), owner.log(&self.draw).into_bytes()));
        }
        let ended_ns = wall_now();
        // Whoever gathers evidence copies the owners' logs, and then the store's record, a renewal later. A record that goes on
        // for seconds after the owners were ended with the scene would show owners that gave no sign of life any more.
        self.sleep(self.draw.heartbeat_ms + 100);
        self.store.gather();
        let mut runtime = Vec::new();
        for owner in &self.owners {
            runtime.extend(std::fs::read(&owner.gc_log).map(|bytes| (format!("{}-gc.log", owner.name), bytes)));
        }
        for (name, poll) in self.polls.drain(..) {
            runtime.push((name, poll.end().into_bytes()));
        }
        runtime.append(&mut self.extra);
        for owner in &mut self.owners {
            owner.process.end();
        }
        let mut other = Vec::new();
        if let Some(mut herring) = self.herring.take() {
            herring.end();
            other.extend(std::fs::read(self.dir.join("churn.log")).map(|bytes| ("reports-gc.log".to_owned(), bytes)));
        }
        self.steps.clear();
        self.groups.clear();
        drop(self.looks);
        let store = self.store.files(self.began_ns);
        Ok(Played {
            proof,
            fault_at_ns,
            seen,
            writes,
            events,
            owners,
            store,
            runtime,
            other,
            began_ns: self.began_ns,
            ended_ns,
            draw: self.draw,
        })
    }
}

/// The first change to another holder than the first.
pub fn taken_over(seen: &[Seen]) -> Option<&Seen> {
    let first = seen.iter().find_map(|it| it.holder.as_ref())?;
    seen.iter()
        .find(|it| it.holder.as_ref().is_some_and(|holder| holder != first))
}

/// The first change that ended the first grant.
pub fn lost(seen: &[Seen]) -> Option<&Seen> {
    let at = seen.iter().position(|it| it.holder.is_some())?;
    seen.get(at + 1)
}
