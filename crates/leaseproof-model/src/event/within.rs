//! What passes inside an owner's tree while a part of it stands still.

use crate::name::ProcessId;
use serde::{Deserialize, Serialize};

/// A connection from a process of an owner's tree that runs to one that is stopped, as the kernel has it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Within {
    /// The process that runs.
    pub from: ProcessId,
    /// The one that stands still.
    pub to: ProcessId,
    /// The connection's two ends: `127.0.0.1:40712 127.0.0.1:8500`.
    pub connection: String,
    /// What.
    pub seen: WithinSeen,
}

/// What was seen of it.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WithinSeen {
    /// It was there at the first look.
    Stood,
    /// It was opened.
    Opened,
    /// So many bytes of a request lie there, which the one that stands still does not read.
    Unread(u32),
    /// It is there no more.
    Gone,
}
