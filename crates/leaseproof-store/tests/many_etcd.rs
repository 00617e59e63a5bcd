//! TTLs of many leases of etcd: by gRPC, and by the JSON gateway where no gRPC passes.

#![cfg(feature = "etcd")]

#[path = "etcd_server/mod.rs"]
mod etcd_server;
#[path = "redis_server/mod.rs"]
mod redis_server;

use etcd_server::{EtcdServer, Version};
use leaseproof_store::{Lease, Observe, StoreUrl, open_lease, open_observer};
use redis_server::skip;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(20);
const TTL: Duration = Duration::from_secs(60);

/// How each connection begins that speaks HTTP/2.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n";

/// What a relay does with a connection that speaks HTTP/2.
#[derive(Clone, Copy, Debug)]
enum Http2 {
    Passes,
    /// The first bytes of the server are this, and it closes.
    Answers(&'static [u8]),
    /// It goes to the server at this port.
    GoesTo(u16),
}

/// A relay that notes which paths are asked for by HTTP/1, and how many connections speak HTTP/2.
struct Relay {
    port: u16,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default, Clone)]
struct Seen {
    gateway_ttls: usize,
    http2: usize,
}

impl Relay {
    fn to(server: u16, http2: Http2) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let kept = Arc::clone(&seen);
        // Ends with the test's process.
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || pass(client, server, http2, &kept));
            }
        });
        Self { port, seen }
    }

    fn url(&self) -> StoreUrl {
        url(&format!("etcd://127.0.0.1:{}", self.port))
    }

    fn seen(&self) -> Seen {
        self.seen.lock().expect("no panic").clone()
    }
}

fn pass(mut client: TcpStream, mut server: u16, http2: Http2, seen: &Mutex<Seen>) {
    let mut begin = vec![0; PREFACE.len()];
    if client.read_exact(&mut begin).is_err() {
        return;
    }
    if begin == PREFACE {
        seen.lock().expect("no panic").http2 += 1;
        if let Http2::Answers(bytes) = http2 {
            let _ = client.write_all(bytes);
            let _ = client.shutdown(Shutdown::Write);
            // Read on to the client's end: closing on unread bytes would reset, and the answer with it.
            let _ = client.read_to_end(&mut Vec::new());
            return;
        }
        if let Http2::GoesTo(other) = http2 {
            server = other;
        }
    }
    let mut server = TcpStream::connect(("127.0.0.1", server)).expect("the server is there");
    let (mut back, mut to_client) = (server.try_clone().expect("a copy"), client.try_clone().expect("a copy"));
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut back, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Both);
    });
    let mut bytes = [0; 64 * 1024];
    let mut part = begin;
    loop {
        let text = String::from_utf8_lossy(&part);
        // One that is cut by two reads is not counted: none counts, or many.
        seen.lock().expect("no panic").gateway_ttls += text.matches("/v3/lease/timetolive").count();
        if server.write_all(&part).is_err() {
            break;
        }
        match client.read(&mut bytes) {
            Ok(count @ 1..) => part = bytes[..count].to_vec(),
            _ => break,
        }
    }
    let _ = server.shutdown(Shutdown::Both);
}

fn url(text: &str) -> StoreUrl {
    text.parse().expect("a URL")
}

/// Debian's, and a current one.
fn servers(test: &str, settings: &[&str]) -> Vec<EtcdServer> {
    let started = [
        EtcdServer::start_with(settings),
        EtcdServer::start_version(Version::Current, &[]),
    ];
    let mut servers = Vec::new();
    for server in started {
        match server {
            Ok(server) => servers.push(server),
            Err(why) => skip(test, &why),
        }
    }
    servers
}

/// The leases last for as long as what this gives.
fn acquire(server: &EtcdServer, keys: &[String]) -> Box<dyn Lease> {
    let mut owner = open_lease(&url(&server.url()), TIMEOUT).expect("lazy");
    for key in keys {
        owner.acquire(key, "me", TTL, TIMEOUT).value.expect("it is free");
    }
    owner
}

fn keys() -> Vec<String> {
    (0..20).map(|n| format!("many/{n}")).collect()
}

/// All are read, and each shows its own expiry.
fn read_all(observer: &mut dyn Observe, keys: &[String]) {
    let names: Vec<&str> = keys.iter().map(String::as_str).collect();
    for (key, answer) in keys.iter().zip(observer.read_many(&names).expect("it answers")) {
        let (at, reading) = answer.expect("a reading");
        let held = reading.held.expect("it is held");
        let expires = held.expires.expect("it has a TTL");
        assert!(
            expires.latest > at.earliest && expires.earliest < at.latest.plus(TTL),
            "{key}"
        );
        let looked = observer.expiry_seen(key.as_bytes()).expect("it was looked at");
        assert!(looked.earliest <= looked.latest, "{key}");
    }
}

