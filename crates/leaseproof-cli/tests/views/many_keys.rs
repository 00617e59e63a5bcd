//! A hundred thousand keys beside the lease: the answer comes all the same, in bounded memory.

use crate::bad::inspect;
use crate::consul_server::ConsulServer;
use crate::etcd_server::EtcdServer;
use crate::postgres_server::{PostgresServer, skip};
use crate::rig::{PROGRAM, Ran, Room};
use leaseproof_store::{StoreUrl, open_administrator};
use std::io::{Read, Write};
use std::process::Command;
use std::time::Duration;

/// A hundred thousand keys below `shards/`; a thousand of them are watched.
const MANY: usize = 100_000;

/// Watches them with no more memory than this (in KiB, threads' stacks and arenas included).
fn watches_many(room: &Room, url: &str) {
    room.write(
        "leaseproof.toml",
        "[[watch.lease]]\nprefix = \"shards/\"\nmax = 1000\n[watch]\nlisten = \"127.0.0.1:0\"\n",
    );
    let command = format!("ulimit -v 1500000; exec timeout 60 {PROGRAM} watch --store '{url}' --for 3s");
    let output = Command::new("sh")
        .args(["-c", &command])
        .current_dir(room.path())
        .output()
        .expect("it runs");
    let ran = Ran::from(output);
    ran.no_panic();
    assert!(matches!(ran.code, Some(0 | 3)), "{ran:#?}");
    assert!(ran.stdout.contains("watching 1000 leases"), "{ran:#?}");
}

#[test]
fn a_hundred_thousand_keys_postgres_ok() {
    let room = Room::new();
    let server = match PostgresServer::start() {
        Ok(server) => server,
        Err(why) => return skip("a_hundred_thousand_keys_postgres_ok", &why),
    };
    let url: StoreUrl = server.url().parse().expect("a URL");
    let mut store = open_administrator(&url, Duration::from_secs(10)).expect("the store");
    store.prepare().expect("ready");
    server.psql(&format!(
        "INSERT INTO leaseproof_lease (key, token) SELECT 'shards/' || n, n FROM generate_series(1, {MANY}) AS n"
    ));
    watches_many(&room, &server.url());
    inspect(&room, &server.url(), "shards/77").cannot_tell(&["table public.leaseproof_lease: 100000 rows"]);
}

#[test]
fn a_hundred_thousand_keys_consul_ok() {
    let room = Room::new();
    let server = match ConsulServer::start() {
        Ok(server) => server,
        Err(why) => return skip("a_hundred_thousand_keys_consul_ok", &why),
    };
    let all: Vec<usize> = (0..MANY).collect();
    for part in all.chunks(64) {
        let set = |n: &usize| format!(r#"{{"KV":{{"Verb":"set","Key":"shards/{n}","Value":"eA=="}}}}"#);
        let body = part.iter().map(set).collect::<Vec<_>>().join(",");
        let answer = server.http("PUT", "/v1/txn", &format!("[{body}]"));
        assert!(answer.contains("\"Errors\": null"), "{answer}");
    }
    watches_many(&room, &server.url());
}

#[test]
fn a_hundred_thousand_keys_etcd_ok() {
    let room = Room::new();
    let server = match EtcdServer::start() {
        Ok(server) => server,
        Err(why) => return skip("a_hundred_thousand_keys_etcd_ok", &why),
    };
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", server.port())).expect("it listens");
    let all: Vec<usize> = (0..MANY).collect();
    for part in all.chunks(100) {
        let put = |n: &usize| {
            let key = base64_of(format!("shards/ab{n:06}").as_bytes());
            format!(r#"{{"request_put":{{"key":"{key}","value":"eA=="}}}}"#)
        };
        let body = part.iter().map(put).collect::<Vec<_>>().join(",");
        let body = format!(r#"{{"success":[{body}]}}"#);
        write!(
            stream,
            "POST /v3/kv/txn HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("it is sent");
        let mut answer = Vec::new();
        while !answer.ends_with(b"}]}") && !answer.ends_with(b"0\r\n\r\n") {
            let mut bytes = [0; 16 * 1024];
            let count = stream.read(&mut bytes).expect("an answer");
            assert!(count > 0, "{}", String::from_utf8_lossy(&answer));
            answer.extend_from_slice(&bytes[..count]);
        }
        assert!(
            answer.starts_with(b"HTTP/1.1 200"),
            "{}",
            String::from_utf8_lossy(&answer)
        );
    }
    watches_many(&room, &server.url());
}

/// Base64 of whole groups of three bytes.
fn base64_of(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let groups = bytes
        .chunks_exact(3)
        .map(|it| u32::from_be_bytes([0, it[0], it[1], it[2]]));
    groups
        .flat_map(|bits| [18, 12, 6, 0].map(|shift| char::from(SIGNS[(bits >> shift & 63) as usize])))
        .collect()
}
