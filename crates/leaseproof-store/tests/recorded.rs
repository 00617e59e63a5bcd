//! What no server of ours can be made to do: answers that were recorded elsewhere, by a server that only repeats them.

#![cfg(feature = "etcd")]

use leaseproof_model::name::Token;
use leaseproof_store::open_observer;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// A header of etcd 3.4.23's.
const HEADER: &str = r#""header":{"cluster_id":"16669793395648480238","member_id":"1767428333833140196","revision":"2","raft_term":"2"}"#;

/// `canary/x`, held under the lease 77.
const HELD: &str = r#""kvs":[{"key":"Y2FuYXJ5L3g=","create_revision":"2","mod_revision":"2","version":"1","value":"YSM1ZiMzMDAw","lease":"77"}],"count":"1""#;

/// Answers each request by its path, with the remaining TTLs in turn, the last for ever; a port.
fn repeats(ttls: &'static [i64]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer(stream, ttls);
        }
    });
    port
}

fn answer(stream: TcpStream, ttls: &[i64]) {
    let mut asked = 0;
    let mut reader = BufReader::new(stream);
    loop {
        let (mut path, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
            if line.is_empty() {
                break;
            }
            if path.is_empty() {
                path = line.split(' ').nth(1).unwrap_or_default().to_owned();
            }
        }
        reader.read_exact(&mut vec![0; length]).expect("a body");
        let body = match path.as_str() {
            "/v3/maintenance/status" => format!(r#"{{{HEADER},"version":"3.4.23","leader":"1767428333833140196"}}"#),
            "/v3/kv/range" => format!("{{{HEADER},{HELD}}}"),
            "/v3/lease/timetolive" => {
                let ttl = ttls[asked.min(ttls.len() - 1)];
                asked += 1;
                format!(r#"{{{HEADER},"ID":"77","TTL":"{ttl}","grantedTTL":"3"}}"#)
            }
            other => panic!("nobody asks for {other}"),
        };
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        reader.get_mut().write_all(answer.as_bytes()).expect("it listens");
    }
}

/// The clock of an etcd 3.4 was stepped back by an hour after the grant: what is left reads far below zero, and the
/// key and its lease live.
#[test]
fn a_ttl_below_zero_is_no_expiry_while_the_key_is_there() {
    let url = format!("etcd://127.0.0.1:{}", repeats(&[2, 2, -3597]));
    let mut observer = open_observer(&url.parse().expect("a URL"), Duration::from_secs(10)).expect("it answers");
    for _ in 0..4 {
        let (_, reading) = observer.read("canary/x").expect("a reading");
        let held = reading.held.expect("it is held while the key is there");
        assert!(!held.expired && !held.write_lock, "{held:?}");
        assert_eq!(held.token, Some(Token(2)));
    }
}
