//! A gate of its own process, and a client.

use super::resource::LONG;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A running gate; killed when dropped, and with this process.
pub struct Gate {
    child: Child,
    pub address: SocketAddr,
}

impl Gate {
    /// Starts one, without a wait for what was under way before.
    pub fn start(program: &Path, upstream: SocketAddr, marks: &Path) -> Result<Self, String> {
        let mut child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--"])
            .arg(program)
            .args(["gate", "http", "--settle", "1ms"])
            .args(["--upstream", &format!("http://{upstream}"), "--marks"])
            .arg(marks)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("setpriv can't be started: {error}"))?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            let mut out = BufReader::new(out);
            out.read_line(&mut line).map_err(|error| error.to_string())?;
            // The rest of its output must not end it.
            std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
        }
        let address = line.trim().strip_prefix("listening on http://");
        match address.and_then(|it| it.parse().ok()) {
            Some(address) => Ok(Self { child, address }),
            None => Err(format!("the gate does not listen: {line}")),
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
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
