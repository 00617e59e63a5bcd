//! The stage is set: key, store, witness, observer; and owners are seated.

use super::slow_store::opened;
use super::{Halt, Stage, Step};
use crate::bundle::Recorder;
use crate::observe::{Sampler, SamplerSettings};
use crate::owner::{Placeholders, Seating};
use crate::prepare::{Ready, Site};
use crate::scenarios::catalogue::{Need, spec};
use crate::scenarios::draw::Draw;
use crate::scenarios::scene::Scene;
use crate::server::{self, Server};
use crate::settings::RunSettings;
use leaseproof_fault::FaultSink;
use leaseproof_fault::relay::{Relay, WireSink};
use leaseproof_fault::shim::ShimFile;
use leaseproof_fault::warden::Traces;
use leaseproof_model::event::{Source, What};
use leaseproof_model::history::History;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::OwnerName;
use leaseproof_model::scenario::{Ask, ScenarioId};
use leaseproof_proc::clock::boot_now;
use leaseproof_store::StoreUrl;
use leaseproof_witness::{Place, Seen, Setup, Witness};
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

/// How long one reading of the store may take.
const READING: Duration = Duration::from_secs(1);
/// The same where a frozen writer can block the store: waiting for it is no looking.
const READING_BESIDE_WRITERS: Duration = Duration::from_millis(50);
/// How long an administrator's or the lab's own call may take.
const CALL: Duration = Duration::from_secs(2);

