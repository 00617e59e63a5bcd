//! Bytes that a client, or an upstream, should not send: through the process, and never to the resource.

use crate::resource::{Manner, Resource};
use crate::rig::{GateProcess, raw};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;

/// The lines of a write after its first, the status that it gets, and a word of the answer.
const REFUSED: &[(&str, &[&str], u16, &str)] = &[
    ("no token", &[], 428, "token-missing"),
    ("an empty one", &["fencing-token: "], 428, "token-missing"),
    ("negative", &["fencing-token: -1"], 400, "negative"),
    ("no number", &["fencing-token: abc"], 400, "not a number"),
    ("hexadecimal", &["fencing-token: 0x10"], 400, "not a number"),
    ("a fraction", &["fencing-token: 5.0"], 400, "not a number"),
    (
        "2^63",
        &["fencing-token: 9223372036854775808"],
        400,
        "9223372036854775807",
    ),
    (
        "2^64 and 5",
        &["fencing-token: 18446744073709551621"],
        400,
        "9223372036854775807",
    ),
    ("twice", &["fencing-token: 5", "fencing-token: 5"], 400, "more than one"),
    (
        "twice, in two cases",
        &["fencing-token: 5", "FENCING-TOKEN: 6"],
        400,
        "more than one",
    ),
    ("a list", &["fencing-token: 5,6"], 400, "more than one"),
    ("folded", &["fencing-token:", " 5"], 400, ""),
    ("folded before it", &["x-a: b", "\tfencing-token: 5"], 400, ""),
    ("a blank before the colon", &["fencing-token : 5"], 400, ""),
    ("a bare carriage return", &["fencing-token: 5\rx: y"], 400, ""),
    ("a NUL", &["fencing-token: 5\0"], 400, ""),
    (
        "two lengths",
        &["fencing-token: 5", "content-length: 0", "content-length: 1"],
        400,
        "",
    ),
    (
        "a negative length",
        &["fencing-token: 5", "content-length: -1"],
        400,
        "",
    ),
    (
        "a length in hexadecimal",
        &["fencing-token: 5", "content-length: 0x1"],
        400,
        "",
    ),
    (
        "a length in a list",
        &["fencing-token: 5", "content-length: 1, 2"],
        400,
        "",
    ),
    (
        "another coding",
        &["fencing-token: 5", "transfer-encoding: gzip"],
        400,
        "",
    ),
    (
        "a coding after chunked",
        &["fencing-token: 5", "transfer-encoding: chunked, gzip"],
        400,
        "",
    ),
    (
        "a coding misspelt",
        &["fencing-token: 5", "transfer-encoding: xchunked"],
        400,
        "",
    ),
];

fn gate() -> (Resource, tempfile::TempDir, GateProcess) {
    let dir = tempfile::tempdir().expect("a folder");
    let resource = Resource::start();
    let gate = GateProcess::start(&[], resource.address, &dir.path().join("marks"), &["--settle", "1ms"]);
    (resource, dir, gate)
}

#[test]
fn what_is_refused_is_never_sent_on() {
    let (resource, _dir, gate) = gate();
    for (what, lines, status, word) in REFUSED {
        let lines: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
        let request = format!("PUT /a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{lines}\r\n");
        let (got, answer) = raw(gate.address, request.as_bytes());
        assert_eq!(got, *status, "{what}: {answer}");
        assert!(answer.contains(word), "{what}: {answer}");
    }
    assert_eq!(resource.seen(), []);
    // It is well, and none of these has raised a mark.
    assert_eq!(gate.write("/a", 0), 200);
}

