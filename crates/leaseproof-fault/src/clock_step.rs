//! A step of the owner's wall clock, through the shim.

use crate::launch::Target;
use crate::report::Report;
use crate::shim::ShimFile;
use crate::torture_points::{self, reach};
use crate::warden::Warden;
use crate::warden::protocol::Undo;
use crate::{FaultError, FaultSink};
use leaseproof_model::event::{FaultKind, FaultPhase};
use leaseproof_model::moment::Moment;
use leaseproof_proc::clock::boot_now;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a process may take to load its libraries.
const LOADING: Duration = Duration::from_secs(1);

/// A stepped clock. Its end is [`Stepped::undo`]; dropping it undoes too.
#[must_use = "a step that is dropped is undone"]
#[derive(Debug)]
pub struct Stepped {
    shim: Arc<ShimFile>,
    warden: Warden,
    report: Report,
    fault: u64,
    confirmed: Moment,
    over: bool,
}

/// Steps the wall clock of the tree by `offset_ns`, at once for all its processes. `hold` is the
/// hard deadline.
///
/// # Errors
/// [`FaultError::NotOffered`] when the shim isn't mapped in every process of the tree (a static
/// program doesn't load it).
pub fn clock_step(
    warden: &Warden,
    target: &Target,
    shim: &Arc<ShimFile>,
    offset_ns: i64,
    hold: Duration,
    sink: &FaultSink,
) -> Result<Stepped, FaultError> {
    let fault = warden.next_fault();
    let mut report = Report::new(sink, fault, FaultKind::ClockStep, "shim");
    report.note(format!("offset_ns={offset_ns}"));
    report.emit(FaultPhase::Asked, Moment::exact(boot_now()));
    let applied = apply(warden, target, shim, offset_ns, fault, hold);
    match applied {
        Ok(confirmed) => {
            report.processes(&target.family().look().unwrap_or_default());
            report.emit(FaultPhase::Confirmed, confirmed);
            reach(torture_points::APPLIED);
            Ok(Stepped {
                shim: Arc::clone(shim),
                warden: warden.clone(),
                report,
                fault,
                confirmed,
                over: false,
            })
        }
        Err(error) => {
            shim.step(0);
            report.note(error.to_string());
            report.emit(FaultPhase::Failed, Moment::exact(boot_now()));
            let _ = warden.clear(fault);
            Err(error)
        }
    }
}

fn apply(
    warden: &Warden,
    target: &Target,
    shim: &Arc<ShimFile>,
    offset_ns: i64,
    fault: u64,
    hold: Duration,
) -> Result<Moment, FaultError> {
    if target.pidfd().has_ended() {
        return Err(FaultError::Gone);
    }
    // A process that begins just now has not loaded its libraries yet.
    let patience = Instant::now() + LOADING;
    while !shim.mapped_in(target.family()) {
        if Instant::now() < patience && !target.pidfd().wait_ended(Duration::from_millis(10)) {
            continue;
        }
        return Err(FaultError::NotOffered(
            "the clock shim is not loaded in every process of the owner (is it linked statically?)".to_owned(),
        ));
    }
    let undo = Undo::ResetClock {
        page: shim.page_file().to_owned(),
    };
    warden.register(fault, hold, undo)?;
    let before = boot_now();
    shim.step(offset_ns);
    Ok(Moment::between(before, boot_now()))
}

impl Stepped {
    /// The fault's number.
    #[must_use]
    pub fn fault(&self) -> u64 {
        self.fault
    }

    /// When it came into force.
    #[must_use]
    pub fn confirmed(&self) -> Moment {
        self.confirmed
    }

    /// Reports that the step was due to end at `at`.
    pub fn due(&mut self, at: Moment) {
        self.report.emit(FaultPhase::Due, at);
    }

    /// Steps the clock back. Returns when, and whether the warden had done it before.
    pub fn undo(mut self) -> (Moment, bool) {
        self.end()
    }

    fn end(&mut self) -> (Moment, bool) {
        self.over = true;
        reach(torture_points::UNDUE);
        let before = boot_now();
        self.shim.step(0);
        let undone = Moment::between(before, boot_now());
        reach(torture_points::UNDONE);
        let fired = self.report.clear(&self.warden, "step");
        let undone = fired.unwrap_or(undone);
        self.report.emit(FaultPhase::Undone, undone);
        (undone, fired.is_some())
    }
}

impl Drop for Stepped {
    fn drop(&mut self) {
        if !self.over {
            self.end();
        }
    }
}
