//! The owners of an incident: how each client is started, and what it said.

use super::draw::{Draw, Style};
use super::stage::{Line, Process, Start};
use super::store;
use super::table::Run;
use super::words;
use leaseproof_fault::warden::Warden;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What all incidents share.
#[derive(Clone, Debug)]
pub struct Places {
    /// The repository.
    pub root: PathBuf,
    /// The `leaseproof` command.
    pub leaseproof: PathBuf,
    /// Where `Ballast` and `Churn` are compiled, where there is a JDK.
    pub classes: Option<PathBuf>,
}

/// A running owner.
pub struct Owner {
    pub name: String,
    pub process: Process,
    events: PathBuf,
    run: Run,
    /// The file that makes a JVM collect.
    pub collect: PathBuf,
    /// The log of its collections.
    pub gc_log: PathBuf,
}

/// How one is wanted.
pub struct Wanted<'a> {
    pub name: &'a str,
    pub url: &'a str,
    pub resource: &'a str,
    pub cgroup: bool,
    /// A JVM with a great heap.
    pub ballast: bool,
}

impl Owner {
    /// Starts it, its files below `dir`.
    ///
    /// # Errors
    /// Why it did not start.
    pub fn start(
        warden: &Warden,
        places: &Places,
        draw: &Draw,
        dir: &Path,
        wanted: &Wanted<'_>,
    ) -> Result<Self, String> {
        let file = |what: &str| dir.join(format!("{}.{what}", wanted.name));
        let (events, collect, gc_log) = (file("events"), file("collect"), file("gc.log"));
        let resource = format!("{}/{}", wanted.resource, draw.key);
        let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut env = vec![
            set("LEASEPROOF_STORE", wanted.url),
            set("LEASEPROOF_KEY", &draw.key),
            set("LEASEPROOF_TTL_MS", &draw.ttl_ms.to_string()),
            set("LEASEPROOF_HEARTBEAT_MS", &draw.heartbeat_ms.to_string()),
            set("LEASEPROOF_OWNER", wanted.name),
            set("LEASEPROOF_RESOURCE", &resource),
            set("INCIDENT_EVENTS", &events.display().to_string()),
            set("INCIDENT_LEVEL", if draw.debug { "DEBUG" } else { "INFO" }),
            set("PYTHONUNBUFFERED", "1"),
            set("ETCDCTL_API", "3"),
        ];
        let style = match draw.style {
            Style::Json => "json",
            Style::Seconds => "seconds",
            _ => "python",
        };
        env.push(("INCIDENT_STYLE".to_owned(), style.to_owned()));
        if draw.client.run == Run::Python || draw.client.run == Run::Jvm {
            // A POSIX zone has its sign the other way round.
            let (sign, east) = (if draw.zone >= 0 { '-' } else { '+' }, draw.zone.abs());
            env.push(("TZ".to_owned(), format!("LOC{sign}{:02}:{:02}", east / 60, east % 60)));
        }
        let argv = argv(places, draw, wanted, &collect, &gc_log)?;
        let start = Start {
            argv,
            env,
            cwd: &places.root,
            cgroup: wanted.cgroup,
            shim: None,
        };
        Ok(Self {
            name: wanted.name.to_owned(),
            process: Process::start(warden, start)?,
            events,
            run: draw.client.run,
            collect,
            gc_log,
        })
    }

    /// What it said about itself, each with its moment.
    pub fn events(&self) -> Vec<(i64, Value)> {
        let lines = self.process.lines();
        if matches!(self.run, Run::Lab | Run::Jvm) {
            return lines.iter().filter_map(event).collect();
        }
        let text = std::fs::read_to_string(&self.events).unwrap_or_default();
        let parsed = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        parsed
            .filter_map(|it| Some((it.get("wall_ns")?.as_i64()?, it)))
            .collect()
    }