impl<'a> Stage<'a> {
    /// Whether this host and this store can offer the scenario.
    ///
    /// # Errors
    /// Why not, in words for people.
    pub fn offered(id: ScenarioId, site: &Site) -> Result<(), String> {
        for need in spec(id).needs {
            match need {
                Need::Tcp if site.url.host_port().is_none() => {
                    return Err(match site.url.path() {
                        Some(_) => format!(
                            "{} is a file: there is no network between owner and store",
                            site.facts.kind
                        ),
                        None => format!(
                            "{} is several servers that tell an owner each other's places: it would pass by a relay before them",
                            site.facts.kind
                        ),
                    });
                }
                Need::LabHolds => {
                    if let Some(why) = site.url.only_looked_at() {
                        return Err(format!("leaseproof itself would have to hold the lease: {why}"));
                    }
                }
                Need::Shim => leaseproof_fault::shim::availability()?,
                Need::OwnServer if site.own.is_none() => return Err(not_ours(id, site)),
                Need::SteppableServer => {
                    leaseproof_fault::shim::availability()?;
                    if site.own.is_none_or(|own| !own.recipe.steppable) {
                        return Err(not_steppable(&site.facts.kind));
                    }
                }
                Need::Members if site.own.is_none_or(|own| own.members == 1) => {
                    return Err(match site.own.filter(|own| own.recipe.most > 1) {
                        Some(own) => format!(
                            "this store is one server, and nobody takes its place: give --start-store {}:3",
                            own.recipe.kind
                        ),
                        None => alone(&site.facts.kind),
                    });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The record of a scenario whose stage could not be set: it is no pass.
    #[must_use]
    pub fn never_set(
        id: ScenarioId,
        twin: bool,
        settings: &RunSettings,
        ready: &Ready,
        site: &Site,
        why: String,
    ) -> History {
        let recorder = Recorder::start(&ready.log);
        let ask = ask(id, twin, settings, ready, site);
        recorder.ask(&ask);
        let why = format!("its stage could not be set: {why}");
        recorder.record(Source::Lab, None, Moment::exact(boot_now()), What::Abandoned { why });
        recorder.finish(ask, 0, true)
    }

    /// Sets the stage of one scenario.
    ///
    /// # Errors
    /// What failed.
    pub fn set(
        id: ScenarioId,
        twin: bool,
        settings: &'a RunSettings,
        ready: &'a Ready,
        site: &'a Site,
    ) -> Result<Self, String> {
        let spec = spec(id);
        let began = boot_now();
        let name = room_name(id, twin, ready, site);
        let dir = ready
            .folder
            .room(&format!("stage/{name}"))
            .map_err(|error| error.to_string())?;
        let needs = |need| spec.needs.contains(&need);
        let server = match site.own.filter(|_| needs(Need::OwnServer)) {
            Some(wanted) => {
                let steppable = needs(Need::SteppableServer);
                Some(Server::start(wanted, &ready.warden, &dir.join("store"), steppable)?)
            }
            None => None,
        };
        let url = match &server {
            Some(server) => server.url(),
            None => own_store(&site.url, &ready.run, &name),
        };
        let plan = &settings.plan;
        let plain_key = plain_key(id, twin, settings, ready, site);
        let recorder = Recorder::start(&ready.log);
        let ask = ask(id, twin, settings, ready, site);
        let key = ask.key.clone();
        recorder.ask(&ask);
        ready.meter.tell(&recorder);
        // What leaseproof started ends with the run, and its data is the run's own: nothing is left in it.
        if !settings.keep && site.own.is_none() {
            // Before anything is there: a run that is killed must not leave more than its journal knows.
            let traces = Traces {
                store: url.to_string(),
                file: url
                    .path()
                    .map(std::path::absolute)
                    .transpose()
                    .map_err(|error| error.to_string())?,
                keys: keys_of(&key, &plain_key, settings),
            };
            ready.warden.made(traces).map_err(|error| error.to_string())?;
        }
        let mut admin = opened(|| leaseproof_store::open_administrator(&url, CALL))?;
        opened(|| admin.prepare())?;
        let lease = opened(|| leaseproof_store::open_lease(&url, CALL))?;
        let reading = if site.facts.writer_can_block {
            READING_BESIDE_WRITERS
        } else {
            READING
        };
        let observer = opened(|| leaseproof_store::open_observer(&url, reading))?;
        let rate = SamplerSettings {
            calm: Duration::from_millis(25),
            quick: Duration::from_millis(3),
            gap: (site.budget.heartbeat / 2).max(Duration::from_millis(150)),
        };
        let sampler =
            Sampler::start(observer, key.clone(), recorder.clone(), rate).map_err(|error| error.to_string())?;
        let sink = recorder.clone();
        let place = if id == ScenarioId::StaleToken {
            Place::Process {
                program: settings.exe.clone(),
            }
        } else {
            Place::Thread
        };
        let witness = Witness::start(
            Setup {
                dir: dir.clone(),
                mode: spec.witness,
                flaw: settings.witness_flaw,
                place,
            },
            Arc::new(move |seen: Seen| {
                sink.record(Source::Witness, seen.owner.as_ref(), seen.at, seen.what);
            }),
        )
        .map_err(|error| error.to_string())?;
        Ok(Self {
            settings,
            ready,
            spec,
            ask,
            recorder,
            scene: Scene::default(),
            draw: Draw::new(ready.seed, id.as_str()),
            url,
            key,
            plain_key,
            dir,
            witness: Arc::new(witness),
            sampler: Some(sampler),
            server,
            admin,
            lease,
            lab_grant: None,
            seats: Vec::new(),
            cycle: 0,
            cycle_began: began,
            wanted: plan.cycles,
            began,
            clock_step_ns: 0,
            reads_at_begin: 0,
            stepped: None,
            old_holder: None,
        })
    }

    /// Seats an owner: a process of its own name, witness URL and relay.
    pub(super) fn start_seat(&mut self, index: usize, restart: bool) -> Step {
        let name = self.seats[index].next_name();
        let fail = |why: String| Halt::Abandoned(why);
        let resource = self.witness.url_for(&name).map_err(|error| fail(error.to_string()))?;
        let relay = self.relay(&name)?;
        let url = match &relay {
            Some(relay) => {
                let addrs = relay.addrs().iter();
                let places: Vec<_> = addrs.map(|addr| (addr.ip().to_string(), addr.port())).collect();
                self.url.with_places(&places)
            }
            None => self.url.clone(),
        };
        let budget = self.ask.budget;
        let (store_host, store_port) = url
            .host_port()
            .map_or_else(Default::default, |(host, port)| (host.to_owned(), port.to_string()));
        let filled = Placeholders {
            store: url.with_secrets(),
            store_host,
            store_port,
            key: self.plain_key.clone(),
            ttl_ms: budget.ttl.as_millis(),
            heartbeat_ms: budget.heartbeat.as_millis(),
            renew_timeout_ms: budget.renew_timeout.as_millis(),
            owner: name.to_string(),
            resource,
        };
        let shim = match self.spec.needs.contains(&Need::Shim) {
            true => {
                let shim = ShimFile::create(&self.dir).map_err(|error| fail(error.to_string()))?;
                Some(Arc::new(shim))
            }
            false => None,
        };
        let seating = Seating {
            name: name.clone(),
            command: filled.fill(&self.settings.plan.owner.command),
            environment: filled.environment(),
            plan: &self.settings.plan.owner,
            warden: &self.ready.warden,
            recorder: self.recorder.clone(),
            relay,
            shim,
            cgroup: self.freezer_wanted(),
            output: self
                .ready
                .folder
                .room("owners")
                .ok()
                .map(|dir| dir.join(format!("{}-{name}", self.stage_name()))),
            secrets: self.url.secrets(),
            restart,
        };
        self.seats[index].take(seating).map_err(fail)
    }

    fn stage_name(&self) -> String {
        self.dir
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    }

    fn relay(&self, name: &OwnerName) -> Step<Option<Relay>> {
        let places = self.url.places();
        if self.url.host_port().is_none() {
            return Ok(None);
        }
        let upstreams: Vec<SocketAddr> = places
            .iter()
            .map(|(host, port)| resolve(host, *port))
            .collect::<Result<_, String>>()
            .map_err(Halt::Abandoned)?;
        let (recorder, owner) = (self.recorder.clone(), name.clone());
        let sink = WireSink::new(move |at, wire| {
            recorder.record(Source::Relay, Some(&owner), at, What::Wire(wire));
        });
        Relay::start(self.ready.runtime.handle(), &upstreams, sink)
            .map(Some)
            .map_err(|error| Halt::Abandoned(format!("no relay can be put before the store: {error}")))
    }

    /// Where the phases of faults go.
    pub(super) fn fault_sink(&self, owner: &OwnerName) -> FaultSink {
        let (recorder, owner) = (self.recorder.clone(), owner.clone());
        FaultSink::new(move |at, event| {
            recorder.record(Source::Fault, Some(&owner), at, What::Fault(event));
        })
    }

    /// Removes what this scenario made in the store, and nothing else.
    pub(super) fn sweep(&mut self) {
        let cleaned = self.admin.clean(&keys_of(&self.key, &self.plain_key, self.settings));
        if let Some(path) = self.url.path() {
            for end in ["", "-wal", "-shm", "-journal"] {
                let mut file = path.as_os_str().to_owned();
                file.push(end);
                let _ = std::fs::remove_file(file);
            }
        }
        if cleaned.is_ok() || self.url.path().is_some() {
            // What is not told stays in its journal, and is said at the next start.
            let _ = self.ready.warden.swept(&self.key);
        }
    }
}

/// The keys that a scenario makes, its lease's first.
fn keys_of(key: &str, plain_key: &str, settings: &RunSettings) -> Vec<String> {
    let also = settings.plan.store.also_deletes.iter();
    std::iter::once(key.to_owned())
        .chain(also.map(|template| template.replace("{key}", plain_key)))
        .collect()
}

/// The name of a scenario's arm.
fn arm_name(id: ScenarioId, twin: bool) -> String {
    if twin { format!("{id}-twin") } else { id.to_string() }
}

/// The key before the owner's client makes its own of it.
fn plain_key(id: ScenarioId, twin: bool, settings: &RunSettings, ready: &Ready, site: &Site) -> String {
    let room = room_name(id, twin, ready, site);
    format!("{}/{}/{room}", settings.plan.store.key, ready.run)
}

/// The name of an arm's rooms, of its file on a file, and of its key: two names may be of one store.
fn room_name(id: ScenarioId, twin: bool, ready: &Ready, site: &Site) -> String {
    match ready.sites.len() {
        1 => arm_name(id, twin),
        // A colon parts the names of libraries to load, and one may lie in such a room.
        _ => format!("{}-{}", site.name.replace(':', "-x"), arm_name(id, twin)),
    }
}

fn ask(id: ScenarioId, twin: bool, settings: &RunSettings, ready: &Ready, site: &Site) -> Ask {
    let (plan, spec) = (&settings.plan, spec(id));
    let plain_key = plain_key(id, twin, settings, ready, site);
    Ask {
        scenario: id,
        store: site.facts.clone(),
        budget: site.budget,
        key: plan.store.owner_key.replace("{key}", &plain_key),
        cycles: plan.cycles,
        premises: spec.premises.to_vec(),
        availability: spec.availability,
        witness: spec.witness,
        require_token: plan.require_token,
        store_shows_token: plan.store.owner_key == "{key}",
        twin,
    }
}

/// On SQLite each scenario has a file of its own: a writer frozen inside a transaction blocks the
/// whole file, and must not block its neighbours.
fn own_store(url: &StoreUrl, run: &str, name: &str) -> StoreUrl {
    let Some(path) = url.path() else { return url.clone() };
    let stem = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default();
    StoreUrl::Sqlite(path.with_file_name(format!("{stem}.{run}.{name}.db")))
}

fn resolve(host: &str, port: u16) -> Result<SocketAddr, String> {
    let mut found = (host, port)
        .to_socket_addrs()
        .map_err(|error| format!("{host}: {error}"))?;
    found.next().ok_or_else(|| format!("{host} has no address"))
}

/// Why a fault of the store is not offered on one that somebody else started, and what would be.
fn not_ours(id: ScenarioId, site: &Site) -> String {
    let kind = site.url.kind();
    if site.url.path().is_some() {
        return format!("{kind} is a file: it has no server");
    }
    let others = "leaseproof did not start this store, so it does nothing to it";
    let needs = |need| spec(id).needs.contains(&need);
    match server::ALL.iter().find(|recipe| recipe.kind == kind) {
        None => format!("{others}, and it starts no {kind}"),
        Some(recipe) if needs(Need::SteppableServer) && !recipe.steppable => not_steppable(kind),
        Some(recipe) if needs(Need::Members) && recipe.whole.is_none() => match recipe.most {
            1 => alone(kind),
            _ => format!("{others}: give --start-store {kind}:3"),
        },
        Some(_) => format!("{others}: give --start-store {kind}"),
    }
}

fn alone(kind: &str) -> String {
    format!("{kind} is one server here, and nobody takes its place")
}

fn not_steppable(kind: &str) -> String {
    format!(
        "no clock of {kind} can be stepped alone: it has several, ends leases by a steady one, or reads it without libc"
    )
}