/// Requests that two readers could cut in two ways: one request for the resource, or none, and what hides behind
/// never with the token of the one in front.
#[test]
fn no_request_hides_in_another() {
    let hidden = "PUT /hidden HTTP/1.1\r\nhost: x\r\n\r\n";
    let head = "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: 5\r\n";
    let length = hidden.len();
    for (what, bytes) in [
        (
            "length and coding",
            format!("{head}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"),
        ),
        (
            "coding and length",
            format!("{head}transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n{hidden}"),
        ),
        (
            "coding in another case",
            format!("{head}Transfer-Encoding: Chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n{hidden}"),
        ),
        (
            "a coding with a vertical tab",
            format!("{head}transfer-encoding: \x0bchunked\r\ncontent-length: {length}\r\n\r\n{hidden}"),
        ),
        (
            "two lengths",
            format!("{head}content-length: 0\r\ncontent-length: {length}\r\n\r\n{hidden}"),
        ),
        (
            "a bad chunk",
            format!("{head}transfer-encoding: chunked\r\n\r\nxyz\r\n{hidden}"),
        ),
        (
            "a negative chunk",
            format!("{head}transfer-encoding: chunked\r\n\r\n-1\r\n{hidden}"),
        ),
        (
            "a chunk whose end is a bare line feed",
            format!("{head}transfer-encoding: chunked\r\n\r\n0\n\n{hidden}"),
        ),
        (
            "a chunk's extension with a bare line feed",
            format!("{head}transfer-encoding: chunked\r\n\r\n1;a\n{length:x}\r\nx\r\n0\r\n\r\n{hidden}"),
        ),
        (
            "a body of a refused write",
            format!("PUT /a HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n{hidden}"),
        ),
        (
            "a trailer that is a token",
            "PUT /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\nfencing-token: 5\r\n\r\n".to_string(),
        ),
        (
            "bare line feeds",
            format!("PUT /a HTTP/1.1\nhost: x\nfencing-token: 5\ncontent-length: {length}\n\n{hidden}"),
        ),
    ] {
        let (resource, _dir, gate) = gate();
        let last = "GET /last HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        let (_, answers) = raw(gate.address, format!("{bytes}{last}").as_bytes());
        let seen = resource.seen();
        for request in &seen {
            // Without a token of its own a write goes nowhere, wherever it was hidden.
            assert_ne!(request.path, "/hidden", "{what}: {answers}");
            let framed = ["content-length", "transfer-encoding"];
            let framed = framed.iter().filter(|it| request.headers.contains_key(**it));
            assert!(framed.count() <= 1, "{what}: {request:?}");
            let token = request.headers.get("fencing-token").map(String::as_str);
            assert!(request.method != "PUT" || token == Some("5"), "{what}: {request:?}");
        }
        assert_eq!(gate.write("/b", 1), 200, "{what}: it is well");
    }
}

/// A client that ends, or stalls, in the middle leaves nothing half at the resource and blocks nobody.
#[test]
fn a_client_that_ends_in_the_middle() {
    let (resource, _dir, gate) = gate();
    for cut in [
        "PUT /a HT",
        "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-tok",
        "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: 5\r\ncontent-length: 10\r\n\r\nnew",
        "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: 5\r\ntransfer-encoding: chunked\r\n\r\n3\r\nnew\r\n",
    ] {
        let mut stream = std::net::TcpStream::connect(gate.address).expect("it listens");
        stream.write_all(cut.as_bytes()).expect("sends");
        stream.shutdown(std::net::Shutdown::Write).expect("it is there");
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        assert!(!answer.starts_with("HTTP/1.1 200"), "{cut}: {answer}");
    }
    assert_eq!(gate.write("/a", 6), 200);
    assert!(
        resource.seen().iter().all(|it| !it.whole || it.token() == 6),
        "{:?}",
        resource.seen()
    );
}

#[test]
fn an_upstream_that_dies() {
    let dir = tempfile::tempdir().expect("a folder");
    let marks = dir.path().join("marks");
    let resource = Resource::start();
    resource.treat("5", Manner::HangUp);
    let gate = GateProcess::start(&[], resource.address, &marks, &["--settle", "1ms"]);
    let (status, answer) = raw(gate.address, &put(5));
    assert_eq!(status, 502, "{answer}");
    assert!(
        answer.contains("upstream-gone") && answer.contains("may have been applied"),
        "{answer}"
    );
    resource.release("5");
    assert_eq!(gate.write("/a", 4), 409, "its token counts all the same");
    assert_eq!(gate.write("/a", 6), 200);
    drop(gate);
    // Nobody listens there any more.
    let gone = TcpListener::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("bound");
    let gate = GateProcess::start(&[], gone, &marks, &["--settle", "1ms"]);
    let (status, answer) = raw(gate.address, &put(7));
    assert_eq!(status, 502, "{answer}");
    assert!(
        answer.contains("upstream-unreachable") && answer.contains("was not sent"),
        "{answer}"
    );
    assert_eq!(gate.write("/a", 6), 409, "nothing was forgotten");
}

/// Answers that are none: the client hears that nobody knows, and never a piece of them.
#[test]
fn an_upstream_that_speaks_no_http() {
    for answer in [
        "hello\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        "HTTP/1.1 999999 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nx: y\r\n z\r\ncontent-length",
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut some = [0; 4096];
                let _ = stream.read(&mut some);
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        let dir = tempfile::tempdir().expect("a folder");
        let gate = GateProcess::start(&[], address, &dir.path().join("marks"), &["--settle", "1ms"]);
        let (status, got) = raw(gate.address, &put(5));
        assert_eq!(status, 502, "{answer:?}: {got}");
        assert!(got.contains("upstream-gone"), "{answer:?}: {got}");
    }
}

fn put(token: u64) -> Vec<u8> {
    format!("PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: {token}\r\ncontent-length: 3\r\nconnection: close\r\n\r\nnew")
        .into_bytes()
}
