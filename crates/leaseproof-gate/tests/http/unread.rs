//! A resource that leaves bodies unread, as many do where a method has no use for one: Python's `http.server`.

use crate::rig::{Rig, ask};
use leaseproof_gate::http::Settings;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

const SERVER: &str = r"
import http.server, sys
values = {}
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *args): pass
    def answer(self, body):
        self.send_response(200)
        self.send_header('content-length', str(len(body)))
        self.end_headers()
        if self.command != 'HEAD': self.wfile.write(body)
    def do_PUT(self):
        values[self.path] = self.rfile.read(int(self.headers['content-length']))
        self.answer(b'ok')
    def do_GET(self): self.answer(values.get(self.path, b'none'))
    def do_DELETE(self): self.answer(b'gone')
    do_HEAD = do_OPTIONS = do_GET
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
";

struct Python(Child);

impl Python {
    /// It, and where it listens; none where there is no Python.
    fn start() -> Option<(Self, SocketAddr)> {
        let mut child = Command::new("python3")
            .args(["-c", SERVER])
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let mut line = String::new();
        let said = child.stdout.take().expect("piped");
        BufReader::new(said).read_line(&mut line).expect("it speaks");
        let port: u16 = line.trim().parse().expect("a port");
        Some((Self(child), ([127, 0, 0, 1], port).into()))
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What is at `/a` after a stale write to it came as the body of a request with this method.
fn after_a_body(method: &str, framed: bool, change: impl FnOnce(&mut Settings)) -> Option<String> {
    let (_python, place) = Python::start()?;
    let rig = Rig::with(|settings| {
        settings.upstream.place = place.to_string();
        change(settings);
    });
    assert_eq!(rig.write("/a", "9").status, 200);
    let inner = "PUT /a HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nSTALE";
    let outer = if framed {
        // The size of the chunk is an old-style request without a meaning; what follows it is one with one.
        format!(
            "transfer-encoding: chunked\r\n\r\n{:x}\r\n{inner}\r\n0\r\n\r\n",
            inner.len()
        )
    } else {
        format!("content-length: {}\r\n\r\n{inner}", inner.len())
    };
    let request = format!("{method} /mine HTTP/1.1\r\nhost: x\r\nfencing-token: 1\r\nconnection: close\r\n{outer}");
    let got = ask(rig.address, request.as_bytes());
    assert_eq!(got.status, 200, "{method}: {got:?}");
    // What was left unread is read at the latest before this is answered, if it is on one connection with it.
    let get = b"GET /a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    for _ in 0..20 {
        ask(rig.address, get);
    }
    Some(ask(rig.address, get).body)
}

#[test]
fn an_unread_body_is_no_request_ok() {
    for method in ["GET", "HEAD", "OPTIONS", "DELETE"] {
        for framed in [false, true] {
            let Some(left) = after_a_body(method, framed, |_| {}) else {
                eprintln!("skipped: there is no python3");
                return;
            };
            assert_eq!(left, "new", "{method}, chunked {framed}");
        }
    }
}

/// Who says that the resource reads all bodies takes that on trust.
#[test]
fn an_unread_body_is_a_request_bad() {
    let Some(left) = after_a_body("DELETE", false, |settings| settings.reads_bodies = true) else {
        eprintln!("skipped: there is no python3");
        return;
    };
    assert_ne!(left, "new");
}

/// Connections are used again where nothing can be left on them, or where it was said that nothing is.
#[test]
fn connections_that_are_kept() {
    for (reads, body, close) in [(false, "", None), (false, "new", Some("close")), (true, "new", None)] {
        let rig = Rig::with(|settings| settings.reads_bodies = reads);
        let request = format!(
            "PUT /a HTTP/1.1\r\nhost: x\r\nfencing-token: 1\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        assert_eq!(ask(rig.address, request.as_bytes()).status, 200);
        let seen = &rig.resource.seen()[0];
        assert_eq!(
            seen.headers.get("connection").map(String::as_str),
            close,
            "{reads} {body}"
        );
        if close.is_some() {
            // The gate ends it, though the resource says that it keeps it.
            rig.resource.wait_for_the_last();
        }
    }
}
