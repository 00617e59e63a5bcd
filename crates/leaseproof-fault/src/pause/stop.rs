//! A stop by SIGSTOP through pidfds.
//!
//! Parents stop before their children, each confirmed before the next: a shell with job control that
//! sees a child stop goes on to its next command. At the end children go on first, for the same
//! reason.

use super::{CONFIRMATION, Part};
use crate::FaultError;
use crate::launch::Target;
use crate::torture_points::{self, reach};
use leaseproof_model::name::ProcessId;
use leaseproof_proc::cpu::{CpuProbe, CpuTimes};
use leaseproof_proc::pidfd::PidFd;
use leaseproof_proc::threads;
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// Processes that stand, in the order in which they were stopped.
#[derive(Debug, Default)]
pub(super) struct Stopped {
    held: Vec<PidFd>,
    threads: u32,
    cpu: Option<(CpuProbe, CpuTimes)>,
}

impl Stopped {
    /// Stops this part of the tree. `extend` is called with what is about to be stopped and was not
    /// known to be part of it before. On an error `self` still holds what was stopped.
    pub(super) fn stop(
        &mut self,
        target: &Target,
        part: Part,
        mut extend: impl FnMut(Vec<ProcessId>) -> Result<(), FaultError>,
    ) -> Result<(), FaultError> {
        let deadline = Instant::now() + CONFIRMATION;
        let root = target.root();
        if part != Part::Children {
            self.stop_one(root, deadline)?;
        }
        let mut before: Option<Vec<ProcessId>> = (part == Part::Parent).then(|| vec![root]);
        loop {
            let mut look = match part {
                Part::Parent => vec![root],
                Part::Tree | Part::Children => target.family().look()?,
            };
            if !look.contains(&root) {
                return Err(FaultError::Gone);
            }
            if part == Part::Children {
                look.retain(|&id| id != root);
            }
            let known: BTreeSet<ProcessId> = self.held.iter().map(PidFd::id).collect();
            let fresh: Vec<ProcessId> = look.iter().copied().filter(|id| !known.contains(id)).collect();
            if fresh.is_empty() && before.as_ref() == Some(&look) {
                break;
            }
            if !fresh.is_empty() {
                extend(fresh.clone())?;
            }
            for id in fresh {
                self.stop_one(id, deadline)?;
            }
            if Instant::now() >= deadline {
                return Err(FaultError::NotConfirmed(
                    "the tree did not hold still: two looks at it never agreed".to_owned(),
                ));
            }
            before = Some(look);
        }
        // A child that died meanwhile was in a look and is no part of what stands.
        self.held.retain(|fd| !fd.has_ended());
        if self.held.is_empty() {
            return Err(match part {
                Part::Children => FaultError::NotOffered("the owner has no child process".to_owned()),
                _ => FaultError::Gone,
            });
        }
        // Once more, all at one time: a SIGCONT from outside may have hit the first meanwhile.
        self.threads = 0;
        for fd in &self.held {
            let all = threads::of(fd.id().pid);
            if let Some(thread) = all.iter().find(|thread| !thread.is_over() && !thread.is_stopped()) {
                return Err(FaultError::NotConfirmed(format!(
                    "thread {} of process {} runs again; something else sent SIGCONT",
                    thread.tid,
                    fd.id().pid
                )));
            }
            self.threads += u32::try_from(all.iter().filter(|thread| thread.is_stopped()).count()).unwrap_or(u32::MAX);
        }
        self.cpu = CpuProbe::open(self.held.iter().map(|fd| fd.id().pid)).map(|probe| {
            let times = probe.read();
            (probe, times)
        });
        Ok(())
    }

    pub(super) fn processes(&self) -> Vec<ProcessId> {
        self.held.iter().map(PidFd::id).collect()
    }

    pub(super) fn threads(&self) -> u32 {
        self.threads
    }

    /// Whether no thread has run, those that were killed where they stood aside; `None` where the kernel keeps none.
    pub(super) fn cpu_flat(&self) -> Option<bool> {
        self.cpu.as_ref().map(|(probe, before)| probe.is_flat(before))
    }

    /// Lets all go on, children first.
    pub(super) fn resume(&self) -> io::Result<()> {
        let mut result = Ok(());
        for fd in self.held.iter().rev() {
            // One that refuses must not keep the others stopped.
            if let Err(error) = fd.signal(Signal::CONT) {
                result = Err(error);
            }
            reach(torture_points::UNDOING);
        }
        result
    }

    /// Waits until no thread is stopped any more; the first that stays so.
    pub(super) fn confirm_resumed(&self) -> Result<(), String> {
        let deadline = Instant::now() + CONFIRMATION;
        let mut waits = Waits::default();
        for fd in self.held.iter().rev() {
            loop {
                let pid = fd.id().pid;
                let stopped = threads::tids(pid)
                    .into_iter()
                    .find(|&tid| threads::state(pid, tid) == Some('T'));
                let Some(tid) = stopped else { break };
                if fd.has_ended() {
                    break;
                }
                if Instant::now() >= deadline {
                    return Err(format!(
                        "thread {tid} of process {pid} is stopped again; something else sends it SIGSTOP"
                    ));
                }
                waits.wait();
            }
        }
        Ok(())
    }

    fn stop_one(&mut self, id: ProcessId, deadline: Instant) -> Result<(), FaultError> {
        let fd = match PidFd::open(id) {
            Ok(fd) => fd,
            // It ended since the look; the next look decides.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        // Held first, so that an error below still lets it go on.
        self.held.push(fd);
        let Some(fd) = self.held.last() else { return Ok(()) };
        if !fd.signal(Signal::STOP)? {
            return Ok(());
        }
        reach(torture_points::APPLYING);
        let mut waits = Waits::default();
        loop {
            let threads = threads::of(id.pid);
            let moving = threads.iter().find(|thread| !thread.is_over() && !thread.is_stopped());
            let Some(thread) = moving else { return Ok(()) };
            if Instant::now() >= deadline {
                return Err(FaultError::NotConfirmed(format!(
                    "thread {} of process {} is in state {} and not stopped",
                    thread.tid, id.pid, thread.state
                )));
            }
            waits.wait();
        }
    }
}

/// Short waits first, then longer ones: most confirmations are there at once, and a busy machine
/// needs the CPU for what is waited for.
#[derive(Debug, Default)]
pub(super) struct Waits(u32);

impl Waits {
    pub(super) fn wait(&mut self) {
        self.0 += 1;
        match self.0 {
            0..=3 => thread::yield_now(),
            4..=40 => thread::sleep(Duration::from_micros(30)),
            _ => thread::sleep(Duration::from_micros(300)),
        }
    }
}
