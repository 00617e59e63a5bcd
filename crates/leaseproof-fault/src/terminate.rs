//! SIGTERM to the root process: the request to release.

use crate::launch::Target;
use crate::report::Report;
use crate::warden::Warden;
use crate::{FaultError, FaultSink};
use leaseproof_model::event::{FaultKind, FaultPhase};
use leaseproof_model::moment::Moment;
use leaseproof_proc::clock::boot_now;
use rustix::process::Signal;

/// Sends SIGTERM to the root process. *Confirmed* says that the kernel took it.
///
/// # Errors
/// When the process is gone.
pub fn terminate(warden: &Warden, target: &Target, sink: &FaultSink) -> Result<Moment, FaultError> {
    let mut report = Report::new(sink, warden.next_fault(), FaultKind::Terminate, "sigterm");
    report.processes(&[target.root()]);
    let before = boot_now();
    report.emit(FaultPhase::Asked, Moment::exact(before));
    let sent = if target.pidfd().has_ended() {
        Ok(false)
    } else {
        target.pidfd().signal(Signal::TERM)
    };
    let at = Moment::between(before, boot_now());
    let failure = match sent {
        Ok(true) => {
            report.emit(FaultPhase::Confirmed, at);
            return Ok(at);
        }
        Ok(false) => FaultError::Gone,
        Err(error) => error.into(),
    };
    report.note(failure.to_string());
    report.emit(FaultPhase::Failed, at);
    Err(failure)
}
