//! A witness, and clients that speak HTTP to it byte by byte.

#![allow(dead_code, reason = "each test file uses a part of this fixture")]

use leaseproof_model::event::{Fill, What, Write as Written};
use leaseproof_model::name::OwnerName;
use leaseproof_model::scenario::WitnessMode;
use leaseproof_witness::{Place, Seen, Setup, Witness, WitnessFlaw};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub struct Rig {
    pub witness: Witness,
    pub seen: Arc<Mutex<Vec<Seen>>>,
    _dir: tempfile::TempDir,
}

pub fn rig(mode: WitnessMode, flaw: Option<WitnessFlaw>, place: Place) -> Rig {
    let dir = tempfile::tempdir().expect("a folder");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&seen);
    let setup = Setup {
        dir: dir.path().to_owned(),
        mode,
        flaw,
        place,
    };
    let sink = Arc::new(move |it| into.lock().expect("no panic before").push(it));
    Rig {
        witness: Witness::start(setup, sink).expect("starts"),
        seen,
        _dir: dir,
    }
}

pub fn process() -> Place {
    Place::Process {
        program: env!("CARGO_BIN_EXE_leaseproof-witness").into(),
    }
}

impl Rig {
    pub fn connect(&self, owner: &str) -> Client {
        let url = self.witness.url_for(&OwnerName::from(owner)).expect("a URL");
        let rest = url.strip_prefix("http://").expect("http");
        let (host, path) = rest.split_once('/').expect("a path");
        let socket = TcpStream::connect(host).expect("connects");
        socket
            .set_read_timeout(Some(Duration::from_secs(10)))
            .expect("takes a timeout");
        Client {
            socket,
            path: format!("/{path}/write"),
        }
    }

    pub fn writes(&self) -> Vec<(Seen, Written)> {
        self.witness.settle().expect("settles");
        let seen = self.seen.lock().expect("no panic before");
        seen.iter()
            .filter_map(|it| match &it.what {
                What::Write(write) => Some((it.clone(), write.clone())),
                _ => None,
            })
            .collect()
    }

    pub fn fills(&self) -> Vec<Fill> {
        self.witness.settle().expect("settles");
        let seen = self.seen.lock().expect("no panic before");
        seen.iter()
            .filter_map(|it| match &it.what {
                What::Fill(fill) => Some(fill.clone()),
                _ => None,
            })
            .collect()
    }
}

pub struct Client {
    pub socket: TcpStream,
    pub path: String,
}

impl Client {
    pub fn send(&mut self, headers: &str) {
        let request = format!(
            "POST {} HTTP/1.1\r\nhost: x\r\n{headers}content-length: 2\r\n\r\nhi",
            self.path
        );
        self.socket.write_all(request.as_bytes()).expect("sends");
    }

    pub fn status(&mut self) -> (u16, String) {
        let mut bytes = Vec::new();
        let mut byte = [0];
        while !bytes.ends_with(b"\r\n\r\n") {
            self.socket.read_exact(&mut byte).expect("a head comes");
            bytes.push(byte[0]);
        }
        let head = String::from_utf8(bytes).expect("text").to_ascii_lowercase();
        let length = head
            .split("content-length: ")
            .nth(1)
            .and_then(|rest| rest.split("\r\n").next())
            .and_then(|text| text.parse().ok())
            .expect("a length");
        let mut body = vec![0; length];
        self.socket.read_exact(&mut body).expect("a body comes");
        let status = head[9..12].parse().expect("a status");
        (status, String::from_utf8(body).expect("text"))
    }

    /// A request without a body at another door of the same owner.
    pub fn ask(&mut self, method: &str, door: &str, headers: &str) {
        let path = self.path.replace("write", door);
        let request = format!("{method} {path} HTTP/1.1\r\nhost: x\r\n{headers}content-length: 0\r\n\r\n");
        self.socket.write_all(request.as_bytes()).expect("sends");
    }

    pub fn read(&mut self) -> String {
        self.ask("GET", "value", "");
        self.status().1
    }

    pub fn fill(&mut self, value: &str, headers: &str) -> u16 {
        self.ask("PUT", &format!("cache?value={value}"), headers);
        self.status().0
    }

    pub fn write(&mut self, token: u64) -> u16 {
        self.send(&format!("fencing-token: {token}\r\n"));
        self.status().0
    }
}
