//! A store full of leases, each of which is renewed once a heartbeat.

use crate::etcd_server::EtcdServer;
use crate::redis_server::RedisServer;
use clap::ValueEnum;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often each lease is renewed while it is measured.
pub const HEARTBEAT: Duration = Duration::from_secs(10);

/// So many requests go to the server at a time.
const AT_ONCE: usize = 500;

/// So many connections make the leases.
const FILLING: usize = 16;

/// The store that is filled.
#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
pub enum Store {
    Redis,
    Etcd,
}

/// A running one.
pub enum Load {
    Redis(RedisServer),
    Etcd(EtcdServer),
}

/// The thread that renews.
pub type Renewer = JoinHandle<Result<(), String>>;

impl Load {
    /// Starts the server.
    pub fn start(store: Store) -> Result<Self, String> {
        match store {
            Store::Redis => RedisServer::start()
                .map(Self::Redis)
                .map_err(|why| format!("no redis-server: {why}: set LEASEPROOF_REDIS_SERVER, or run .ci/tools redis")),
            Store::Etcd => EtcdServer::start_with(&["--heartbeat-interval", "100", "--election-timeout", "1000"])
                .map(Self::Etcd)
                .map_err(|why| format!("no etcd: {why}: set LEASEPROOF_ETCD, or run .ci/tools etcd")),
        }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        match self {
            Self::Redis(it) => it.process(),
            Self::Etcd(it) => it.process(),
        }
    }

    /// Its URL.
    pub fn url(&self) -> String {
        match self {
            Self::Redis(it) => it.url(),
            Self::Etcd(it) => it.url(),
        }
    }

    fn address(&self) -> String {
        match self {
            Self::Redis(it) => format!("127.0.0.1:{}", it.port()),
            Self::Etcd(it) => format!("127.0.0.1:{}", it.port()),
        }
    }

    /// What makes these leases, and how many answers that has.
    fn made(&self, count: usize, part: &[usize]) -> (String, usize) {
        let mut text = String::new();
        for n in part {
            let key = format!("bench/{count}/{n}");
            match self {
                Self::Redis(_) => {
                    // Writing to a String can't fail.
                    let _ = write!(
                        text,
                        "SET {key} worker-{n}#0123456789abcdef#{n} PX 60000\r\nSET {key}:token {n}\r\n"
                    );
                }
                Self::Etcd(_) => {
                    let id = lease_id(count, *n);
                    let value = base64(format!("worker-{n}#{id:016x}").as_bytes());
                    text += &post("lease/grant", &format!(r#"{{"ID":"{id}","TTL":"60"}}"#));
                    let body = format!(
                        r#"{{"key":"{}","value":"{value}","lease":"{id}"}}"#,
                        base64(key.as_bytes())
                    );
                    text += &post("kv/put", &body);
                }
            }
        }
        (text, part.len() * 2)
    }

    /// What renews them, and how many answers that has.
    fn renewed(&self, count: usize, part: &[usize]) -> (String, usize) {
        let each = part.iter().map(|n| match self {
            Self::Redis(_) => format!("PEXPIRE bench/{count}/{n} 60000\r\n"),
            Self::Etcd(_) => post("lease/keepalive", &format!(r#"{{"ID":"{}"}}"#, lease_id(count, *n))),
        });
        (each.collect(), part.len())
    }

    /// What each answer has once.
    fn mark(&self) -> &'static [u8] {
        match self {
            Self::Redis(_) => b"\n",
            Self::Etcd(_) => b"HTTP/1.1 200",
        }
    }

    /// On several connections: the first lease must not end before the last one is made.
    fn fill(&self, count: usize, all: &[usize]) -> Result<(), String> {
        let (mark, made) = (self.mark(), |part: &[usize]| self.made(count, part));
        std::thread::scope(|scope| {
            let parts = all.chunks(all.len().div_ceil(FILLING).max(1)).map(|some| {
                let address = self.address();
                let requests: Vec<(String, usize)> = some.chunks(AT_ONCE).map(made).collect();
                scope.spawn(move || {
                    let mut stream = TcpStream::connect(address).map_err(|error| error.to_string())?;
                    requests.iter().try_for_each(|it| send(&mut stream, it, mark))
                })
            });
            let parts: Vec<_> = parts.collect();
            parts
                .into_iter()
                .try_for_each(|part| part.join().map_err(|_| "the filling failed".to_owned())?)
        })
    }

    /// Makes the leases, and renews each once a heartbeat.
    pub fn renew(&self, count: usize, stop: Arc<AtomicBool>) -> Result<Renewer, String> {
        let mut stream = TcpStream::connect(self.address()).map_err(|error| error.to_string())?;
        let all: Vec<usize> = (0..count).collect();
        let mark = self.mark();
        self.fill(count, &all)?;
        let rounds: Vec<(String, usize)> = all.chunks(AT_ONCE / 5).map(|part| self.renewed(count, part)).collect();
        let slice = HEARTBEAT / u32::try_from(rounds.len()).unwrap_or(1);
        Ok(std::thread::spawn(move || {
            loop {
                for round in &rounds {
                    let began = Instant::now();
                    send(&mut stream, round, mark)?;
                    std::thread::sleep(slice.saturating_sub(began.elapsed()));
                    if stop.load(Ordering::Relaxed) {
                        return Ok(());
                    }
                }
            }
        }))
    }
}

/// A number of its own for each lease.
fn lease_id(count: usize, n: usize) -> u64 {
    (count as u64) << 32 | (n as u64 + 1)
}

fn post(path: &str, body: &str) -> String {
    format!(
        "POST /v3/{path} HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for part in bytes.chunks(3) {
        let byte = |at: usize| u32::from(*part.get(at).unwrap_or(&0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            match place > part.len() {
                true => text.push('='),
                false => text.push(char::from(SIGNS[(bits >> (18 - 6 * place) & 63) as usize])),
            }
        }
    }
    text
}

/// Sends requests, and reads on until all are answered. Both at once: a server that waits for its answers to
/// be read reads no further question.
fn send(stream: &mut TcpStream, (text, count): &(String, usize), mark: &[u8]) -> Result<(), String> {
    let mut writer = stream.try_clone().map_err(|error| error.to_string())?;
    std::thread::scope(|scope| {
        let writing = scope.spawn(move || writer.write_all(text.as_bytes()).map_err(|error| error.to_string()));
        let (mut answers, mut chunk, mut kept) = (0, [0; 16 * 1024], Vec::new());
        while answers < *count {
            let length = stream.read(&mut chunk).map_err(|error| error.to_string())?;
            if length == 0 {
                return Err("the server ended".to_owned());
            }
            kept.extend_from_slice(&chunk[..length]);
            answers += kept.windows(mark.len()).filter(|it| *it == mark).count();
            // A mark that is not whole yet is counted with the next bytes.
            let rest = kept.len().saturating_sub(mark.len() - 1);
            kept.drain(..rest);
        }
        writing.join().map_err(|_| "the requests failed".to_owned())?
    })
}
