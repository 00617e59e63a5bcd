//! A gate of its own process, and a client.

use crate::resource::LONG;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub const BIN: &str = env!("CARGO_BIN_EXE_leaseproof");

/// A running gate; killed when dropped, and with the test's thread.
pub struct GateProcess {
    pub child: Child,
    pub address: SocketAddr,
}

impl GateProcess {
    /// Starts `PREFIX… leaseproof gate http …`.
    pub fn start(prefix: &[&str], upstream: SocketAddr, marks: &Path, more: &[&str]) -> Self {
        Self::before(prefix, &format!("http://{upstream}"), marks, more)
    }

    /// The same, in front of this URL.
    pub fn before(prefix: &[&str], upstream: &str, marks: &Path, more: &[&str]) -> Self {
        let words: Vec<&str> = ["setpriv", "--pdeathsig", "KILL", "--"]
            .iter()
            .chain(prefix)
            .copied()
            .collect();
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .args([BIN, "gate", "http", "--upstream", upstream, "--marks"])
            .arg(marks)
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("setpriv is there");
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("its output"));
        out.read_line(&mut line).expect("it speaks");
        let address = line
            .trim()
            .strip_prefix("listening on http")
            .and_then(|it| it.trim_start_matches('s').strip_prefix("://"))
            .map(|it| it.parse().expect("an address"));
        let Some(address) = address else {
            let mut why = String::new();
            let _ = child.stderr.take().expect("its errors").read_to_string(&mut why);
            panic!("no gate: {line}{why}");
        };
        // The rest of its output must not end it.
        std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
        Self { child, address }
    }

    pub fn write(&self, path: &str, token: u64) -> u16 {
        write(self.address, path, token).expect("it answers")
    }
}

impl Drop for GateProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends these bytes, and reads until the other side ends: the status of the first answer (0: none), and all of it.
pub fn raw(address: SocketAddr, bytes: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(LONG * 2)).expect("a timeout");
    // A request that is refused early may be cut while it is sent, and its answer end in a reset.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer).into_owned();
    let status = text.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
    (status, text)
}

/// The status that a write gets; none where the gate is gone.
pub fn write(address: SocketAddr, path: &str, token: u64) -> Option<u16> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(LONG * 2)).ok()?;
    let request = format!(
        "PUT {path} HTTP/1.1\r\nhost: x\r\nfencing-token: {token}\r\ncontent-length: 3\r\nconnection: close\r\n\r\nnew"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.split(' ').nth(1)?.parse().ok()
}

/// Ends a test that can't run here, so that nobody overlooks it.
pub fn skip(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {why}");
}
