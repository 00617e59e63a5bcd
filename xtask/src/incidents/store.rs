//! The stores of incidents: real servers that log as they usually do, each in a folder of its own.

use super::stage::{Process, Start, wall_now};
use leaseproof_fault::shim::ShimFile;
use leaseproof_fault::warden::Warden;
use leaseproof_store::{StoreUrl, open_observer};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a server may take to answer.
const START: Duration = Duration::from_secs(60);

/// What is wanted of a store.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// Redis: bounded memory, from which keys are evicted.
    pub tight: bool,
    /// Redis: its clock can be stepped.
    pub stepped: bool,
    /// Redis: MONITOR, else the AOF.
    pub monitor: bool,
}

/// A running store.
pub struct Store {
    kind: String,
    wanted: Wanted,
    dir: PathBuf,
    ports: Vec<u16>,
    warden: Warden,
    servers: Vec<Process>,
    /// What records it from outside: MONITOR, a watch.
    recorder: Option<Process>,
    /// When its record was taken.
    gathered_ns: i64,
    /// Its append-only files as they were then.
    journal: Vec<(String, Vec<u8>)>,
    shim: Option<Arc<ShimFile>>,
}

fn program(variable: &str, name: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| name.to_owned())
}

fn free_ports(count: usize) -> Result<Vec<u16>, String> {
    leaseproof_proc::ports::free(count).map_err(|error| error.to_string())
}

/// Writes the usual settings of log4j; the option that names them.
///
/// # Errors
/// When they can't be written.
pub fn log4j(dir: &Path) -> Result<String, String> {
    let text = "log4j.rootLogger=INFO, OUT\nlog4j.appender.OUT=org.apache.log4j.ConsoleAppender\n\
                log4j.appender.OUT.layout=org.apache.log4j.PatternLayout\n\
                log4j.appender.OUT.layout.ConversionPattern=%d{ISO8601} [myid:] - %-5p [%t:%C{1}@%L] - %m%n\n";
    let file = dir.join("log4j.properties");
    std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(format!("-Dlog4j.configuration=file:{}", file.display()))
}

/// Whether a jar belongs to a log by log4j.
pub fn is_log4j(name: &str) -> bool {
    matches!(name, "slf4j-api.jar" | "slf4j-log4j12.jar" | "log4j-1.2.jar")
}

/// The class path of those jars beside ZooKeeper's that are wanted.
///
/// # Errors
/// When they can't be found.
pub fn jars(wanted: impl Fn(&str) -> bool) -> Result<String, String> {
    let script = program("LEASEPROOF_ZOOKEEPER", "");
    let text = std::fs::read_to_string(&script).map_err(|error| format!("LEASEPROOF_ZOOKEEPER: {script}: {error}"))?;
    let path = text.split_whitespace().skip_while(|word| *word != "-cp").nth(1);
    let path = path.ok_or("LEASEPROOF_ZOOKEEPER is no script with a -cp")?;
    let mut all: Vec<String> = Vec::new();
    for folder in path.split(':').filter_map(|it| Path::new(it).parent()) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".jar") && wanted(&name) {
                all.push(entry.path().display().to_string());
            }
        }
    }
    all.sort();
    all.dedup();
    Ok(all.join(":"))
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

impl Store {
    /// Starts one, its files below `dir`.
    ///
    /// # Errors
    /// Why it did not start.
    pub fn start(warden: &Warden, kind: &str, wanted: Wanted, dir: &Path) -> Result<Self, String> {
        let count = match kind {
            "redis" => 1,
            "etcd" => 2,
            "zookeeper" => 1,
            "redis-sentinel" => 5,
            other => return Err(format!("no store `{other}`")),
        };
        std::fs::create_dir_all(dir).map_err(|error| error.to_string())?;
        let shim = match wanted.stepped {
            true => Some(Arc::new(ShimFile::create(dir).map_err(|error| error.to_string())?)),
            false => None,
        };
        let mut store = Self {
            kind: kind.to_owned(),
            wanted,
            dir: dir.to_owned(),
            ports: free_ports(count)?,
            warden: warden.clone(),
            servers: Vec::new(),
            recorder: None,
            gathered_ns: i64::MAX,
            journal: Vec::new(),
            shim,
        };
        for number in 0..store.members() {
            let server = store.serve(number)?;
            store.servers.push(server);
        }
        store.until_it_answers()?;
        Ok(store)
    }

    fn members(&self) -> usize {
        if self.kind == "redis-sentinel" { 5 } else { 1 }
    }

