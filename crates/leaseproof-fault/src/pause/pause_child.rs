//! All but the root process, paused: the parent runs on.

use super::{Part, Paused};
use crate::launch::Target;
use crate::warden::Warden;
use crate::{FaultError, FaultSink};
use std::time::Duration;

/// Pauses every process of the tree but its root, always by SIGSTOP. `hold` is the hard deadline.
///
/// # Errors
/// [`FaultError::NotOffered`] when there is no child; else when it could not be applied and
/// confirmed. Nothing is left stopped then.
pub fn pause_child(warden: &Warden, target: &Target, hold: Duration, sink: &FaultSink) -> Result<Paused, FaultError> {
    Paused::by_stop(warden, target, Part::Children, hold, sink)
}