    /// Its log, as an operator has it.
    pub fn log(&self, draw: &Draw) -> String {
        let mut text = String::new();
        for line in self.process.lines() {
            let said = event(&line);
            let kept = match (self.run, said) {
                (Run::Lab | Run::Jvm, Some((at, said))) => {
                    words::event_line(&said, at, draw.style, draw.zone, &self.name, &draw.key, draw.debug)
                }
                // What its library logs has a stamp of its own.
                (Run::Jvm, _) if draw.style != Style::Docker && line.text.starts_with("20") => Some(line.text),
                (Run::Lab | Run::Jvm | Run::Etcdctl, _) => Some(words::other_line(
                    &line.text,
                    line.wall_ns,
                    draw.style,
                    draw.zone,
                    &self.name,
                )),
                _ => Some(line.text),
            };
            text.extend(kept.into_iter().flat_map(|it| [it, "\n".to_owned()]));
        }
        text
    }
}

/// An event line, with its own moment where it has one.
fn event(line: &Line) -> Option<(i64, Value)> {
    let value: Value = serde_json::from_str(&line.text).ok()?;
    value.get("lease")?;
    let at = value.get("wall_ns").and_then(Value::as_i64).unwrap_or(line.wall_ns);
    Some((at, value))
}

fn argv(
    places: &Places,
    draw: &Draw,
    wanted: &Wanted<'_>,
    collect: &Path,
    gc_log: &Path,
) -> Result<Vec<String>, String> {
    let env = |name: &str, other: &str| std::env::var(name).unwrap_or_else(|_| other.to_owned());
    let own = |name: &str| {
        places
            .root
            .join("xtask/incidents/owners")
            .join(name)
            .display()
            .to_string()
    };
    let mut words = draw.client.words.clone();
    let mut argv = match draw.client.run {
        Run::Lab => vec![places.leaseproof.display().to_string(), "owner".to_owned()],
        Run::Python => vec![env("LEASEPROOF_PYTHON", "python3"), own("logged.py")],
        Run::Node => vec![
            env("LEASEPROOF_NODE", "node"),
            "--import".to_owned(),
            format!("file://{}", own("pino.mjs")),
        ],
        Run::Jvm => {
            let script = std::fs::read_to_string(env("LEASEPROOF_CURATOR", ""))
                .map_err(|error| format!("LEASEPROOF_CURATOR: {error}"))?;
            let path = script.split_whitespace().skip_while(|word| *word != "-cp").nth(1);
            let path = path
                .ok_or("LEASEPROOF_CURATOR is no script with a -cp")?
                .replace('\\', "");
            let classes = places.classes.as_ref().ok_or("there is no JDK")?;
            let heap = if wanted.ballast { "-Xms1000m" } else { "-Xms64m" };
            let log = format!("-Xlog:gc*,safepoint:file={}:time,uptime,level,tags", gc_log.display());
            let mut argv: Vec<String> = [
                "java",
                "-Xmx1000m",
                heap,
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-XX:-UsePerfData",
            ]
            .map(str::to_owned)
            .into();
            let dir = collect.parent().unwrap_or(Path::new("."));
            let jars = store::jars(store::is_log4j)?;
            argv.extend([
                log,
                store::log4j(dir)?,
                "-cp".to_owned(),
                format!("{}:{jars}:{path}", classes.display()),
            ]);
            if wanted.ballast {
                argv.extend(["Ballast".to_owned(), "16".to_owned(), collect.display().to_string()]);
            }
            argv.push("Owner".to_owned());
            argv
        }
        Run::Etcdctl => {
            let place = wanted.url.trim_start_matches("etcd://");
            let seconds = (draw.ttl_ms / 1000).to_string();
            let python = env("LEASEPROOF_PYTHON", "python3");
            let worker = places
                .root
                .join("tests/clients/etcdctl-lock/worker.py")
                .display()
                .to_string();
            words = Vec::new();
            let (etcdctl, place) = (env("LEASEPROOF_ETCDCTL", "etcdctl"), format!("http://{place}"));
            let (lock, ttl, rest) = ("lock".to_owned(), "--ttl".to_owned(), "--".to_owned());
            let endpoints = "--endpoints".to_owned();
            let key = draw.key.clone();
            vec![
                etcdctl,
                endpoints,
                place,
                lock,
                ttl,
                seconds,
                rest,
                key,
                python,
                own("logged.py"),
                worker,
            ]
        }
    };
    argv.extend(words);
    Ok(argv)
}
