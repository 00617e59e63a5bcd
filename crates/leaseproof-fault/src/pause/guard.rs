//! The guard of a pause.

use super::freeze::Frozen;
use super::stop::Stopped;
use super::{Method, Part};
use crate::launch::Target;
use crate::report::Report;
use crate::torture_points::{self, reach};
use crate::warden::Warden;
use crate::warden::protocol::Undo;
use crate::{FaultError, FaultSink};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{FaultKind, FaultPhase};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::ProcessId;
use leaseproof_proc::clock::boot_now;
use std::io;
use std::time::Duration;

/// A pause in force. Its end is [`Paused::thaw`]; dropping it thaws too.
#[must_use = "a pause that is dropped is over"]
#[derive(Debug)]
pub struct Paused {
    means: Means,
    warden: Warden,
    report: Report,
    fault: u64,
    confirmed: Moment,
    over: bool,
}

#[derive(Debug)]
enum Means {
    Stop(Stopped),
    Freeze(Frozen),
}

/// What a pause was, once it is over.
#[derive(Clone, PartialEq, Debug)]
pub struct Thawed {
    /// The fault's number.
    pub fault: u64,
    /// When all were stopped, by the kernel's word.
    pub confirmed: Moment,
    /// When all went on, by the kernel's word.
    pub undone: Moment,
    /// Whether the CPU time of every thread stood still; `None` where the kernel keeps none.
    pub cpu_flat: Option<bool>,
    /// The kernel's own measure of the pause, where there is one.
    pub kernel_witness: Option<Duration>,
    /// Whether the warden ended it: at its hard deadline, or when it was asked to undo all.
    pub by_warden: bool,
    /// Anything that people should read.
    pub note: Option<String>,
}

impl Paused {
    pub(super) fn by_stop(
        warden: &Warden,
        target: &Target,
        part: Part,
        hold: Duration,
        sink: &FaultSink,
    ) -> Result<Self, FaultError> {
        let fault = warden.next_fault();
        let first = if part == Part::Children {
            Vec::new()
        } else {
            vec![target.root()]
        };
        let undo = Undo::Resume {
            root: target.root(),
            processes: first,
            only: part == Part::Parent,
        };
        let mut paused = Self::begin(
            Means::Stop(Stopped::default()),
            (warden, fault, part.kind(), Method::Sigstop, sink),
        );
        let from = boot_now();
        paused.attempt(from.plus(hold), |paused| {
            paused.warden.register(fault, hold, undo)?;
            let Means::Stop(stopped) = &mut paused.means else {
                return Ok(from);
            };
            let before = boot_now();
            let warden = &paused.warden;
            stopped.stop(target, part, |fresh| Ok(warden.extend(fault, fresh)?))?;
            Ok(before)
        })?;
        Ok(paused)
    }

    pub(super) fn by_freeze(
        warden: &Warden,
        target: &Target,
        hold: Duration,
        sink: &FaultSink,
    ) -> Result<Self, FaultError> {
        let group = target
            .cgroup()
            .ok_or_else(|| FaultError::NotOffered("the owner was not started in a control group".to_owned()))?;
        let fault = warden.next_fault();
        let mut paused = Self::begin(
            Means::Freeze(Frozen::prepare(group)),
            (warden, fault, FaultKind::PauseTree, Method::CgroupV2, sink),
        );
        let undo = Undo::Thaw {
            cgroup: group.path().to_owned(),
        };
        let from = boot_now();
        paused.attempt(from.plus(hold), |paused| {
            paused.warden.register(fault, hold, undo)?;
            let Means::Freeze(frozen) = &mut paused.means else {
                return Ok(from);
            };
            let before = boot_now();
            frozen.freeze()?;
            frozen.examine(target)?;
            Ok(before)
        })?;
        Ok(paused)
    }

    /// The fault's number.
    #[must_use]
    pub fn fault(&self) -> u64 {
        self.fault
    }

    /// When it came into force: from before the first system call to the kernel's last word.
    #[must_use]
    pub fn confirmed(&self) -> Moment {
        self.confirmed
    }

    /// The processes that stand.
    #[must_use]
    pub fn processes(&self) -> Vec<ProcessId> {
        match &self.means {
            Means::Stop(stopped) => stopped.processes(),
            Means::Freeze(frozen) => frozen.processes(),
        }
    }

    /// Reports that the pause was due to end at `at`: the event that ends it was received, or its
    /// time was over.
    pub fn due(&mut self, at: Moment) {
        self.report.emit(FaultPhase::Due, at);
    }

