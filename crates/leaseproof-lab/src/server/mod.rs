//! A store's server that leaseproof itself started: the only kind that faults of a store may meet.

mod recipe;

pub use recipe::{ALL, Ports, Recipe};

use leaseproof_fault::launch::{Launch, Launched, launch};
use leaseproof_fault::shim::ShimFile;
use leaseproof_fault::warden::Warden;
use leaseproof_model::moment::Moment;
use leaseproof_proc::clock::boot_now;
use leaseproof_store::StoreUrl;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a server may take until it answers: some start a virtual machine, some elect themselves.
const START: Duration = Duration::from_secs(60);
/// How long one try to reach it may take.
const TRY: Duration = Duration::from_millis(500);
/// Between two tries.
const BETWEEN: Duration = Duration::from_millis(20);

/// A running server. Dropping it kills it; the warden does, should we not.
pub struct Server {
    recipe: &'static Recipe,
    program: PathBuf,
    dir: PathBuf,
    ports: Ports,
    shim: Option<Arc<ShimFile>>,
    launched: Option<Launched>,
}

impl Server {
    /// Starts one with its data and its log in `dir`, and waits until it answers. With `stepped` its wall
    /// clock can be stepped.
    ///
    /// # Errors
    /// What is missing, or the last words of a server that did not start.
    pub fn start(recipe: &'static Recipe, warden: &Warden, dir: &Path, stepped: bool) -> Result<Self, String> {
        let program = recipe.find()?;
        let fail = |error: std::io::Error| format!("a server of {} can't be started: {error}", recipe.kind);
        std::fs::create_dir_all(dir).map_err(fail)?;
        let ports = free_ports().map_err(fail)?;
        let shim = match stepped {
            true => Some(Arc::new(ShimFile::create(dir).map_err(|error| error.to_string())?)),
            false => None,
        };
        let mut server = Self {
            recipe,
            program,
            dir: dir.to_owned(),
            ports,
            shim,
            launched: None,
        };
        server.run(warden)?;
        Ok(server)
    }

    /// How it is reached.
    ///
    /// # Panics
    /// Never: a recipe's URL is one of a store.
    #[must_use]
    pub fn url(&self) -> StoreUrl {
        (self.recipe.url)(self.ports.client)
            .parse()
            .expect("a recipe's URL is one of a store")
    }

    /// Its tree, for faults.
    #[must_use]
    pub fn launched(&self) -> Option<&Launched> {
        self.launched.as_ref()
    }

    /// Its clock.
    #[must_use]
    pub fn shim(&self) -> Option<&Arc<ShimFile>> {
        self.shim.as_ref()
    }

    /// Kills it with SIGKILL, as a crash would end it; the moment between which and which it died.
    pub fn kill(&mut self) -> Moment {
        let asked = boot_now();
        if let Some(launched) = self.launched.take() {
            let _ = launched.kill_tree();
        }
        Moment::between(asked, boot_now())
    }

    /// Starts it again on the same port, on its data or without.
    ///
    /// # Errors
    /// The last words of a server that did not start.
    pub fn again(&mut self, warden: &Warden, with_data: bool) -> Result<(), String> {
        if !with_data {
            let data = self.data();
            std::fs::remove_dir_all(&data).map_err(|error| format!("{}: {error}", data.display()))?;
        }
        self.run(warden)
    }

    fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    fn log(&self) -> PathBuf {
        self.dir.join("log")
    }

    fn run(&mut self, warden: &Warden) -> Result<(), String> {
        let data = self.data();
        std::fs::create_dir_all(&data).map_err(|error| format!("{}: {error}", data.display()))?;
        // Its output goes to a file: a pipe that nobody reads would stop it one day.
        let mut argv: Vec<std::ffi::OsString> = ["sh", "-c", r#"exec "$@" >>"$0" 2>&1"#].map(Into::into).into();
        argv.push(self.log().into());
        argv.extend(
            (self.recipe.command)(&self.program, &data, self.ports)
                .into_iter()
                .map(Into::into),
        );
        let wanted = Launch {
            argv,
            env: Vec::new(),
            cwd: None,
            shim: self.shim.clone(),
            cgroup: false,
        };
        let launched = launch(warden, &wanted)
            .map_err(|error| format!("the server of {} can't be started: {error}", self.recipe.kind))?;
        self.launched = Some(launched);
        self.until_it_answers()
    }

    fn until_it_answers(&self) -> Result<(), String> {
        let url = self.url();
        let until = boot_now().plus(START);
        loop {
            let answer = leaseproof_store::open_observer(&url, TRY);
            let why = match answer {
                Ok(_) => return Ok(()),
                Err(error) => error.to_string(),
            };
            let ended = self
                .launched
                .as_ref()
                .is_none_or(|it| !matches!(it.try_wait(), Ok(None)));
            if ended || boot_now() > until {
                return Err(format!(
                    "the server of {} {}: {}",
                    self.recipe.kind,
                    if ended { "ended right away" } else { "does not answer" },
                    self.last_words().unwrap_or(why)
                ));
            }
            std::thread::sleep(BETWEEN);
        }
    }

    fn last_words(&self) -> Option<String> {
        let text = std::fs::read_to_string(self.log()).ok()?;
        let last: Vec<&str> = text.lines().rev().take(3).collect();
        let last: Vec<&str> = last.into_iter().rev().map(str::trim).collect();
        Some(last.join(" | ")).filter(|words| !words.is_empty())
    }
}

/// Ports that nobody listens on. Another may take one before the server does: then that does not start, and
/// says so.
fn free_ports() -> std::io::Result<Ports> {
    let (client, peer) = (
        TcpListener::bind(("127.0.0.1", 0))?,
        TcpListener::bind(("127.0.0.1", 0))?,
    );
    Ok(Ports {
        client: client.local_addr()?.port(),
        peer: peer.local_addr()?.port(),
    })
}
