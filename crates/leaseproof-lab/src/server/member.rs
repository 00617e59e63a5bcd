//! One process of a store that leaseproof started: a store of several members has several.

use super::last_words;
use super::recipe::Recipe;
use super::room::{Place, Room};
use leaseproof_fault::launch::{Launch, Launched, launch};
use leaseproof_fault::segment;
use leaseproof_fault::shim::ShimFile;
use leaseproof_fault::warden::{Healed, Warden};
use leaseproof_proc::clock::boot_now;
use leaseproof_store::StoreUrl;
use rustix::process::Signal;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a server may take until it answers: some start a virtual machine, some elect themselves.
const START: Duration = Duration::from_secs(60);
/// How long one that ends by itself may take.
const FAREWELL: Duration = Duration::from_secs(5);
/// How long one try to reach it may take.
const TRY: Duration = Duration::from_millis(500);
/// Between two tries.
const BETWEEN: Duration = Duration::from_millis(20);

/// A process, with its folder. Dropping it kills it; the warden does, should we not.
pub struct Member {
    recipe: &'static Recipe,
    place: Place,
    shim: Option<Arc<ShimFile>>,
    launched: Option<Launched>,
}

impl Member {
    /// Makes its folder, `dir` or another that it can be in. With `stepped` its wall clock can be stepped.
    ///
    /// # Errors
    /// What can't be made.
    pub fn new(recipe: &'static Recipe, warden: &Warden, dir: &Path, stepped: bool) -> Result<Self, String> {
        let place = Place::choose(dir, recipe.never_root);
        let fail = |error: io::Error| format!("a folder for {} can't be made: {error}", recipe.kind);
        if place.is_away() {
            warden.folder(place.dir()).map_err(|error| error.to_string())?;
        }
        place.make().map_err(fail)?;
        let mut member = Self {
            recipe,
            place,
            shim: None,
            launched: None,
        };
        if stepped {
            let dir = member.place.dir();
            let shim = ShimFile::create(dir).map_err(|error| error.to_string())?;
            for file in [shim.library(), shim.page_file()] {
                member.place.hand_over(file).map_err(fail)?;
            }
            member.shim = Some(Arc::new(shim));
        }
        Ok(member)
    }

    /// Its folder.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Its tree, while it runs.
    pub fn launched(&self) -> Option<&Launched> {
        self.launched.as_ref()
    }

    /// Its clock.
    pub fn shim(&self) -> Option<&Arc<ShimFile>> {
        self.shim.as_ref()
    }

    /// Starts it in its room; makes its data first, where it has none and needs some.
    ///
    /// # Errors
    /// Why it did not start.
    pub fn start(&mut self, warden: &Warden, room: &Room<'_>) -> Result<(), String> {
        let recipe = self.recipe;
        let fail = |error: io::Error| format!("the server of {} can't be started: {error}", recipe.kind);
        (recipe.write)(room).map_err(fail)?;
        let empty = std::fs::read_dir(room.data_dir()).map_err(fail)?.next().is_none();
        if let Some(make) = (recipe.make)(room).filter(|_| empty) {
            self.to_its_end(warden, make)?;
        }
        self.launched = Some(self.launch(warden, (recipe.run)(room), self.shim.clone())?);
        Ok(())
    }

    /// Kills it with SIGKILL, as a crash would end it.
    pub fn kill(&mut self) {
        // Dropping ends the tree, and waits for it.
        drop(self.launched.take());
    }

    /// Removes its data.
    ///
    /// # Errors
    /// As the system says.
    pub fn empty(&self) -> Result<(), String> {
        let data = self.place.dir().join("data");
        // PostgreSQL clears away what its last server left only where the folder is the same one.
        for healed in segment::remove_below(&data) {
            if let Healed::Failed(why) = healed {
                return Err(why);
            }
        }
        std::fs::remove_dir_all(&data)
            .and_then(|()| self.place.make_data())
            .map_err(|error| format!("{}: {error}", data.display()))
    }

    /// Waits until what `url` names answers, and this still runs.
    ///
    /// # Errors
    /// The last words of a server that ended, or why it does not answer.
    pub fn until_it_answers(&self, url: &StoreUrl) -> Result<(), String> {
        let until = boot_now().plus(START);
        loop {
            let why = match leaseproof_store::open_observer(url, TRY) {
                Ok(_) => return Ok(()),
                Err(error) => error.to_string(),
            };
            let ended = self.has_ended();
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

    fn has_ended(&self) -> bool {
        let launched = self.launched.as_ref();
        launched.is_none_or(|it| !matches!(it.try_wait(), Ok(None)))
    }

    fn launch(&self, warden: &Warden, command: Vec<String>, shim: Option<Arc<ShimFile>>) -> Result<Launched, String> {
        // Its output goes to a file: a pipe that nobody reads would stop it one day.
        let mut argv: Vec<OsString> = ["sh", "-c", r#"exec "$@" >>"$0" 2>&1"#].map(Into::into).into();
        argv.push(self.log().into());
        argv.extend(self.place.user_words().into_iter().chain(command).map(OsString::from));
        let wanted = Launch {
            argv,
            env: Vec::new(),
            // Ours may be one that it may not enter.
            cwd: Some(self.place.dir().to_owned()),
            shim,
            cgroup: false,
        };
        launch(warden, &wanted).map_err(|error| format!("the server of {} can't be started: {error}", self.recipe.kind))
    }

    /// Runs a command that ends.
    fn to_its_end(&self, warden: &Warden, command: Vec<String>) -> Result<(), String> {
        let launched = self.launch(warden, command, None)?;
        let ended = launched.wait_timeout(START).map_err(|error| error.to_string())?;
        match ended.and_then(|ended| ended.status) {
            Some(0) => Ok(()),
            _ => Err(format!(
                "the data of {} can't be made: {}",
                self.recipe.kind,
                self.last_words().unwrap_or_else(|| "it says nothing".to_owned())
            )),
        }
    }

    fn log(&self) -> PathBuf {
        self.place.dir().join("log")
    }

    fn last_words(&self) -> Option<String> {
        let log = std::fs::read(self.log()).ok()?;
        let words = last_words::of_log(&String::from_utf8_lossy(&log))?;
        let remedy = last_words::remedy(&words);
        Some(words + remedy)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if let Some(launched) = self.launched.take() {
            // One that is killed leaves a segment of shared memory behind.
            if self.recipe.never_root && launched.target().pidfd().signal(Signal::INT).is_ok() {
                let _ = launched.wait_timeout(FAREWELL);
            }
        }
        if self.place.is_away() {
            // What fails here the warden makes good.
            let _ = std::fs::remove_dir_all(self.place.dir());
        }
    }
}
