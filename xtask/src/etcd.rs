//! An etcd of our own, one member on free loopback ports.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A running server; it ends when dropped.
pub struct Etcd {
    child: Child,
    port: u16,
    dir: PathBuf,
}

impl Etcd {
    /// Starts one; `None` where there is no etcd.
    pub fn start() -> Option<Self> {
        let program = std::env::var("LEASEPROOF_ETCD").unwrap_or_else(|_| "etcd".to_owned());
        // Both are bound at once, so that they differ.
        let [port, peer] = [
            TcpListener::bind("127.0.0.1:0").ok()?,
            TcpListener::bind("127.0.0.1:0").ok()?,
        ]
        .map(|listener| listener.local_addr().map(|address| address.port()));
        let (port, peer) = (port.ok()?, peer.ok()?);
        let dir = std::env::temp_dir().join(format!("leaseproof-xtask-etcd-{}", std::process::id()));
        std::fs::create_dir_all(&dir).ok()?;
        // It ends with us also when we are killed: setpriv is part of every Debian and Ubuntu.
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--"])
            .arg(program)
            .args(["--name", "m", "--data-dir", "data"])
            .args(["--listen-client-urls", &format!("http://127.0.0.1:{port}")])
            .args(["--advertise-client-urls", &format!("http://127.0.0.1:{port}")])
            .args(["--listen-peer-urls", &format!("http://127.0.0.1:{peer}")])
            .args(["--initial-advertise-peer-urls", &format!("http://127.0.0.1:{peer}")])
            .args(["--initial-cluster", &format!("m=http://127.0.0.1:{peer}")])
            .current_dir(&dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let server = Self { child, port, dir };
        for _ in 0..200 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(server);
            }
            std::thread::sleep(Duration::from_millis(25));
        }
        None
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its address.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Its URL. Each job gets the whole server: foreign keys are other jobs' canaries.
    pub fn url(&self) -> String {
        format!("etcd://127.0.0.1:{}", self.port)
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