    /// Where it is reached.
    pub fn place(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port(0)).into()
    }

    fn port(&self, number: usize) -> u16 {
        self.ports.get(number).copied().unwrap_or(0)
    }

    /// Its URL by way of `place`.
    pub fn url_at(&self, place: SocketAddr) -> String {
        match self.kind.as_str() {
            "redis-sentinel" => {
                let all: Vec<String> = (2..5)
                    .map(|number| format!("127.0.0.1:{}", self.port(number)))
                    .collect();
                format!("redis+sentinel://{}/orders-cache", all.join(","))
            }
            kind => format!("{kind}://{place}"),
        }
    }

    /// Its process (the primary's).
    pub fn server(&self) -> Option<&Process> {
        self.servers.first()
    }

    /// Its clock.
    pub fn shim(&self) -> Option<&Arc<ShimFile>> {
        self.shim.as_ref()
    }

    /// Kills it, and starts it again with nothing.
    ///
    /// # Errors
    /// Why it did not start.
    pub fn restart_empty(&mut self) -> Result<(), String> {
        self.servers.clear();
        let _ = std::fs::remove_dir_all(self.dir.join("appendonlydir"));
        std::thread::sleep(Duration::from_millis(300));
        let server = self.serve(0)?;
        self.servers.push(server);
        self.until_it_answers()?;
        self.record()
    }

    fn serve(&self, number: usize) -> Result<Process, String> {
        let argv = match self.kind.as_str() {
            "redis" => self.redis(),
            "redis-sentinel" => self.of_sentinel(number)?,
            "etcd" => self.etcd(),
            _ => self.zookeeper()?,
        };
        let start = Start {
            argv,
            env: Vec::new(),
            cwd: &self.dir,
            cgroup: false,
            shim: self.shim.clone(),
        };
        Process::start(&self.warden, start)
    }

    fn redis(&self) -> Vec<String> {
        let dir = self.dir.display().to_string();
        let mut argv = vec![program("LEASEPROOF_REDIS_SERVER", "redis-server")];
        argv.extend(words(&[
            "--bind",
            "127.0.0.1",
            "--port",
            &self.port(0).to_string(),
            "--save",
            "",
            "--dir",
            &dir,
        ]));
        argv.extend(words(&["--logfile", &self.dir.join("redis.log").display().to_string()]));
        if !self.wanted.monitor {
            argv.extend(words(&["--appendonly", "yes", "--aof-timestamp-enabled", "yes"]));
        }
        if self.wanted.tight {
            argv.extend(words(&["--maxmemory", "3mb", "--maxmemory-policy", "allkeys-random"]));
        }
        argv
    }

    fn of_sentinel(&self, number: usize) -> Result<Vec<String>, String> {
        let server = program("LEASEPROOF_REDIS_SERVER", "redis-server");
        let folder = self.dir.join(format!("m{number}"));
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let port = self.port(number);
        let log = self.dir.join(if number < 2 {
            format!("redis-{number}.log")
        } else {
            format!("sentinel-{}.log", number - 2)
        });
        let dir = folder.display();
        let common = format!("port {port}\nbind 127.0.0.1\ndir {dir}\nlogfile {}\n", log.display());
        let file = folder.join("server.conf");
        let text = match number {
            0 => format!("{common}save \"\"\nrepl-diskless-sync-delay 0\n"),
            1 => format!(
                "{common}save \"\"\nreplicaof 127.0.0.1 {}\nrepl-diskless-sync-delay 0\n",
                self.port(0)
            ),
            _ => format!(
                "{common}sentinel monitor orders-cache 127.0.0.1 {} 2\nsentinel down-after-milliseconds orders-cache 1000\n\
                 sentinel failover-timeout orders-cache 4000\n",
                self.port(0)
            ),
        };
        std::fs::write(&file, text).map_err(|error| error.to_string())?;
        let mut argv = vec![server, file.display().to_string()];
        if number >= 2 {
            argv.push("--sentinel".to_owned());
        }
        Ok(argv)
    }

    fn etcd(&self) -> Vec<String> {
        let (client, peer) = (
            format!("http://127.0.0.1:{}", self.port(0)),
            format!("http://127.0.0.1:{}", self.port(1)),
        );
        let mut argv = vec![program("LEASEPROOF_ETCD", "etcd")];
        argv.extend(words(&[
            "--name",
            "m0",
            "--data-dir",
            &self.dir.join("data").display().to_string(),
        ]));
        argv.extend(words(&[
            "--listen-client-urls",
            &client,
            "--advertise-client-urls",
            &client,
        ]));
        argv.extend(words(&[
            "--listen-peer-urls",
            &peer,
            "--initial-advertise-peer-urls",
            &peer,
        ]));
        argv.extend(words(&[
            "--initial-cluster",
            &format!("m0={peer}"),
            "--quota-backend-bytes",
            "67108864",
        ]));
        argv.extend(words(&["--logger", "zap", "--log-outputs", "stderr"]));
        argv
    }

    fn zookeeper(&self) -> Result<Vec<String>, String> {
        let config = format!(
            "tickTime=100\ndataDir={}\nclientPort={}\nclientPortAddress=127.0.0.1\nmaxClientCnxns=0\n\
             admin.enableServer=false\n4lw.commands.whitelist=*\nmaxSessionTimeout=60000\njvm.pause.monitor=true\n\
             jvm.pause.warn-threshold.ms=1000\njvm.pause.info-threshold.ms=500\n",
            self.dir.join("data").display(),
            self.port(0)
        );
        std::fs::write(self.dir.join("zoo.cfg"), config).map_err(|error| error.to_string())?;
        let log = log4j(&self.dir)?;
        let mut argv = vec![program("LEASEPROOF_ZOOKEEPER", "zookeeper-java")];
        // The last class path counts: of the bindings for its log, only that of log4j.
        argv.extend([
            "-cp".to_owned(),
            jars(|name| !name.contains("slf4j") || is_log4j(name))?,
        ]);
        argv.push(log);
        argv.push("org.apache.zookeeper.server.ZooKeeperServerMain".to_owned());
        argv.push(self.dir.join("zoo.cfg").display().to_string());
        Ok(argv)
    }

    fn until_it_answers(&self) -> Result<(), String> {
        let url = self
            .url_at(self.place())
            .parse::<StoreUrl>()
            .map_err(|error| error.to_string())?;
        let until = Instant::now() + START;
        loop {
            let why = match open_observer(&url, Duration::from_millis(800)) {
                // Sentinels name a primary before they know its replica.
                Ok(_) if self.kind != "redis-sentinel" || self.sentinels_know() => return Ok(()),
                Ok(_) => "the Sentinels do not know all yet".to_owned(),
                Err(error) => error.to_string(),
            };
            if Instant::now() > until || self.servers.iter().any(Process::has_ended) {
                return Err(format!("{} does not answer: {why}", self.kind));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn sentinels_know(&self) -> bool {
        (2..5).all(|number| {
            let said = self.cli_at(number, &["sentinel", "master", "orders-cache"]);
            let fields: Vec<&str> = said.lines().collect();
            let value = |name: &str| {
                fields
                    .iter()
                    .position(|it| *it == name)
                    .and_then(|at| fields.get(at + 1))
                    .copied()
            };
            value("num-slaves") == Some("1") && value("num-other-sentinels") == Some("2")
        })
    }

    /// What `redis-cli` prints.
    pub fn cli(&self, arguments: &[&str]) -> String {
        self.cli_at(0, arguments)
    }

    fn cli_at(&self, number: usize, arguments: &[&str]) -> String {
        let output = Command::new(program("LEASEPROOF_REDIS_CLI", "redis-cli"))
            .args(["-h", "127.0.0.1", "-p", &self.port(number).to_string()])
            .args(arguments)
            .stdin(Stdio::null())
            .output();
        output
            .map(|it| String::from_utf8_lossy(&it.stdout).into_owned())
            .unwrap_or_default()
    }

    /// Writes keys of its own until `gone` or so many are there.
    pub fn fill(&self, most: usize, gone: impl Fn() -> bool) {
        use std::io::{Read as _, Write as _};
        let Ok(mut to) = TcpStream::connect(self.place()) else {
            return;
        };
        let _ = to.set_read_timeout(Some(Duration::from_secs(2)));
        let value = "v".repeat(900);
        for number in 0..most {
            let key = format!("cache:page:{number}");
            let command = format!("*3\r\n$3\r\nSET\r\n${}\r\n{key}\r\n$900\r\n{value}\r\n", key.len());
            if to.write_all(command.as_bytes()).is_err()
                || to.read(&mut [0; 256]).is_err()
                || (number % 8 == 0 && gone())
            {
                return;
            }
        }
    }

    /// Begins to record from outside what a recorder of operators would.
    ///
    /// # Errors
    /// When the recorder does not start.
    pub fn record(&mut self) -> Result<(), String> {
        let argv = match self.kind.as_str() {
            "redis" if self.wanted.monitor => {
                let cli = program("LEASEPROOF_REDIS_CLI", "redis-cli");
                let mut argv = vec![cli];
                argv.extend(words(&["-h", "127.0.0.1", "-p", &self.port(0).to_string(), "monitor"]));
                argv
            }
            "etcd" => {
                let at = format!("http://127.0.0.1:{}", self.port(0));
                let mut argv = vec![program("LEASEPROOF_ETCDCTL", "etcdctl")];
                argv.extend(words(&["--endpoints", &at, "watch", "--prefix", "", "-w", "json"]));
                argv
            }
            _ => return Ok(()),
        };
        let start = Start {
            argv,
            env: vec![("ETCDCTL_API".to_owned(), "3".to_owned())],
            cwd: &self.dir,
            cgroup: false,
            shim: None,
        };
        let before = self.recorder.take();
        let recorder = Process::start(&self.warden, start)?;
        if let Some(mut before) = before {
            before.end();
            let text: String = before.lines().iter().map(|it| format!("{}\n", it.text)).collect();
            std::fs::write(self.dir.join("recorded-before"), text).map_err(|error| error.to_string())?;
        }
        self.recorder = Some(recorder);
        // It records from its first line on; before it there is nothing to miss.
        std::thread::sleep(Duration::from_millis(200));
        Ok(())
    }

    /// The record ends here; what it says of itself later is left out.
    pub fn gather(&mut self) {
        self.gathered_ns = wall_now();
        if let Some(recorder) = &mut self.recorder {
            recorder.end();
        }
        for entry in std::fs::read_dir(self.dir.join("appendonlydir"))
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".incr.aof") {
                self.journal
                    .extend(std::fs::read(entry.path()).map(|bytes| (name, bytes)));
            }
        }
    }

    /// The files that it leaves: name and text. Ends it.
    pub fn files(mut self, began_ns: i64) -> Vec<(String, Vec<u8>)> {
        let mut files = Vec::new();
        if self.kind == "redis" {
            let at = stamp(wall_now());
            files.push((
                "redis-info.txt".to_owned(),
                format!("# {at}\n{}", self.cli(&["info"])).into_bytes(),
            ));
            files.push((
                "redis-slowlog.txt".to_owned(),
                self.cli(&["slowlog", "get", "32"]).into_bytes(),
            ));
        }
        if let Some(recorder) = self.recorder.take() {
            let lines = recorder.lines();
            if self.kind == "redis" {
                let mut text = std::fs::read_to_string(self.dir.join("recorded-before")).unwrap_or_default();
                text.extend(lines.iter().map(|it| format!("{}\n", it.text)));
                files.push(("redis-monitor.txt".to_owned(), without_our_looks(&text).into_bytes()));
            } else {
                let text: String = lines
                    .iter()
                    .map(|it| format!("{} {}\n", stamp(it.wall_ns), it.text))
                    .collect();
                files.push(("etcd-watch.txt".to_owned(), text.into_bytes()));
            }
        }
        // What it says of its own end with the scene is no part of the incident.
        let until = self.gathered_ns;
        let own = |process: &Process| -> String {
            let lines = process
                .lines()
                .into_iter()
                .filter(|it| it.wall_ns >= began_ns && it.wall_ns <= until);
            lines.map(|it| it.text + "\n").collect()
        };
        for server in &mut self.servers {
            server.end();
        }
        match (self.kind.as_str(), self.servers.first()) {
            ("etcd", Some(server)) => files.push(("etcd.log".to_owned(), own(server).into_bytes())),
            ("zookeeper", Some(server)) => files.push(("zookeeper.log".to_owned(), own(server).into_bytes())),
            _ => {}
        }
        for entry in std::fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".log") {
                files.extend(std::fs::read(entry.path()).map(|bytes| (name, bytes)));
            }
        }
        files.append(&mut self.journal);
        files
    }
}

