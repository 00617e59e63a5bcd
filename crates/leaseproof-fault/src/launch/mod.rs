//! Starting an owner so that no kill of ours can leave it behind.
//!
//! The owner starts as a stub of our own binary, which waits for one byte and then becomes the
//! command under the same pid. In between the warden gets to know it. The end of the line (this
//! process died) ends the stub.

mod launched;
mod stub;

pub use launched::{Ended, Launched, Target};
pub use stub::main as stub_main;

use crate::shim::ShimFile;
use crate::torture_points::{self, reach};
use crate::warden::{Warden, WardenError, apart};
use leaseproof_proc::cgroup::{self, Cgroup};
use leaseproof_proc::family::{Family, MARK_VARIABLE};
use leaseproof_proc::identity;
use leaseproof_proc::pidfd::PidFd;
use rustix::fs::{Access, access};
use std::env;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use thiserror::Error;

/// The hidden first argument by which our binary becomes a stub.
pub const STUB_WORD: &str = "__stub";

/// How long the stub may take to start, and to become its command.
const START: Duration = Duration::from_secs(30);

static NEXT_GROUP: AtomicU64 = AtomicU64::new(1);

/// What to start. A program that is exactly `leaseproof` means the running binary.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// The command and its arguments.
    pub argv: Vec<OsString>,
    /// Variables, beside those of this process.
    pub env: Vec<(OsString, OsString)>,
    /// Where it runs; here if `None`.
    pub cwd: Option<PathBuf>,
    /// The clock shim that it is to load.
    pub shim: Option<Arc<ShimFile>>,
    /// Whether it gets a control group of its own (for the freeze).
    pub cgroup: bool,
}

