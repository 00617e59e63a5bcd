//! The worker's process, as its holder sees it.

use crate::link::{Link, State};
use crate::settings::Settings;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long a worker may take to end before it is killed, in running time.
const WORKER_ENDS: Duration = Duration::from_millis(300);

/// The worker's process.
#[derive(Debug)]
pub struct Child {
    process: std::process::Child,
    /// What it is told through.
    pub link: Link,
    /// What it could not be told yet, since it is stopped and its queue is full.
    untold: Option<State>,
}

impl Child {
    /// Starts it.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn start(settings: &Settings) -> Result<Self, String> {
        let (link, theirs) = Link::pair().map_err(|error| format!("failed to make the worker's link: {error}"))?;
        // The file may have been replaced since this process started; the link in /proc has not.
        let program = PathBuf::from("/proc/self/exe");
        let process = Command::new(program)
            .arg0("leaseproof")
            .arg("owner")
            .envs(settings.environment())
            .stdin(Stdio::from(theirs))
            .spawn()
            .map_err(|error| format!("failed to start the worker: {error}"))?;
        Ok(Self {
            process,
            link,
            untold: None,
        })
    }

    /// Tells it; what it can't be told now is told later.
    pub fn tell(&mut self, state: State) {
        self.untold = (!self.link.tell(state)).then_some(state);
    }

    /// Tells it what it could not be told before.
    pub fn tell_again(&mut self) {
        if let Some(state) = self.untold {
            self.tell(state);
        }
    }

    /// Ends the work: after this no write is begun, and none is on its way but in the kernel.
    pub fn stop(mut self) {
        self.tell(State::Stop);
        // Naps are counted, not time: a pause in between is not the worker's.
        let nap = Duration::from_millis(2);
        for _ in 0..WORKER_ENDS.as_millis() / nap.as_millis() {
            match self.process.try_wait() {
                Ok(None) => std::thread::sleep(nap),
                Ok(Some(_)) | Err(_) => return,
            }
        }
        // Stopped, or stuck in a write.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
