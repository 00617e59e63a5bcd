//! Where a tortured run lives: a control group of its own and a mark of ours in its environment. So
//! all of it is found afterwards, and never anything that we did not start.

use leaseproof_model::name::ProcessId;
use leaseproof_proc::cgroup::{self, Cgroup};
use leaseproof_proc::pidfd::PidFd;
use leaseproof_proc::stat::{self, Stat};
use rustix::process::Signal;
use std::path::Path;
use std::time::Duration;

/// The variable that carries our mark; owners inherit it, as any other.
pub const MARK: &str = "LEASEPROOF_TORTURE";

/// How long what we kill at the end may take to be gone.
const DYING: Duration = Duration::from_secs(5);

/// A cage. What is still in it when it is dropped dies.
#[derive(Debug)]
pub struct Cage {
    mark: String,
    group: Option<Cgroup>,
}

impl Cage {
    /// Builds one. Where no control group can be made the mark has to do.
    pub fn build(number: usize) -> Self {
        let mark = format!("{}-{number}", std::process::id());
        let group = cgroup::home()
            .ok()
            .map(|home| Cgroup::at(home.join(format!("torture-{mark}"))))
            .filter(|group| group.create().is_ok());
        Self { mark, group }
    }

    /// What goes into the environment.
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// The control group's folder.
    pub fn folder(&self) -> Option<&Path> {
        self.group.as_ref().map(Cgroup::path)
    }

    /// All processes in it that have not ended: those in the group and below it, and those that
    /// carry the mark.
    pub fn members(&self) -> Vec<Stat> {
        let inside = self.group.as_ref().map(Cgroup::members).unwrap_or_default();
        let wanted = format!("{MARK}={}", self.mark);
        let rows = stat::all().unwrap_or_default();
        rows.into_iter()
            .filter(|row| !row.is_over())
            .filter(|row| inside.contains(&row.id.pid) || carries(row.id, &wanted))
            .collect()
    }

    /// The control groups that the run made.
    pub fn groups(&self) -> Vec<Cgroup> {
        let below = self.folder().and_then(|folder| std::fs::read_dir(folder).ok());
        below
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| Cgroup::at(entry.path()))
            .collect()
    }
}

impl Drop for Cage {
    fn drop(&mut self) {
        for row in self.members() {
            if let Ok(held) = PidFd::open(row.id) {
                let _ = held.signal(Signal::KILL);
            }
        }
        for group in self.groups() {
            let _ = group.thaw();
        }
        if let Some(group) = &self.group {
            let _ = group.kill();
            if let Err(error) = group.remove(DYING) {
                eprintln!("{}: {error}", group.path().display());
            }
        }
    }
}

fn carries(id: ProcessId, wanted: &str) -> bool {
    std::fs::read(format!("/proc/{}/environ", id.pid))
        .is_ok_and(|environ| environ.split(|&byte| byte == 0).any(|entry| entry == wanted.as_bytes()))
}
