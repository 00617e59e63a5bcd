//! Redis in more than one server, on loopback: a primary with a replica and three Sentinels, a cluster of
//! three, and three that know nothing of each other.

#![allow(dead_code, reason = "each test file uses a part of this fixture")]

use crate::redis_server::RedisServer;
use std::collections::BTreeMap;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The name of the service that the Sentinels watch.
pub const SERVICE: &str = "canary service";

/// How long an ensemble may take to come together, or to fail over, on a busy machine.
const TOGETHER: Duration = Duration::from_secs(60);

/// Waits for a state with a deadline.
#[track_caller]
pub fn wait_until(what: &str, mut is: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is() {
        assert!(began.elapsed() < TOGETHER, "never so: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The field of an answer that is a list of names and values.
fn field(answer: &str, name: &str) -> Option<String> {
    let lines: Vec<&str> = answer.lines().collect();
    let pair = lines.chunks(2).find(|pair| pair[0] == name)?;
    Some((*pair.get(1)?).to_owned())
}

/// A Sentinel.
struct Sentinel {
    port: u16,
    child: Child,
    _folder: tempfile::TempDir,
}

impl Sentinel {
    fn start(primary: u16, down_after: Duration, password: &str) -> Result<Self, String> {
        let program = std::env::var_os("LEASEPROOF_REDIS_SERVER").unwrap_or_else(|| "redis-server".into());
        let folder = tempfile::tempdir().map_err(|error| format!("no folder for a Sentinel: {error}"))?;
        let port = leaseproof_proc::ports::one().expect("loopback has a free port");
        let (service, down_after) = (SERVICE, down_after.as_millis());
        let mut settings = format!(
            "port {port}\nbind 127.0.0.1\nsentinel monitor \"{service}\" 127.0.0.1 {primary} 2\n\
             sentinel down-after-milliseconds \"{service}\" {down_after}\n\
             sentinel failover-timeout \"{service}\" 3000\n"
        );
        if !password.is_empty() {
            settings += &format!("requirepass {password}\nsentinel sentinel-pass {password}\n");
        }
        let file = folder.path().join("sentinel.conf");
        std::fs::write(&file, settings).map_err(|error| error.to_string())?;
        let child = spawn(&program, &file, folder.path())?;
        let sentinel = Self {
            port,
            child,
            _folder: folder,
        };
        wait_until("a Sentinel listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Ok(sentinel)
    }
}

fn spawn(program: &std::ffi::OsStr, file: &Path, folder: &Path) -> Result<Child, String> {
    // It must not outlive a test that is killed.
    Command::new("setpriv")
        .args(["--pdeathsig", "KILL", "--"])
        .arg(program)
        .arg(file)
        .arg("--sentinel")
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("a Sentinel can't be started: {error}"))
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A primary, a replica of it, and three Sentinels.
pub struct Watched {
    sentinels: Vec<Sentinel>,
    pub servers: Vec<RedisServer>,
    password: String,
}

impl Watched {
    /// Starts them; the Sentinels call a primary down that was silent for so long.
    pub fn start(down_after: Duration) -> Result<Self, String> {
        Self::start_with(down_after, "")
    }

    /// The same with a password for the Sentinels.
    pub fn start_with(down_after: Duration, password: &str) -> Result<Self, String> {
        let settings = ["--repl-diskless-sync-delay", "0"];
        let primary = RedisServer::start_with(&settings)?;
        let of = format!("127.0.0.1 {}", primary.port());
        let replica = RedisServer::start_with(&[&settings[..], &["--replicaof", &of]].concat())?;
        wait_until("the replica follows", || {
            replica.cli(&["INFO", "replication"]).contains("master_link_status:up")
        });
        let sentinels: Result<Vec<Sentinel>, String> = (0..3)
            .map(|_| Sentinel::start(primary.port(), down_after, password))
            .collect();
        let ensemble = Self {
            sentinels: sentinels?,
            servers: vec![primary, replica],
            password: password.to_owned(),
        };
        wait_until("the Sentinels know each other and the replica", || {
            (0..3).all(|number| {
                let answer = ensemble.sentinel(number, &["SENTINEL", "MASTER", SERVICE]);
                let is = |name, value: &str| field(&answer, name).as_deref() == Some(value);
                is("num-other-sentinels", "2") && is("num-slaves", "1") && is("flags", "master")
            })
        });
        Ok(ensemble)
    }

    /// `redis+sentinel://…/canary%20service`.
    pub fn url(&self) -> String {
        self.url_of(SERVICE, &self.password)
    }

    pub fn url_of(&self, service: &str, password: &str) -> String {
        let places: Vec<String> = self
            .sentinels
            .iter()
            .map(|it| format!("127.0.0.1:{}", it.port))
            .collect();
        let query = match password {
            "" => String::new(),
            password => format!("?sentinel_password={password}"),
        };
        format!(
            "redis+sentinel://{}/{}{query}",
            places.join(","),
            service.replace(' ', "%20")
        )
    }

    /// What a Sentinel answers to `redis-cli`.
    pub fn sentinel(&self, number: usize, words: &[&str]) -> String {
        let port = self.sentinels[number].port.to_string();
        let program = std::env::var_os("LEASEPROOF_REDIS_CLI").unwrap_or_else(|| "redis-cli".into());
        let mut command = Command::new(program);
        command.args(["-h", "127.0.0.1", "-p", &port, "--no-auth-warning"]);
        if !self.password.is_empty() {
            command.args(["-a", &self.password]);
        }
        let output = command.args(words).output().expect("redis-cli runs");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// The port that this Sentinel names as the primary's.
    pub fn named_by(&self, number: usize) -> Option<u16> {
        let answer = self.sentinel(number, &["SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE]);
        answer.lines().nth(1)?.parse().ok()
    }

    /// The server that the Sentinels name.
    pub fn primary(&self) -> &RedisServer {
        let port = self.named_by(0);
        let named = self.servers.iter().find(|it| Some(it.port()) == port);
        named.expect("the Sentinels name one of ours")
    }

    /// Kills a Sentinel.
    pub fn kill_sentinel(&mut self, number: usize) {
        let _ = self.sentinels[number].child.kill();
        let _ = self.sentinels[number].child.wait();
    }

    /// Waits until all Sentinels name another server than this one, which does not answer.
    #[track_caller]
    pub fn wait_for_primary_without(&self, server: usize) {
        let port = self.servers[server].port();
        wait_until("the Sentinels name another primary", || {
            (0..3).all(|number| self.named_by(number).is_some_and(|named| named != port))
        });
    }

    /// Waits until all Sentinels name this server, and it says that it is a primary.
    #[track_caller]
    pub fn wait_for_primary(&self, server: usize) {
        let server = &self.servers[server];
        wait_until("the Sentinels name another primary", || {
            (0..3).all(|number| self.named_by(number).is_none_or(|port| port == server.port()))
                && server.cli(&["ROLE"]).starts_with("master")
        });
    }
}

/// Three servers of one cluster.
pub fn cluster() -> Result<Vec<RedisServer>, String> {
    let mut servers = Vec::new();
    let mut buses = Vec::new();
    for _ in 0..3 {
        let bus = leaseproof_proc::ports::one().expect("loopback has a free port");
        let settings = ["--cluster-enabled", "yes", "--cluster-port", &bus.to_string()];
        servers.push(RedisServer::start_with(&settings)?);
        buses.push(bus);
    }
    for (number, server) in servers.iter().enumerate() {
        let first = number * 5462;
        let last = (first + 5461).min(16383);
        server.cli(&["CLUSTER", "SET-CONFIG-EPOCH", &(number + 1).to_string()]);
        server.cli(&["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()]);
        let port = servers[0].port().to_string();
        server.cli(&["CLUSTER", "MEET", "127.0.0.1", &port, &buses[0].to_string()]);
    }
    wait_until("the cluster is whole", || {
        servers.iter().all(|server| {
            let info = server.cli(&["CLUSTER", "INFO"]);
            info.contains("cluster_state:ok")
                && info.contains("cluster_known_nodes:3")
                && info.contains("cluster_size:3")
        })
    });
    Ok(servers)
}

/// Three servers that know nothing of each other.
pub fn independent() -> Result<Vec<RedisServer>, String> {
    (0..3).map(|_| RedisServer::start()).collect()
}

/// A URL of these servers.
pub fn url_of(scheme: &str, servers: &[RedisServer]) -> String {
    let places: Vec<String> = servers.iter().map(|it| format!("127.0.0.1:{}", it.port())).collect();
    format!("{scheme}://{}", places.join(","))
}

/// An ensemble, with hands that do not belong to the adapter.
pub enum Ensemble {
    Watched(Watched),
    Cluster(Vec<RedisServer>),
    Quorum(Vec<RedisServer>),
}

impl Ensemble {
    pub fn url(&self) -> String {
        match self {
            Self::Watched(watched) => watched.url(),
            Self::Cluster(servers) => url_of("redis+cluster", servers),
            Self::Quorum(servers) => url_of("redlock", servers),
        }
    }

    fn servers(&self) -> &[RedisServer] {
        match self {
            Self::Watched(watched) => &watched.servers,
            Self::Cluster(servers) | Self::Quorum(servers) => servers,
        }
    }

    /// The value of a key by `redis-cli`: of the majority, where each has one of its own.
    pub fn value(&self, key: &str) -> Option<String> {
        let value = match self {
            Self::Watched(watched) => watched.primary().cli(&["GET", key]),
            Self::Cluster(servers) => servers[0].cli(&["-c", "GET", key]),
            Self::Quorum(servers) => {
                let mut votes = BTreeMap::new();
                for server in servers {
                    *votes.entry(server.cli(&["GET", key])).or_insert(0) += 1;
                }
                let most = votes.into_iter().find(|(_, count)| count * 2 > servers.len());
                most.map(|(value, _)| value).unwrap_or_default()
            }
        };
        (!value.is_empty()).then_some(value)
    }

    /// The token counter, where there is one for all.
    pub fn counter(&self, key: &str) -> Option<u64> {
        let name = match self {
            Self::Watched(_) => format!("{key}:token"),
            Self::Cluster(_) => format!("{{{key}}}:token"),
            Self::Quorum(_) => return None,
        };
        self.value(&name)?.parse().ok()
    }

    /// Takes the TTL off.
    pub fn persist(&self, key: &str) {
        match self {
            Self::Watched(watched) => drop(watched.primary().cli(&["PERSIST", key])),
            Self::Cluster(servers) => drop(servers[0].cli(&["-c", "PERSIST", key])),
            Self::Quorum(servers) => servers.iter().for_each(|it| drop(it.cli(&["PERSIST", key]))),
        }
    }

    pub fn freeze(&self) {
        self.servers().iter().for_each(RedisServer::freeze);
    }

    pub fn thaw(&self) {
        self.servers().iter().for_each(RedisServer::thaw);
    }
}