/// Why an owner did not start. Nothing of it is left.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// There is no command.
    #[error("there is no command to start")]
    Empty,
    /// The command can't be run; the owner never existed.
    #[error("failed to run {command:?}: {why}; check that it exists, is executable, and is in PATH")]
    Command {
        /// The first word.
        command: String,
        /// What the kernel says.
        why: String,
    },
    /// Its directory isn't there.
    #[error("failed to run the owner in {0}: no such directory")]
    Directory(PathBuf),
    /// Its control group can't be made.
    #[error("failed to make a control group for the owner: {0}")]
    Cgroup(String),
    /// The warden doesn't know it, so it was not started.
    #[error("the warden did not take the owner into its care: {0}")]
    Warden(#[from] WardenError),
    /// The stub did not start.
    #[error("failed to start the owner's stub: {0}")]
    Stub(#[from] io::Error),
}

/// Whether owners can get control groups of their own here.
///
/// # Errors
/// A reason for people.
pub fn cgroups_available() -> Result<PathBuf, String> {
    let home = cgroup::home()?;
    // Asked, not tried: a group made as a trial could be left by a kill at that moment.
    for path in [home.clone(), home.join("cgroup.procs")] {
        access(&path, Access::WRITE_OK).map_err(|errno| format!("{} can't be written: {errno}", path.display()))?;
    }
    Ok(home)
}

/// Starts an owner. It runs (or has already ended by itself) when this returns.
///
/// # Errors
/// When the command can't be run, or its care can't be taken; nothing is left then.
pub fn launch(warden: &Warden, launch: &Launch) -> Result<Launched, LaunchError> {
    let Some(program) = launch.argv.first() else {
        return Err(LaunchError::Empty);
    };
    if let Some(dir) = launch.cwd.as_ref().filter(|dir| !dir.is_dir()) {
        return Err(LaunchError::Directory(dir.clone()));
    }
    let cgroup = if launch.cgroup { Some(new_cgroup(warden)?) } else { None };
    let (mut line, theirs) = UnixStream::pair()?;
    line.set_read_timeout(Some(START))?;
    let started = start_stub(warden, launch, theirs).map_err(LaunchError::Stub);
    let mut child = match started {
        Ok(child) => child,
        Err(error) => {
            discard_cgroup(cgroup.as_ref());
            return Err(error);
        }
    };
    reach(torture_points::STUB_SPAWNED);
    match hand_over(warden, &mut line, &child, cgroup.clone()) {
        Ok(target) => {
            let why = match exec_failure(&mut line) {
                Ok(None) => {
                    reach(torture_points::OWNER_STARTED);
                    return Ok(Launched::new(warden, target, child, launch.shim.clone()));
                }
                Ok(Some(why)) => why,
                Err(error) => format!("its stub does not answer: {error}"),
            };
            discard(&mut child);
            discard_cgroup(cgroup.as_ref());
            warden.owner_gone(target.root())?;
            Err(LaunchError::Command {
                command: program.to_string_lossy().into_owned(),
                why,
            })
        }
        Err(error) => {
            discard(&mut child);
            discard_cgroup(cgroup.as_ref());
            Err(error)
        }
    }
}

fn start_stub(warden: &Warden, launch: &Launch, line: UnixStream) -> io::Result<Child> {
    let mut command = Command::new("/proc/self/exe");
    // A session of its own: the terminal's keys don't reach the owner, the end of the run's session
    // doesn't wake it, and its orphans are found by the session's number.
    apart(&mut command);
    command.arg(STUB_WORD);
    // Loaded into the command and not into the stub: it is the command's reads that count.
    for (name, value) in launch.shim.iter().flat_map(|shim| {
        let preload = launch.env.iter().rev().find(|(name, _)| name == "LD_PRELOAD");
        let preload = preload
            .map(|(_, value)| value.clone())
            .or_else(|| env::var_os("LD_PRELOAD"));
        shim.variables(preload)
    }) {
        let mut setting = name;
        setting.push("=");
        setting.push(value);
        command.arg(setting);
    }
    command
        .arg("--")
        .args(&launch.argv)
        .envs(launch.env.iter().map(|(name, value)| (name, value)))
        .env(MARK_VARIABLE, warden.mark())
        .env_remove(torture_points::VARIABLE)
        .stdin(Stdio::from(OwnedFd::from(line)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(dir) = &launch.cwd {
        command.current_dir(dir);
    }
    command.spawn()
}

fn hand_over(
    warden: &Warden,
    line: &mut UnixStream,
    child: &Child,
    cgroup: Option<Cgroup>,
) -> Result<Target, LaunchError> {
    // The stub's word says that it runs.
    let mut word = [0];
    line.read_exact(&mut word)?;
    // Not yet reaped, so the pid can't be another's.
    let root = identity::identify(child.id())?;
    let pidfd = PidFd::open(root)?;
    if let Some(group) = &cgroup {
        group
            .add(root.pid)
            .map_err(|error| LaunchError::Cgroup(format!("{}: {error}", group.path().display())))?;
    }
    warden.owner(root, cgroup.as_ref().map(Cgroup::path))?;
    reach(torture_points::OWNER_REGISTERED);
    line.write_all(b"g")?;
    Ok(Target::new(
        Family {
            root,
            mark: Some(warden.mark().to_owned()),
            cgroup,
        },
        pidfd,
    ))
}

/// The line closes when the stub becomes its command; it speaks when that failed.
fn exec_failure(line: &mut UnixStream) -> io::Result<Option<String>> {
    let mut why = String::new();
    line.read_to_string(&mut why)?;
    Ok((!why.is_empty()).then_some(why))
}

fn new_cgroup(warden: &Warden) -> Result<Cgroup, LaunchError> {
    let home = cgroups_available().map_err(LaunchError::Cgroup)?;
    let number = NEXT_GROUP.fetch_add(1, Ordering::Relaxed);
    let group = Cgroup::at(home.join(format!("leaseproof-{}-{number}", warden.mark())));
    warden.cgroup(group.path())?;
    group
        .create()
        .map_err(|error| LaunchError::Cgroup(format!("{}: {error}", group.path().display())))?;
    Ok(group)
}

fn discard(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn discard_cgroup(cgroup: Option<&Cgroup>) {
    if let Some(group) = cgroup {
        // What can't be removed now the warden removes at the end.
        let _ = group.remove(Duration::from_millis(500));
    }
}
