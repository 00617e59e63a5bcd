//! The whole tree, paused.

use super::{Method, Part, Paused};
use crate::launch::Target;
use crate::warden::Warden;
use crate::{FaultError, FaultSink};
use std::time::Duration;

/// Pauses every process of the tree. `hold` is the hard deadline: the warden ends the pause then,
/// whatever becomes of the caller.
///
/// # Errors
/// When it could not be applied and confirmed; nothing is left stopped then.
pub fn pause_tree(
    warden: &Warden,
    target: &Target,
    method: Method,
    hold: Duration,
    sink: &FaultSink,
) -> Result<Paused, FaultError> {
    match method {
        Method::Sigstop => Paused::by_stop(warden, target, Part::Tree, hold, sink),
        Method::CgroupV2 => Paused::by_freeze(warden, target, hold, sink),
    }
}
