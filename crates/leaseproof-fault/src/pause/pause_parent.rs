//! Only the root process, paused: its children run on.

use super::{Part, Paused};
use crate::launch::Target;
use crate::warden::Warden;
use crate::{FaultError, FaultSink};
use std::time::Duration;

/// Pauses the root process alone, always by SIGSTOP. `hold` is the hard deadline.
///
/// # Errors
/// When it could not be applied and confirmed; nothing is left stopped then.
pub fn pause_parent(warden: &Warden, target: &Target, hold: Duration, sink: &FaultSink) -> Result<Paused, FaultError> {
    Paused::by_stop(warden, target, Part::Parent, hold, sink)
}
