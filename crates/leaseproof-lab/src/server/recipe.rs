//! How each store's server is started by hand: what to run, where it keeps its data, how it is reached.

use std::path::{Path, PathBuf};

/// A server that can be started.
#[derive(Debug)]
pub struct Recipe {
    /// The store's kind, as `--start-store` takes it.
    pub kind: &'static str,
    /// A variable that names the program, where it is not in PATH.
    pub variable: &'static str,
    /// The program.
    pub program: &'static str,
    /// The command that runs it, its data in a folder, and on these ports of loopback.
    pub command: fn(&Path, &Path, Ports) -> Vec<String>,
    /// The URL of what listens on the port.
    pub url: fn(u16) -> String,
    /// Whether it ends leases by a clock that the shim can step.
    pub steppable: bool,
}

/// Where a server listens.
#[derive(Copy, Clone, Debug)]
pub struct Ports {
    /// For its clients.
    pub client: u16,
    /// For others of its kind.
    pub peer: u16,
}

/// All of them.
pub const ALL: &[Recipe] = &[
    Recipe {
        kind: "redis",
        variable: "LEASEPROOF_REDIS_SERVER",
        program: "redis-server",
        command: redis,
        url: |port| format!("redis://127.0.0.1:{port}"),
        steppable: true,
    },
    #[cfg(feature = "etcd")]
    Recipe {
        kind: "etcd",
        variable: "LEASEPROOF_ETCD",
        program: "etcd",
        command: etcd,
        url: |port| format!("etcd://127.0.0.1:{port}"),
        // Leases end by the steady clock, and Go reads its clocks without libc.
        steppable: false,
    },
];

/// One member, quick to elect itself.
#[cfg(feature = "etcd")]
fn etcd(program: &Path, dir: &Path, ports: Ports) -> Vec<String> {
    let client = format!("http://127.0.0.1:{}", ports.client);
    let peer = format!("http://127.0.0.1:{}", ports.peer);
    [
        &program.display().to_string(),
        "--name",
        "m",
        "--data-dir",
        &dir.display().to_string(),
        "--heartbeat-interval",
        "20",
        "--election-timeout",
        "200",
        "--listen-client-urls",
        &client,
        "--advertise-client-urls",
        &client,
        "--listen-peer-urls",
        &peer,
        "--initial-advertise-peer-urls",
        &peer,
        "--initial-cluster",
        &format!("m={peer}"),
    ]
    .map(str::to_owned)
    .into()
}

/// It answers a write only when that is on the disk: else what a restart loses would be its own doing.
fn redis(program: &Path, dir: &Path, ports: Ports) -> Vec<String> {
    let (program, dir, port) = (
        program.display().to_string(),
        dir.display().to_string(),
        ports.client.to_string(),
    );
    let words = [
        &program,
        "--port",
        &port,
        "--dir",
        &dir,
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--appendonly",
        "yes",
        "--appendfsync",
        "always",
    ];
    words.map(str::to_owned).into()
}

impl Recipe {
    /// The one for a kind of store.
    #[must_use]
    pub fn of(kind: &str) -> Option<&'static Self> {
        ALL.iter().find(|recipe| recipe.kind == kind)
    }

    /// Where its program is.
    ///
    /// # Errors
    /// What was looked for, and how to say where it is.
    pub fn find(&self) -> Result<PathBuf, String> {
        if let Some(path) = std::env::var_os(self.variable).map(PathBuf::from) {
            return match path.is_file() {
                true => Ok(path),
                false => Err(format!(
                    "{} names {}, which is not there",
                    self.variable,
                    path.display()
                )),
            };
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path)
            .map(|dir| dir.join(self.program))
            .find(|path| path.is_file())
            .ok_or_else(|| {
                format!(
                    "{} is not in PATH: install it, or name it by {}=PATH",
                    self.program, self.variable
                )
            })
    }
}
