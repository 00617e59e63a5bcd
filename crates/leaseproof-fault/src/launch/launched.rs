//! An owner that was started.

use crate::shim::ShimFile;
use crate::warden::Warden;
use leaseproof_model::name::ProcessId;
use leaseproof_proc::cgroup::Cgroup;
use leaseproof_proc::family::Family;
use leaseproof_proc::pidfd::PidFd;
use rustix::process::Signal;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr, ChildStdout, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long the tree may take to die.
const DYING: Duration = Duration::from_secs(5);

/// An owner's tree as the target of faults: held by pidfd, found by family. Clones hold it too.
#[derive(Clone, Debug)]
pub struct Target {
    family: Family,
    pidfd: Arc<PidFd>,
}

impl Target {
    pub(crate) fn new(family: Family, pidfd: PidFd) -> Self {
        Self {
            family,
            pidfd: Arc::new(pidfd),
        }
    }

    /// The root process.
    #[must_use]
    pub fn root(&self) -> ProcessId {
        self.family.root
    }

    /// How its tree is found.
    #[must_use]
    pub fn family(&self) -> &Family {
        &self.family
    }

    /// The root, held.
    #[must_use]
    pub fn pidfd(&self) -> &PidFd {
        &self.pidfd
    }

    /// Its control group, if it has one.
    #[must_use]
    pub fn cgroup(&self) -> Option<&Cgroup> {
        self.family.cgroup.as_ref()
    }
}

/// How a root process ended.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// The exit status, if it exited.
    pub status: Option<i32>,
    /// The signal, if one killed it.
    pub signal: Option<i32>,
}

impl From<ExitStatus> for Ended {
    fn from(status: ExitStatus) -> Self {
        Self {
            status: status.code(),
            signal: status.signal(),
        }
    }
}

/// An owner that was started. Dropping it kills its tree.
#[derive(Debug)]
pub struct Launched {
    target: Target,
    child: Mutex<Child>,
    warden: Warden,
    shim: Option<Arc<ShimFile>>,
    gone: bool,
}

impl Launched {
    pub(super) fn new(warden: &Warden, target: Target, child: Child, shim: Option<Arc<ShimFile>>) -> Self {
        Self {
            target,
            child: Mutex::new(child),
            warden: warden.clone(),
            shim,
            gone: false,
        }
    }

    /// The root process.
    #[must_use]
    pub fn process(&self) -> ProcessId {
        self.target.root()
    }

    /// Its tree as the target of faults.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Its clock shim, if it was started with one.
    #[must_use]
    pub fn shim(&self) -> Option<&Arc<ShimFile>> {
        self.shim.as_ref()
    }

    /// Its standard output; `None` when it was taken before. It has to be read all the time: a full
    /// pipe would pause the owner.
    pub fn take_stdout(&self) -> Option<ChildStdout> {
        self.child().stdout.take()
    }

    /// Its standard error; `None` when it was taken before. It has to be read all the time.
    pub fn take_stderr(&self) -> Option<ChildStderr> {
        self.child().stderr.take()
    }

    /// How the root process ended, if it has.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn try_wait(&self) -> io::Result<Option<Ended>> {
        Ok(self.child().try_wait()?.map(Ended::from))
    }

    /// Waits for the root process's end, at most `timeout`. The pidfd in [`Self::target`] becomes
    /// readable at that end, for those who wait for several things.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn wait_timeout(&self, timeout: Duration) -> io::Result<Option<Ended>> {
        // Not under the lock, so that others can look meanwhile.
        let _ = self.target.pidfd().wait_ended(timeout);
        self.try_wait()
    }

    /// Sends SIGTERM to the root process; `false` when it is gone.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn terminate(&self) -> io::Result<bool> {
        self.target.pidfd().signal(Signal::TERM)
    }

    /// Kills the whole tree, stopped first so that none sees another die, and waits for it. Returns
    /// what was killed.
    ///
    /// # Errors
    /// When something does not die.
    pub fn kill_tree(&self) -> io::Result<Vec<ProcessId>> {
        self.target.family.kill(DYING)
    }

    /// Ends it for good: kills what is left of the tree, reaps the root, removes its control group,
    /// and lets the warden forget it. Returns how the root ended.
    ///
    /// # Errors
    /// When something does not die; the warden stays in charge of it then.
    pub fn end(mut self) -> io::Result<Ended> {
        self.end_now()
    }

    fn end_now(&mut self) -> io::Result<Ended> {
        self.kill_tree()?;
        let ended = self.child().wait()?;
        self.gone = true;
        if let Some(group) = self.target.cgroup() {
            group.remove(DYING)?;
        }
        // A warden that is gone has nothing to forget.
        let _ = self.warden.owner_gone(self.process());
        Ok(ended.into())
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        if !self.gone {
            // What fails here the warden makes good.
            let _ = self.end_now();
        }
    }
}
