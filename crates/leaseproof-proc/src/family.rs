//! The processes that come from one root: by parent, by session, by cgroup, by mark.

use crate::cgroup::Cgroup;
use crate::pidfd::PidFd;
use crate::stat::{self, Stat};
use crate::threads;
use leaseproof_model::name::ProcessId;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

/// The variable that carries a run's mark in the environment of its processes.
pub const MARK_VARIABLE: &str = "LEASEPROOF_MARK";

/// How to find a process tree.
///
/// The root leads a session of its own, so that a grandchild whose parent has ended, and which the
/// kernel has therefore given to another, is still found. A cgroup finds what left the session too.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Family {
    /// The root. It leads a session.
    pub root: ProcessId,
    /// What the family's processes carry in [`MARK_VARIABLE`]. It is asked only where nothing else
    /// tells the family's processes from strangers.
    pub mark: Option<String>,
    /// The cgroup that holds them and nobody else.
    pub cgroup: Option<Cgroup>,
}

impl Family {
    /// One look: the processes that have not ended, parents before their children, the root first.
    ///
    /// # Errors
    /// When `/proc` can't be read.
    pub fn look(&self) -> io::Result<Vec<ProcessId>> {
        let rows = stat::all()?;
        let root = rows.iter().find(|row| row.id.pid == self.root.pid);
        // While anything is left in a session, the kernel doesn't use its number again. So if the
        // pid is now another process's, nothing of the session is left; and if it is nobody's, the
        // number may have been a stranger's since, and the mark has to tell.
        let session = match root {
            Some(row) if row.id == self.root => Session::Ours,
            Some(_) => Session::Gone,
            None => Session::Unsure,
        };
        let in_cgroup = self.cgroup.as_ref().map(Cgroup::members).unwrap_or_default();
        let mut depth: BTreeMap<u32, u32> = BTreeMap::new();
        for row in &rows {
            let of_session = row.session == self.root.pid
                && match session {
                    Session::Ours => true,
                    Session::Gone => false,
                    Session::Unsure => self.mark.as_deref().is_some_and(|mark| carries(row.id.pid, mark)),
                };
            if row.id == self.root || of_session || in_cgroup.contains(&row.id.pid) {
                depth.insert(row.id.pid, u32::from(row.id != self.root));
            }
        }
        add_descendants(&rows, &mut depth);
        let mut found: Vec<(u32, ProcessId)> = rows
            .iter()
            .filter(|row| !row.is_over())
            .filter_map(|row| Some((*depth.get(&row.id.pid)?, row.id)))
            .collect();
        found.sort_unstable();
        Ok(found.into_iter().map(|(_, id)| id).collect())
    }

    /// Kills all of it: stopped first, so that none sees another die or forks behind our back.
    /// Returns what was killed. Gives up at `timeout`, which only a process in an uninterruptible
    /// wait can reach.
    ///
    /// # Errors
    /// When `/proc` can't be read, a process refuses the signal, or some are left at the time-out.
    pub fn kill(&self, timeout: Duration) -> io::Result<Vec<ProcessId>> {
        let deadline = Instant::now() + timeout;
        let mut killed: BTreeMap<ProcessId, PidFd> = BTreeMap::new();
        loop {
            let mut held: BTreeMap<ProcessId, PidFd> = BTreeMap::new();
            loop {
                let fresh: Vec<ProcessId> = self
                    .look()?
                    .into_iter()
                    .filter(|id| !held.contains_key(id) && !killed.contains_key(id))
                    .collect();
                if fresh.is_empty() {
                    break;
                }
                for id in fresh {
                    let Ok(fd) = PidFd::open(id) else { continue };
                    fd.signal(Signal::STOP)?;
                    held.insert(id, fd);
                }
                if Instant::now() >= deadline {
                    break;
                }
            }
            if let Some(cgroup) = &self.cgroup {
                // An old kernel has no such file; the signals below do the same.
                let _ = cgroup.kill();
            }
            for fd in held.values() {
                fd.signal(Signal::KILL)?;
            }
            killed.append(&mut held);
            let left = killed
                .values()
                .find(|fd| !fd.wait_ended(deadline.saturating_duration_since(Instant::now())));
            if let Some(fd) = left {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("process {} did not end on SIGKILL in time", fd.id().pid),
                ));
            }
            if self.look()?.iter().all(|id| killed.contains_key(id)) {
                return Ok(killed.into_keys().collect());
            }
        }
    }

    /// Lets every stopped process of it go on, children first. Returns those that were stopped.
    ///
    /// # Errors
    /// When `/proc` can't be read or a process refuses the signal.
    pub fn resume(&self) -> io::Result<Vec<ProcessId>> {
        let mut resumed = Vec::new();
        for id in self.look()?.into_iter().rev() {
            if resume(id)? {
                resumed.push(id);
            }
        }
        Ok(resumed)
    }
}

enum Session {
    Ours,
    Gone,
    Unsure,
}

/// Lets one process go on; whether it was stopped. One that is gone needs nothing.
///
/// # Errors
/// When it refuses the signal.
pub fn resume(id: ProcessId) -> io::Result<bool> {
    let Ok(fd) = PidFd::open(id) else { return Ok(false) };
    let stopped = threads::of(id.pid).iter().any(|thread| thread.state == 'T');
    // Sent in any case: a stop that is on its way shows no `T` yet, and SIGCONT takes it back.
    fd.signal(Signal::CONT)?;
    Ok(stopped)
}

/// All processes that carry this mark and have not ended: the last net, for what left tree, session
/// and cgroup. Only processes that started after `since` are looked into.
///
/// # Errors
/// When `/proc` can't be read.
pub fn marked(mark: &str, since: ProcessId) -> io::Result<Vec<ProcessId>> {
    Ok(stat::all()?
        .into_iter()
        .filter(|row| row.id.start_ticks >= since.start_ticks && !row.is_over())
        .filter(|row| carries(row.id.pid, mark))
        .map(|row| row.id)
        .collect())
}

/// Kills what [`marked`] finds, until it finds nothing. Returns what was killed.
///
/// # Errors
/// When `/proc` can't be read or a process refuses the signal.
pub fn kill_marked(mark: &str, since: ProcessId, timeout: Duration) -> io::Result<Vec<ProcessId>> {
    let deadline = Instant::now() + timeout;
    let mut killed = Vec::new();
    loop {
        let found = marked(mark, since)?;
        if found.is_empty() || Instant::now() >= deadline {
            return Ok(killed);
        }
        for id in found {
            if let Ok(fd) = PidFd::open(id)
                && fd.signal(Signal::KILL)?
                && !killed.contains(&id)
            {
                killed.push(id);
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn carries(pid: u32, mark: &str) -> bool {
    let wanted = format!("{MARK_VARIABLE}={mark}");
    fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|environ| environ.split(|&byte| byte == 0).any(|entry| entry == wanted.as_bytes()))
}

fn add_descendants(rows: &[Stat], depth: &mut BTreeMap<u32, u32>) {
    loop {
        let mut changed = false;
        for row in rows {
            let Some(parent) = depth.get(&row.parent).copied() else {
                continue;
            };
            match depth.get(&row.id.pid) {
                Some(&known) if known > parent || known == 0 => {}
                _ => {
                    depth.insert(row.id.pid, parent + 1);
                    changed = true;
                }
            }
        }
        if !changed {
            return;
        }
    }
}
