//! What a source watched.

use super::Source;
use crate::clock::BootNanos;
use crate::name::OwnerName;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What a source watched, and how well.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Coverage {
    /// Which source.
    pub source: Source,
    /// The owner, for sources that have one each.
    pub owner: Option<OwnerName>,
    /// From when.
    pub from: BootNanos,
    /// Until when.
    pub until: BootNanos,
    /// The longest gap between two looks (zero for sources that miss nothing).
    pub longest_gap: Duration,
    /// How much was dropped: bytes of an owner's output, writes at the witness, events of other sources.
    /// Anything but zero ends the coverage.
    pub dropped: u64,
}
