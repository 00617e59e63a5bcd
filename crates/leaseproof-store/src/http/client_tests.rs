//! What a server may do to a request, each against a real socket.

use super::*;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle as Thread;

const PATIENT: Duration = Duration::from_secs(20);
const BRIEF: Duration = Duration::from_millis(100);

/// What the server does with one connection after the other: it reads a request's head and body,
/// writes these texts one a request, closes, and says so.
fn server(connections: &'static [&'static [&'static str]]) -> (u16, Thread<Vec<String>>, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (closed, is_closed) = channel();
    let thread = std::thread::spawn(move || {
        let mut requests = Vec::new();
        for answers in connections {
            let (mut stream, _) = listener.accept().expect("a client");
            for answer in *answers {
                let mut request = String::new();
                while !request.contains("\r\n\r\n") || (request.starts_with("POST") && !request.ends_with('}')) {
                    let mut bytes = [0; 512];
                    let count = stream.read(&mut bytes).expect("a request");
                    assert!(count > 0, "the client closed in its request: {request}");
                    request += std::str::from_utf8(&bytes[..count]).expect("text");
                }
                requests.push(request);
                // The client may be gone by now.
                let _ = stream.write_all(answer.as_bytes());
            }
            drop(stream);
            let _ = closed.send(());
        }
        requests
    });
    (port, thread, is_closed)
}

fn client(port: u16) -> Client {
    let place = Place {
        shown: format!("etcd://127.0.0.1:{port}"),
        what: "an etcd server",
        host: "127.0.0.1".to_owned(),
        port,
        tls: None,
    };
    Client::new(vec![place], PATIENT).expect("a client")
}

fn ask(client: &mut Client, timeout: Duration) -> Result<Answer, Failed> {
    let request = Request::post_json("/v3/kv/range", "{}".to_owned()).header("authorization", "secret");
    client.ask(&request, &mut Patience::new(timeout))
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Index: 7\r\n\r\n{}";
const CHUNKED: &str = "HTTP/1.1 500 Oh\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab\n\r\n1\r\nc\r\n0\r\n\r\n";

#[test]
fn a_connection_is_used_again() {
    let (port, server, _) = server(&[&[OK, CHUNKED, OK]]);
    let mut client = client(port);
    let answer = ask(&mut client, PATIENT).expect("an answer");
    assert_eq!(
        (answer.status, answer.is_ok(), &answer.body[..]),
        (200, true, &b"{}"[..])
    );
    assert_eq!(answer.header("x-index"), Some("7"));
    let answer = ask(&mut client, PATIENT).expect("an answer");
    assert_eq!((answer.status, &answer.body[..]), (500, &b"ab\nc"[..]));
    assert_eq!(answer.quoted(), "HTTP status 500 ab c");
    let get = Request::new("GET", "/v1/kv/a%20b?index=1");
    client.ask(&get, &mut Patience::new(PATIENT)).expect("an answer");
    let requests = server.join().expect("the server ends");
    assert!(
        requests[0].starts_with("POST /v3/kv/range HTTP/1.1\r\n"),
        "{}",
        requests[0]
    );
    assert!(requests[0].contains("authorization: secret"), "{}", requests[0]);
    assert!(
        requests[0].contains(&format!("host: 127.0.0.1:{port}\r\n")),
        "{}",
        requests[0]
    );
    assert!(requests[0].ends_with("content-length: 2\r\n\r\n{}"), "{}", requests[0]);
    assert!(
        requests[2].starts_with("GET /v1/kv/a%20b?index=1 HTTP/1.1\r\n"),
        "{}",
        requests[2]
    );
}

#[test]
fn a_closed_connection_is_replaced_before_a_request_is_lost_in_it() {
    let (port, server, closed) = server(&[&[OK], &["HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall"], &[OK]]);
    let mut client = client(port);
    for body in ["{}", "all", "{}"] {
        let answer = ask(&mut client, PATIENT).expect("an answer");
        assert_eq!(answer.body, body.as_bytes());
        // The end that the server sent lies in the socket, as it does between two heartbeats.
        closed.recv_timeout(PATIENT).expect("the server closes");
    }
    assert_eq!(server.join().expect("the server ends").len(), 3);
}

#[test]
fn what_was_sent_and_not_answered_is_unknown() {
    for (answer, part) in [
        ("", "it closed without an answer"),
        ("HTTP/1.1 200 OK\r\nContent-Le", "it closed without an answer"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{\"cut\":",
            "the answer broke off",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"c",
            "the answer broke off",
        ),
        (
            "-ERR unknown command 'POST'\r\n",
            "it answers as Redis does: is it an etcd server?",
        ),
        ("\u{15}\u{3}\u{1}\0\u{2}\u{2}\u{16}", "it answers in TLS"),
        ("SSH-2.0-OpenSSH_9.2p1\r\n", "what came is no HTTP"),
    ] {
        let one: &'static [&'static str] = Box::leak(Box::new([answer]));
        let (port, server, _) = server(Box::leak(Box::new([one])));
        match ask(&mut client(port), PATIENT) {
            Err(Failed::Unknown(error)) => {
                let words = error.to_string();
                assert!(words.contains(part), "{answer}: {words}");
                assert!(!words.contains("secret"), "{words}");
            }
            other => panic!("{answer}: {other:?}"),
        }
        server.join().expect("the server ends");
    }
}

#[test]
fn an_answer_is_bounded() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let _ = stream.read(&mut [0; 512]);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2000000000\r\n\r\n");
        // Until the client has had enough.
        while stream.write_all(&[b' '; 65536]).is_ok() {}
    });
    match ask(&mut client(port), PATIENT) {
        Err(Failed::Unknown(error)) => assert!(error.to_string().contains("more than 1 MiB"), "{error}"),
        other => panic!("{other:?}"),
    }
    server.join().expect("the server ends");
}

#[test]
fn a_silent_server_is_a_time_out_and_an_absent_one_got_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let mut client = client(port);
    match ask(&mut client, BRIEF) {
        Err(Failed::Unknown(StoreError::TimedOut(after))) => assert!(after <= BRIEF),
        other => panic!("{other:?}"),
    }
    assert!(client.link.is_none(), "its late answer must not be taken for another's");
    drop(listener);
    match ask(&mut client, PATIENT) {
        Err(Failed::NotSent(StoreError::Unreachable { why, .. })) => assert!(why.contains("refused"), "{why}"),
        other => panic!("{other:?}"),
    }
}