#[test]
fn each_ttl_is_asked_for_each_time_by_grpc() {
    let test = "each_ttl_is_asked_for_each_time_by_grpc";
    for server in servers(test, &[]) {
        let keys = keys();
        let _owner = acquire(&server, &keys);
        let relay = Relay::to(server.port(), Http2::Passes);
        let mut observer = open_observer(&relay.url(), TIMEOUT).expect("it opens");
        let mut before = Vec::new();
        for round in 0..3 {
            read_all(observer.as_mut(), &keys);
            let looked: Vec<_> = keys.iter().map(|key| observer.expiry_seen(key.as_bytes())).collect();
            if round > 0 {
                for (before, now) in std::mem::replace(&mut before, looked.clone()).iter().zip(&looked) {
                    assert!(now.map(|it| it.earliest) > before.map(|it: leaseproof_model::moment::Moment| it.earliest));
                }
            }
            before = looked;
        }
        let seen = relay.seen();
        assert_eq!((seen.gateway_ttls, seen.http2), (0, 1));
        assert_eq!(observer.note(), None);
    }
}

/// A frame of settings, and headers of stream 1 that say 404 and no more.
const NOT_FOUND: &[u8] = b"\0\0\0\x04\0\0\0\0\0\0\0\x01\x01\x05\0\0\0\x01\x8d";

#[test]
fn where_no_grpc_passes_the_gateway_is_asked_and_that_is_told_once() {
    let test = "where_no_grpc_passes_the_gateway_is_asked_and_that_is_told_once";
    for server in servers(test, &[]) {
        let keys = keys();
        let _owner = acquire(&server, &keys);
        for (answer, why, tried) in [
            (
                &b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"[..],
                "no HTTP/2",
                1,
            ),
            (b"", "closes such a connection", 2),
            (NOT_FOUND, "HTTP status 404", 1),
        ] {
            let relay = Relay::to(server.port(), Http2::Answers(answer));
            let mut observer = open_observer(&relay.url(), TIMEOUT).expect("it opens");
            for round in 0..3 {
                read_all(observer.as_mut(), &keys);
                let note = observer.note();
                assert_eq!(note.is_some(), round == 0, "{note:?}");
                assert!(note.is_none_or(|note| note.contains(why)), "{why}");
            }
            let seen = relay.seen();
            assert!(seen.gateway_ttls >= 1, "{why}");
            // Not tried again at once.
            assert_eq!(seen.http2, tried, "{why}");
        }
    }
}

/// A server that allows fewer calls at a time than there are leases.
#[test]
fn few_streams_at_a_time_are_enough() {
    let test = "few_streams_at_a_time_are_enough";
    // etcd 3.4 can't be told.
    let server = match EtcdServer::start_version(Version::Current, &["--max-concurrent-streams", "3"]) {
        Ok(server) => server,
        Err(why) => return skip(test, &why),
    };
    let keys = keys();
    let _owner = acquire(&server, &keys);
    let mut observer = open_observer(&url(&server.url()), TIMEOUT).expect("it opens");
    for _ in 0..3 {
        read_all(observer.as_mut(), &keys);
    }
    assert_eq!(observer.note(), None);
}

#[test]
fn of_several_members_one_is_asked_and_then_the_next() {
    let mut members = match EtcdServer::start_cluster() {
        Ok(members) => members,
        Err(why) => return skip("of_several_members_one_is_asked_and_then_the_next", &why),
    };
    let keys = keys();
    // A follower: the others need no election.
    let first = members.iter().position(|it| !it.leads()).expect("one follows");
    let _owner = acquire(&members[first], &keys);
    let places: Vec<String> = (0..3)
        .map(|n| format!("127.0.0.1:{}", members[(first + n) % 3].port()))
        .collect();
    let all = url(&format!("etcd://{}", places.join(",")));
    let mut observer = open_observer(&all, TIMEOUT).expect("it opens");
    read_all(observer.as_mut(), &keys);
    read_all(observer.as_mut(), &keys);
    // Behind a balancer the gateway may be another member's: a reading is from one of them.
    let balancer = Relay::to(members[first].port(), Http2::GoesTo(members[(first + 1) % 3].port()));
    let mut balanced = open_observer(&balancer.url(), TIMEOUT).expect("it opens");
    let mut notes = Vec::new();
    for _ in 0..3 {
        read_all(balanced.as_mut(), &keys);
        notes.extend(balanced.note());
    }
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!((balancer.seen().gateway_ttls, balancer.seen().http2), (0, 1));
    members[first].kill();
    let names: Vec<&str> = keys.iter().map(String::as_str).collect();
    assert!(observer.read_many(&names).is_err());
    read_all(observer.as_mut(), &keys);
    assert_eq!(observer.note(), None);
}