/// `2026-11-30T03:02:27.442Z`
fn stamp(wall_ns: i64) -> String {
    super::words::iso(wall_ns, 0)
}

/// The capture without the lines of the connection by which we looked: an operator would not have been there.
fn without_our_looks(text: &str) -> String {
    let client = |line: &str| {
        let (_, rest) = line.split_once('[')?;
        Some(rest.split_once(']')?.0.to_owned())
    };
    let ours: Vec<String> = text
        .lines()
        .filter(|line| line.contains("\"PEXPIRETIME\""))
        .filter_map(client)
        .collect();
    let kept = text
        .lines()
        .filter(|line| client(line).is_none_or(|it| !ours.contains(&it)));
    kept.map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_is_freed_of_our_own_looks_and_of_nothing_else() {
        let text = "1.0 [0 127.0.0.1:1] \"PEXPIRETIME\" \"k\"\n1.1 [0 127.0.0.1:1] \"GET\" \"k\"\n1.2 [0 127.0.0.1:2] \"GET\" \"k\"\n1.3 [0 lua] \"get\" \"k\"\n";
        assert_eq!(
            without_our_looks(text),
            "1.2 [0 127.0.0.1:2] \"GET\" \"k\"\n1.3 [0 lua] \"get\" \"k\"\n"
        );
    }
}
