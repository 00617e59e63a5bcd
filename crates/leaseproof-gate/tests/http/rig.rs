//! A gate in this process, and a client that sends exactly the bytes it is given.

use crate::resource::{LONG, Resource};
use leaseproof_gate::http::{Bound, KeyRule, Settings, Upstream, WRITING};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// A gate in front of a resource.
pub struct Rig {
    pub resource: Resource,
    pub address: SocketAddr,
    dir: tempfile::TempDir,
    gate: Option<(oneshot::Sender<()>, JoinHandle<bool>)>,
}

impl Rig {
    pub fn start() -> Self {
        Self::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let resource = Resource::start();
        let (address, gate) = gate(&dir.path().join("marks"), resource.address, change);
        Self {
            resource,
            address,
            dir,
            gate: Some(gate),
        }
    }

    /// Ends the gate in order, and starts another on the same marks; true if all had come to its end.
    pub fn restart(&mut self) -> bool {
        let in_order = self.stop();
        let (address, gate) = gate(&self.dir.path().join("marks"), self.resource.address, |_| {});
        self.address = address;
        self.gate = Some(gate);
        in_order
    }

    pub fn stop(&mut self) -> bool {
        let (stop, gate) = self.gate.take().expect("it runs");
        drop(stop);
        gate.join().expect("it does not panic")
    }

    /// A whole write and its answer.
    pub fn write(&self, path: &str, token: &str) -> Answer {
        ask(self.address, &put(path, token))
    }

    /// Sends a write from another thread.
    pub fn write_aside(&self, path: &str, token: &str) -> JoinHandle<Answer> {
        let (address, request) = (self.address, put(path, token));
        std::thread::spawn(move || ask(address, &request))
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        if let Some((stop, _)) = self.gate.take() {
            drop(stop);
        }
    }
}

fn gate(
    marks: &Path,
    resource: SocketAddr,
    change: impl FnOnce(&mut Settings),
) -> (SocketAddr, (oneshot::Sender<()>, JoinHandle<bool>)) {
    let mut settings = Settings {
        listen: ([127, 0, 0, 1], 0).into(),
        upstream: Upstream {
            place: resource.to_string(),
            prefix: String::new(),
            secure: None,
        },
        roots: None,
        identity: None,
        header: "fencing-token".parse().expect("a name"),
        key: KeyRule::Path(None),
        methods: WRITING.to_vec(),
        marks: marks.to_owned(),
        sync: true,
        patience: LONG,
        settle: Duration::from_millis(300),
        reads_bodies: false,
        most_keys: 1000,
    };
    change(&mut settings);
    let bound = Bound::new(settings).expect("it starts");
    let address = bound.address();
    let (stop, stopped) = oneshot::channel();
    let thread = std::thread::spawn(move || bound.run(stopped).expect("it ends"));
    (address, (stop, thread))
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    /// The number under this name in its JSON.
    pub fn number(&self, name: &str) -> u64 {
        let object: serde_json::Value = serde_json::from_str(&self.body).expect("JSON");
        object[name]
            .as_u64()
            .unwrap_or_else(|| panic!("{name} in {}", self.body))
    }
}

pub fn put(path: &str, token: &str) -> Vec<u8> {
    format!(
        "PUT {path} HTTP/1.1\r\nhost: x\r\nfencing-token: {token}\r\ncontent-length: 3\r\nconnection: close\r\n\r\nnew"
    )
    .into_bytes()
}

/// Sends these bytes, and reads until the other side ends.
pub fn ask(address: SocketAddr, bytes: &[u8]) -> Answer {
    let mut stream = connect(address);
    // A request that is refused early may be cut while it is sent.
    let _ = stream.write_all(bytes);
    answer(stream)
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(LONG * 2)).expect("a timeout");
    stream
}

/// Reads an answer until the other side ends.
pub fn answer(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    // A reset after the answer is an end, too.
    let _ = stream.read_to_end(&mut bytes);
    let _ = stream.shutdown(Shutdown::Both);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
    Answer {
        status,
        head: head.to_ascii_lowercase(),
        body: body.to_owned(),
    }
}
