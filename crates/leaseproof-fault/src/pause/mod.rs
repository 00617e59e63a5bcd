//! Pauses: a process tree, its root or its children stopped, confirmed by the kernel, and let go on
//! by a guard.
//!
//! Order, always: *asked* is reported, the warden is told, then the first system call is made. At
//! the end: let go on, confirm, report, tell the warden.

mod freeze;
mod guard;
mod stop;

pub mod pause_child;
pub mod pause_parent;
pub mod pause_tree;

pub use guard::{Paused, Thawed};

use crate::launch;
use leaseproof_model::event::FaultKind;
use std::fmt;
use std::time::Duration;

/// How long the kernel may take to confirm, by far more than it ever should: a thread in an
/// uninterruptible wait is what takes long.
pub(crate) const CONFIRMATION: Duration = Duration::from_secs(3);

/// By what a tree is paused.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Method {
    /// SIGSTOP of every process through its pidfd.
    Sigstop,
    /// The freezer of control groups, version 2. The owner must have been started with one.
    CgroupV2,
}

impl Method {
    /// As it is recorded.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sigstop => "sigstop",
            Self::CgroupV2 => "cgroup-v2",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Whether this host offers a method.
///
/// # Errors
/// A reason for people.
pub fn availability(method: Method) -> Result<(), String> {
    match method {
        Method::Sigstop => Ok(()),
        Method::CgroupV2 => launch::cgroups_available().map(drop),
    }
}

/// Which part of a tree is stopped.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Tree,
    Parent,
    Children,
}

impl Part {
    fn kind(self) -> FaultKind {
        match self {
            Self::Tree => FaultKind::PauseTree,
            Self::Parent => FaultKind::PauseParent,
            Self::Children => FaultKind::PauseChild,
        }
    }
}
