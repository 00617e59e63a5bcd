//! The command's processes, all of them: those in its control group, and those below the one that watches it.
//!
//! Who watches is a *subreaper*: whatever the command leaves behind becomes its child, also after a double fork and
//! `setsid`. So a process of the command is always below it, and when it has no child any more, nothing is left.

use leaseproof_model::name::ProcessId;
use leaseproof_proc::cgroup::Cgroup;
use leaseproof_proc::pidfd::PidFd;
use leaseproof_proc::{identity, stat};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, wait, waitpid};
use std::collections::BTreeSet;
use std::io;

/// Rounds of a kill before its caller looks at what else there is: a tree that forks on and on is stopped first, so
/// that a second round finds nothing new.
const ROUNDS: u32 = 4;

/// See the module.
#[derive(Debug)]
pub struct Tree {
    /// The one that watches: this process.
    watcher: ProcessId,
    cgroup: Option<Cgroup>,
    /// Processes of ours that are below the watcher, and no part of the command.
    spared: BTreeSet<ProcessId>,
}

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
}

impl Tree {
    /// Below this process, and in `cgroup`.
    ///
    /// # Errors
    /// When `/proc` can't be read.
    pub fn new(cgroup: Option<Cgroup>) -> io::Result<Self> {
        Ok(Self {
            watcher: identity::me()?,
            cgroup,
            spared: BTreeSet::new(),
        })
    }

    /// Leaves this process out, though not what is below it.
    pub fn spare(&mut self, id: ProcessId) {
        self.spared.insert(id);
    }

    /// Those that have not ended.
    ///
    /// # Errors
    /// When `/proc` can't be read.
    pub fn look(&self) -> io::Result<Vec<ProcessId>> {
        let rows = stat::all()?;
        let mut inside: BTreeSet<u32> = self
            .cgroup
            .as_ref()
            .map(Cgroup::members)
            .unwrap_or_default()
            .into_iter()
            .collect();
        inside.insert(self.watcher.pid);
        // A child may have a smaller pid than its parent, so this goes on until nothing is new.
        loop {
            let before = inside.len();
            inside.extend(
                rows.iter()
                    .filter(|row| inside.contains(&row.parent))
                    .map(|row| row.id.pid)
                    .collect::<Vec<_>>(),
            );
            if inside.len() == before {
                break;
            }
        }
        Ok(rows
            .iter()
            .filter(|row| inside.contains(&row.id.pid) && !row.is_over())
            .map(|row| row.id)
            .filter(|id| *id != self.watcher && !self.spared.contains(id))
            .collect())
    }

    /// Sends a signal to all of it.
    pub fn signal(&self, signal: Signal) {
        for id in self.look().unwrap_or_default() {
            send(id, signal);
        }
    }

    /// Kills what is there, at once where there is a control group. What has not ended by the next look is killed by
    /// the next call.
    pub fn kill(&self) {
        let at_once = self.cgroup.as_ref().is_some_and(|cgroup| cgroup.kill().is_ok());
        let mut stopped = BTreeSet::new();
        for _ in 0..ROUNDS {
            let mut left = self.look().unwrap_or_default();
            left.retain(|id| !stopped.contains(id));
            if left.is_empty() {
                break;
            }
            for id in left {
                // In a control group everything has its SIGKILL already, but for what left it.
                if !at_once {
                    send(id, Signal::STOP);
                }
                stopped.insert(id);
            }
        }
        for id in stopped {
            send(id, Signal::KILL);
        }
    }

    /// Nothing is left: this process has no child, and the control group is empty.
    #[must_use]
    pub fn is_gone(&self, has_children: bool) -> bool {
        let empty = |cgroup: &Cgroup| !cgroup.is_populated().unwrap_or(false);
        !has_children && self.cgroup.as_ref().is_none_or(empty)
    }

    /// The process groups of its processes.
    #[must_use]
    pub fn groups(&self) -> BTreeSet<u32> {
        let all = self.look().unwrap_or_default();
        all.iter()
            .filter_map(|id| stat::read(id.pid).ok())
            .map(|row| row.group)
            .collect()
    }
}

fn send(id: ProcessId, signal: Signal) {
    // One that is gone needs nothing; one of another user refuses, and the control group's kill is for that.
    if let Ok(fd) = PidFd::open(id) {
        let _ = fd.signal(signal);
    }
}

/// Takes the statuses of children that have ended: theirs, and whether any child is left.
pub fn reap() -> (Vec<(u32, Ended)>, bool) {
    let mut ended = Vec::new();
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => ended.extend(how(status).map(|how| (number(pid), how))),
            Ok(None) => return (ended, true),
            Err(Errno::INTR) => {}
            Err(_) => return (ended, false),
        }
    }
}

/// The same, but for one child, whose status stays to be seen by others.
pub fn reap_but(spared: u32) -> (Vec<(u32, Ended)>, bool) {
    let me = std::process::id();
    let rows = stat::all().unwrap_or_default();
    let children = rows.iter().filter(|row| row.parent == me && row.id.pid != spared);
    let mut ended = Vec::new();
    let mut left = false;
    for row in children {
        let pid = i32::try_from(row.id.pid).ok().and_then(Pid::from_raw);
        match waitpid(pid, WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => ended.extend(how(status).map(|how| (number(pid), how))),
            Ok(None) | Err(_) => left = true,
        }
    }
    // What an ended one had below it is a child only from now on: the next look sees it.
    let any = left || !ended.is_empty();
    (ended, any)
}

fn how(status: WaitStatus) -> Option<Ended> {
    let exited = status.exit_status().map(Ended::Exited);
    exited.or(status.terminating_signal().map(Ended::Killed))
}

fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}