    /// Ends the pause and waits for the kernel's word.
    ///
    /// # Errors
    /// When the kernel did not confirm; it was still asked to, and the warden goes on asking.
    pub fn thaw(mut self) -> Result<Thawed, FaultError> {
        self.end()
    }

    fn begin(means: Means, (warden, fault, kind, method, sink): (&Warden, u64, FaultKind, Method, &FaultSink)) -> Self {
        let mut report = Report::new(sink, fault, kind, method.as_str());
        let now = Moment::exact(boot_now());
        report.emit(FaultPhase::Asked, now);
        Self {
            means,
            warden: warden.clone(),
            report,
            fault,
            confirmed: now,
            over: false,
        }
    }

    /// Applies and confirms, or takes back and reports the failure.
    fn attempt(
        &mut self,
        deadline: BootNanos,
        apply: impl FnOnce(&mut Self) -> Result<BootNanos, FaultError>,
    ) -> Result<(), FaultError> {
        let applied = apply(self).and_then(|before| {
            if boot_now() < deadline {
                return Ok(before);
            }
            // The warden may have let go on what was stopped first, while we stopped the rest.
            Err(FaultError::NotConfirmed(
                "its hard deadline passed while it was being applied".to_owned(),
            ))
        });
        match applied {
            Ok(before) => {
                self.confirmed = Moment::between(before, boot_now());
                let processes = self.processes();
                let threads = self.threads();
                self.report.processes(&processes);
                self.report.known().threads = Some((threads, threads));
                self.report.known().looks_agree = Some(true);
                self.report.emit(FaultPhase::Confirmed, self.confirmed);
                reach(torture_points::APPLIED);
                Ok(())
            }
            Err(error) => {
                let before = boot_now();
                let _ = self.let_go();
                let _ = self.confirm_gone();
                self.over = true;
                self.report.note(error.to_string());
                self.report
                    .emit(FaultPhase::Failed, Moment::between(before, boot_now()));
                // One that it never learnt of clears as well.
                let _ = self.warden.clear(self.fault);
                Err(error)
            }
        }
    }

    fn end(&mut self) -> Result<Thawed, FaultError> {
        self.over = true;
        reach(torture_points::UNDUE);
        let cpu_flat = match &self.means {
            Means::Stop(stopped) => stopped.cpu_flat(),
            Means::Freeze(frozen) => frozen.cpu_flat(),
        };
        let before = boot_now();
        let let_go = self.let_go();
        let confirmed = self.confirm_gone();
        let undone = Moment::between(before, boot_now());
        reach(torture_points::UNDONE);
        if let Err(why) = let_go.map_err(|error| error.to_string()).and(confirmed) {
            self.report.note(why.clone());
            self.report.emit(FaultPhase::Failed, undone);
            // Not cleared: the warden goes on trying from the deadline on.
            return Err(FaultError::NotConfirmed(why));
        }
        let kernel_witness = match &self.means {
            Means::Stop(_) => None,
            Means::Freeze(frozen) => {
                for pid in frozen.stopped_by_others() {
                    self.report
                        .note(format!("process {pid} is stopped: something else sent it SIGSTOP"));
                }
                frozen.kernel_witness()
            }
        };
        let fired = self.report.clear(&self.warden, "pause");
        let undone = fired.unwrap_or(undone);
        if cpu_flat == Some(false) {
            self.report.note("threads ran or ended before the pause was over");
        }
        self.report.known().cpu_flat = cpu_flat;
        self.report.known().kernel_witness = kernel_witness;
        self.report.emit(FaultPhase::Undone, undone);
        Ok(Thawed {
            fault: self.fault,
            confirmed: self.confirmed,
            undone,
            cpu_flat,
            kernel_witness,
            by_warden: fired.is_some(),
            note: self.report.known().note.clone(),
        })
    }

    fn threads(&self) -> u32 {
        match &self.means {
            Means::Stop(stopped) => stopped.threads(),
            Means::Freeze(frozen) => frozen.threads(),
        }
    }

    fn let_go(&self) -> io::Result<()> {
        match &self.means {
            Means::Stop(stopped) => stopped.resume(),
            Means::Freeze(frozen) => frozen.thaw(),
        }
    }

    fn confirm_gone(&self) -> Result<(), String> {
        match &self.means {
            Means::Stop(stopped) => stopped.confirm_resumed(),
            Means::Freeze(frozen) => frozen.confirm_thawed(),
        }
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        if !self.over {
            // Reported through the sink.
            let _ = self.end();
        }
    }
}
