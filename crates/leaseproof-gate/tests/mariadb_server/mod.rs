//! A MariaDB server of a test's own: on a socket in a folder of its own, without networking and without users,
//! killed when dropped and when this process dies. It needs no tables of its own for that.
//!
//! Found by `LEASEPROOF_MARIADBD`, `LEASEPROOF_MARIADB` and `LEASEPROOF_MARIADB_BASE`, else on PATH.

#![allow(dead_code, reason = "each test file uses a part of this fixture")]

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A running server with an empty database `test`.
pub struct MariadbServer {
    folder: tempfile::TempDir,
    child: Child,
}

fn program(variable: &str, name: &str) -> PathBuf {
    std::env::var_os(variable).map_or_else(|| PathBuf::from(name), PathBuf::from)
}

impl MariadbServer {
    /// Starts a server; the error says why there is none.
    pub fn start() -> Result<Self, String> {
        // It syncs its log: where memory can be had as a folder, that costs nothing.
        let folder = tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .map_err(|error| format!("no folder for mariadb: {error}"))?;
        std::fs::create_dir(folder.path().join("data")).map_err(|error| error.to_string())?;
        let child = spawn(&folder)?;
        let mut server = Self { folder, child };
        server.wait_ready()?;
        Ok(server)
    }

    /// Kills it at once, and starts it again on the same files.
    pub fn kill_and_start(&mut self) {
        self.kill();
        self.child = spawn(&self.folder).expect("it started before");
        self.wait_ready().expect("it starts again");
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn wait_ready(&mut self) -> Result<(), String> {
        let log = || std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        for _ in 0..600 {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("mariadbd ended at once: {status}: {}", log()));
            }
            let made = self
                .client()
                .args(["-e", "CREATE DATABASE IF NOT EXISTS test"])
                .stderr(Stdio::null())
                .status();
            match made {
                Ok(status) if status.success() => return Ok(()),
                Ok(_) => std::thread::sleep(Duration::from_millis(50)),
                Err(error) => return Err(format!("mariadb can't be started: {error}")),
            }
        }
        Err(format!("mariadbd was not ready within 30 s: {}", log()))
    }

    /// Where it listens.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    /// Its own client, which is not connected to a database yet.
    pub fn client(&self) -> Command {
        let mut command = Command::new(program("LEASEPROOF_MARIADB", "mariadb"));
        command
            .arg("--no-defaults")
            .arg(format!("--socket={}", self.socket().display()));
        command
    }
}

impl Drop for MariadbServer {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn(folder: &tempfile::TempDir) -> Result<Child, String> {
    let base = std::env::var_os("LEASEPROOF_MARIADB_BASE").map_or_else(|| PathBuf::from("/usr"), PathBuf::from);
    let place = |name: &str| folder.path().join(name).display().to_string();
    let log = std::fs::File::create(folder.path().join("log")).map_err(|error| format!("no log: {error}"))?;
    Command::new("setpriv")
        .args(["--pdeathsig", "KILL", "--"])
        .arg(program("LEASEPROOF_MARIADBD", "mariadbd"))
        .args(["--no-defaults", "--skip-grant-tables", "--skip-networking"])
        .arg(format!("--datadir={}", place("data")))
        .arg(format!("--socket={}", place("socket")))
        .arg(format!("--pid-file={}", place("pid")))
        .arg(format!("--lc-messages-dir={}", base.join("share/mysql").display()))
        .args(["--innodb-log-file-size=4M", "--innodb-buffer-pool-size=8M"])
        // It refuses to run as root unless it is told to; to anybody else this is a warning.
        .arg("--user=root")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .map_err(|error| format!("setpriv can't be started: {error}"))
}
