//! A stop by the freezer of control groups, version 2.
//!
//! It is in force when `cgroup.events` says so. The state letters say nothing here: a frozen thread
//! looks like a sleeper. The kernel's `frozen_usec` is an independent witness of its length.

use super::CONFIRMATION;
use super::stop::Waits;
use crate::FaultError;
use crate::launch::Target;
use crate::torture_points::{self, reach};
use leaseproof_model::name::ProcessId;
use leaseproof_proc::cgroup::Cgroup;
use leaseproof_proc::cpu::{CpuProbe, CpuTimes};
use leaseproof_proc::threads;
use std::io;
use std::time::{Duration, Instant};

/// A control group that stands.
#[derive(Debug)]
pub(super) struct Frozen {
    group: Cgroup,
    processes: Vec<ProcessId>,
    threads: u32,
    frozen_before: Option<Duration>,
    cpu: Option<(CpuProbe, CpuTimes)>,
}

impl Frozen {
    pub(super) fn prepare(group: &Cgroup) -> Self {
        Self {
            group: group.clone(),
            processes: Vec::new(),
            threads: 0,
            frozen_before: group.frozen_for(),
            cpu: None,
        }
    }

    /// Freezes, and waits for the kernel's word.
    pub(super) fn freeze(&mut self) -> Result<(), FaultError> {
        self.group.freeze()?;
        reach(torture_points::APPLYING);
        self.wait_until(true).map_err(FaultError::NotConfirmed)
    }

    /// Looks at what stands: two looks at the tree agree, and all of it is in the group.
    pub(super) fn examine(&mut self, target: &Target) -> Result<(), FaultError> {
        let first = target.family().look()?;
        let second = target.family().look()?;
        if !second.contains(&target.root()) {
            return Err(FaultError::Gone);
        }
        let members = self.group.members();
        let outside: Vec<String> = second
            .iter()
            .filter(|id| !members.contains(&id.pid))
            .map(|id| id.pid.to_string())
            .collect();
        if !outside.is_empty() {
            return Err(FaultError::NotConfirmed(format!(
                "these processes of the tree left its control group and still run: {}",
                outside.join(", ")
            )));
        }
        if first != second {
            return Err(FaultError::NotConfirmed(
                "two looks at the frozen tree did not agree".to_owned(),
            ));
        }
        self.processes = second;
        // "Frozen" is announced a moment before the last thread gives up the CPU.
        let deadline = Instant::now() + CONFIRMATION;
        let mut waits = Waits::default();
        self.threads = 0;
        for id in &self.processes {
            loop {
                let all = threads::of(id.pid);
                let moving = all
                    .iter()
                    .find(|thread| !thread.is_over() && thread.off_cpu == Some(false));
                let Some(thread) = moving else {
                    self.threads += u32::try_from(all.iter().filter(|thread| !thread.is_over()).count()).unwrap_or(0);
                    break;
                };
                if Instant::now() >= deadline {
                    return Err(FaultError::NotConfirmed(format!(
                        "thread {} of process {} is on the CPU though its control group is frozen",
                        thread.tid, id.pid
                    )));
                }
                waits.wait();
            }
        }
        self.cpu = CpuProbe::open(self.processes.iter().map(|id| id.pid)).map(|probe| {
            let times = probe.read();
            (probe, times)
        });
        Ok(())
    }

    pub(super) fn processes(&self) -> Vec<ProcessId> {
        self.processes.clone()
    }

    pub(super) fn threads(&self) -> u32 {
        self.threads
    }

    pub(super) fn cpu_flat(&self) -> Option<bool> {
        self.cpu.as_ref().map(|(probe, before)| probe.is_flat(before))
    }

    pub(super) fn thaw(&self) -> io::Result<()> {
        let thawed = self.group.thaw();
        reach(torture_points::UNDOING);
        thawed
    }

    pub(super) fn confirm_thawed(&self) -> Result<(), String> {
        self.wait_until(false)
    }

    /// The processes that stand still after the thaw: a stop that something else sent meanwhile
    /// shows only now.
    pub(super) fn stopped_by_others(&self) -> Vec<u32> {
        let stands = |pid: &u32| threads::state(*pid, *pid) == Some('T');
        self.processes.iter().map(|id| id.pid).filter(stands).collect()
    }

    /// The kernel's measure of this pause, once it is over.
    pub(super) fn kernel_witness(&self) -> Option<Duration> {
        self.group.frozen_for()?.checked_sub(self.frozen_before?)
    }

    fn wait_until(&self, frozen: bool) -> Result<(), String> {
        let deadline = Instant::now() + CONFIRMATION;
        let mut waits = Waits::default();
        loop {
            match self.group.is_frozen() {
                Ok(now) if now == frozen => return Ok(()),
                // A group that is gone holds nobody.
                Err(_) if !frozen && !self.group.path().exists() => return Ok(()),
                Err(error) => return Err(format!("{}: {error}", self.group.path().display())),
                Ok(_) => {}
            }
            if Instant::now() >= deadline {
                return Err(format!(
                    "{} did not say `frozen {}` in time",
                    self.group.path().join("cgroup.events").display(),
                    u8::from(frozen)
                ));
            }
            waits.wait();
        }
    }
}
