//! A Redis primary, two replicas of it, and the three Sentinels that watch them.

use super::{Recipe, Whole, by_itself, words};
use crate::server::room::{Ports, Room};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

pub(super) const RECIPE: Recipe = Recipe {
    kind: "redis-sentinel",
    variable: "LEASEPROOF_REDIS_SERVER",
    program: "redis-server",
    versions: None,
    most: SERVERS + SENTINELS,
    whole: Some(Whole {
        members: SERVERS + SENTINELS,
        // With one replica alone nobody could take over from the second primary before the first has become a replica.
        leads: SERVERS,
        url: member_url,
    }),
    never_root: false,
    steppable: false,
    write,
    make: by_itself,
    run,
    settle,
    url: |places, _| format!("redis+sentinel://{}/{SERVICE}", places[SERVERS..].join(",")),
};

/// How many servers there are: the first of the members.
const SERVERS: usize = 3;

/// How many Sentinels there are: the others.
const SENTINELS: usize = 3;

/// The name of the service.
const SERVICE: &str = "canary";

/// How long the Sentinels may take to know each other and all servers.
const KNOWN: Duration = Duration::from_secs(40);

/// An answer is over when nothing came for so long.
const SILENCE: Duration = Duration::from_millis(100);

/// No answer is longer, in bytes.
const MOST: u64 = 1 << 16;

fn is_server(number: usize) -> bool {
    number < SERVERS
}

fn member_url(number: usize, place: &str) -> String {
    if is_server(number) {
        format!("redis://{place}")
    } else {
        format!("redis+sentinel://{place}/{SERVICE}")
    }
}

/// The Sentinels write into these files who leads whom: what is there stays.
fn write(room: &Room<'_>) -> io::Result<()> {
    let file = room.data_dir().join("conf");
    if file.exists() {
        return Ok(());
    }
    let (port, first) = (room.ports().client, room.members[0].client);
    let mut config = format!("port {port}\nbind 127.0.0.1\ndir {}\n", quoted(&room.data()));
    if is_server(room.number) {
        // A replica that joins is not kept waiting for others.
        config += "save \"\"\nappendonly yes\nappendfsync always\nrepl-diskless-sync-delay 0\n";
        if room.number > 0 {
            config += &format!("replicaof 127.0.0.1 {first}\n");
        }
    } else {
        config += &format!(
            "sentinel monitor {SERVICE} 127.0.0.1 {first} 2\nsentinel down-after-milliseconds {SERVICE} 1000\n\
             sentinel failover-timeout {SERVICE} 3000\nsentinel parallel-syncs {SERVICE} 2\n"
        );
    }
    std::fs::write(file, config)
}

/// A word of a configuration file, whatever is in it.
fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
}

fn run(room: &Room<'_>) -> Vec<String> {
    let file = room.data_dir().join("conf").display().to_string();
    let mut command = words(&[&room.program(), &file]);
    if !is_server(room.number) {
        command.push("--sentinel".to_owned());
    }
    command
}

/// Waits for the last of the Sentinels to know all: before that nobody could take over.
fn settle(room: &Room<'_>) {
    if room.number + 1 < room.members.len() {
        return;
    }
    let sentinels = &room.members[SERVERS..];
    let until = Instant::now() + KNOWN;
    for ports in sentinels {
        // They ask the servers who their replicas are each ten seconds. From 7.0 that can be told; else it takes
        // as long as it takes.
        let _ = ask(ports, "SENTINEL DEBUG INFO-PERIOD 500");
        while Instant::now() < until && !knows_all(ports) {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn knows_all(ports: &Ports) -> bool {
    let Ok(answer) = ask(ports, &format!("SENTINEL MASTER {SERVICE}")) else {
        return false;
    };
    let lines: Vec<&str> = answer.lines().collect();
    let is = |name: &str, value: usize| {
        // Name, the value's length, value.
        let at = lines.iter().position(|line| *line == name);
        at.and_then(|at| lines.get(at + 2))
            .is_some_and(|it| *it == value.to_string())
    };
    is("num-other-sentinels", SENTINELS - 1) && is("num-slaves", SERVERS - 1)
}

/// One command, and what comes of its answer until nothing more does: a Sentinel knows no QUIT.
fn ask(ports: &Ports, command: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", ports.client))?;
    stream.set_read_timeout(Some(SILENCE))?;
    write!(stream, "{command}\r\n")?;
    let mut answer = Vec::new();
    match stream.take(MOST).read_to_end(&mut answer) {
        Err(error) if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Err(error),
        _ => Ok(String::from_utf8_lossy(&answer).into_owned()),
    }
}
