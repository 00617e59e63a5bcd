//! SIGKILL of a whole tree.

use crate::launch::Target;
use crate::report::Report;
use crate::warden::Warden;
use crate::{FaultError, FaultSink};
use leaseproof_model::event::{FaultKind, FaultPhase};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::ProcessId;
use leaseproof_proc::clock::boot_now;
use std::time::Duration;

/// How long the tree may take to die.
const DYING: Duration = Duration::from_secs(5);

/// Kills the tree, stopped first so that none sees another die, and waits until the kernel says
/// that all are dead. There is nothing to undo, so nothing to guard.
///
/// # Errors
/// When something did not die.
pub fn kill_tree(warden: &Warden, target: &Target, sink: &FaultSink) -> Result<(Moment, Vec<ProcessId>), FaultError> {
    let mut report = Report::new(sink, warden.next_fault(), FaultKind::KillTree, "sigkill");
    let before = boot_now();
    report.emit(FaultPhase::Asked, Moment::exact(before));
    let killed = target.family().kill(DYING);
    let at = Moment::between(before, boot_now());
    match killed {
        Ok(killed) if killed.is_empty() => {
            report.note("it had ended before");
            report.emit(FaultPhase::Failed, at);
            Err(FaultError::Gone)
        }
        Ok(killed) => {
            report.processes(&killed);
            report.known().looks_agree = Some(true);
            report.emit(FaultPhase::Confirmed, at);
            Ok((at, killed))
        }
        Err(error) => {
            report.note(error.to_string());
            report.emit(FaultPhase::Failed, at);
            Err(error.into())
        }
    }
}
