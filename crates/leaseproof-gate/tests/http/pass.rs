//! What passes, and how.

use crate::rig::{Rig, answer, ask, connect};
use std::io::{Read as _, Write as _};

#[test]
fn reads_pass() {
    let rig = Rig::start();
    assert_eq!(rig.write("/a", "5").status, 200);
    for method in ["GET", "HEAD", "OPTIONS"] {
        let got = ask(
            rig.address,
            format!("{method} /a?x=1 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").as_bytes(),
        );
        assert_eq!(got.status, 200, "{method}: {got:?}");
        let length = if method == "HEAD" { "1234" } else { "4" };
        assert!(
            got.head.contains(&format!("content-length: {length}")),
            "{method}: {got:?}"
        );
    }
    assert_eq!(rig.resource.seen().last().expect("one").path, "/a?x=1");
}

#[test]
fn methods_that_were_not_named_read() {
    let rig = Rig::with(|settings| settings.methods = vec!["PUT".parse().expect("a method")]);
    let got = ask(
        rig.address,
        b"POST /search HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}",
    );
    assert_eq!(got.status, 200, "{got:?}");
}

#[test]
fn what_is_for_one_hop_does_not_go_on() {
    let rig = Rig::start();
    let got = ask(
        rig.address,
        b"PUT /a HTTP/1.1\r\nhost: resource.example\r\nfencing-token: 5\r\nconnection: close, x-mine\r\nx-mine: 1\r\nte: trailers\r\n\
          keep-alive: 5\r\nx-other: 2\r\ncontent-length: 3\r\n\r\nnew",
    );
    assert!(
        got.head.contains("x-kept: yes") && !got.head.contains("x-secret"),
        "{got:?}"
    );
    let seen = &rig.resource.seen()[0];
    for (name, value) in [
        ("host", Some("resource.example")),
        ("fencing-token", Some("5")),
        ("x-other", Some("2")),
        ("via", Some("1.1 leaseproof-gate")),
        ("x-mine", None),
        ("te", None),
        ("keep-alive", None),
    ] {
        assert_eq!(seen.headers.get(name).map(String::as_str), value, "{name}");
    }
    assert_eq!(seen.body, b"new");
}

#[test]
fn bodies_stream_both_ways() {
    let rig = Rig::start();
    let body = "0123456789".repeat(200_000);
    let whole = ask(rig.address, format!("PUT /echo HTTP/1.1\r\nhost: x\r\nfencing-token: 5\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len()).as_bytes());
    assert_eq!((whole.status, whole.body.len()), (200, body.len()));
    let mut chunked =
        b"PUT /echo HTTP/1.1\r\nhost: x\r\nfencing-token: 5\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
            .to_vec();
    for part in body.as_bytes().chunks(70_000) {
        chunked.extend(format!("{:x}\r\n", part.len()).as_bytes());
        chunked.extend(part);
        chunked.extend(b"\r\n");
    }
    chunked.extend(b"0\r\nx-trailer: 1\r\n\r\n");
    let got = ask(rig.address, &chunked);
    assert_eq!((got.status, got.body == body), (200, true));
}

/// A client that asks before it sends is told to go on only if its write may.
#[test]
fn expect_continue() {
    let rig = Rig::start();
    assert_eq!(rig.write("/a", "5").status, 200);
    let head = |token: u32| {
        format!(
            "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: {token}\r\nexpect: 100-continue\r\ncontent-length: 3\r\nconnection: close\r\n\r\n"
        )
    };
    assert_eq!(ask(rig.address, head(4).as_bytes()).status, 409);
    let mut stream = connect(rig.address);
    stream.write_all(head(6).as_bytes()).expect("sends");
    let mut told = [0; 25];
    stream.read_exact(&mut told).expect("it is told");
    assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"new").expect("sends");
    assert_eq!(answer(stream).status, 200);
    assert!(!rig.resource.seen().last().expect("one").headers.contains_key("expect"));
}

/// A kept connection that the upstream has closed meanwhile costs nothing: the write goes by a new one, once.
#[test]
fn many_writes_on_one_connection() {
    let rig = Rig::start();
    let mut stream = connect(rig.address);
    for token in 1..=50 {
        let last = if token == 50 { "close" } else { "keep-alive" };
        let request = format!(
            "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: {token}\r\nconnection: {last}\r\ncontent-length: 0\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("sends");
    }
    let got = answer(stream);
    assert_eq!(got.status, 200);
    assert_eq!(rig.resource.tokens(), (1..=50).collect::<Vec<_>>());
}
