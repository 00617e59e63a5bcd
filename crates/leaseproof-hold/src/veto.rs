//! `hold`'s word against the fuse: the guardian is stopped, `hold` is not, and it has renewed the lease.
//!
//! The guardian can't move its fuse on then, and is killed by it; that must not end a command whose lease is valid.
//! So `hold` opens the fuse's pipes too, right before: they stay open when the guardian dies, and nobody is told.

use crate::timing::Timing;
use leaseproof_model::clock::BootNanos;
use std::fs::{File, OpenOptions};

/// See the module.
#[derive(Debug)]
pub struct Veto {
    guardian: u32,
    /// The numbers of the pipes' descriptors in the guardian.
    pipes: Vec<i32>,
    /// The validity that the guardian has seen last.
    seen: BootNanos,
    held: Vec<File>,
}

impl Veto {
    /// Against the fuse of this guardian, which has seen this validity.
    #[must_use]
    pub fn new(guardian: u32, seen: BootNanos) -> Self {
        Self {
            guardian,
            pipes: Vec::new(),
            seen,
            held: Vec::new(),
        }
    }

    /// The fuse has one more pipe.
    pub fn pipe(&mut self, number: i32) {
        self.pipes.push(number);
    }

    /// The guardian has seen this validity: it runs, and its fuse is its own business.
    pub fn seen(&mut self, until: BootNanos) {
        self.seen = until;
        self.held.clear();
    }

    /// Whether it is in force.
    #[must_use]
    pub fn is_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// Puts it in force when that is due: the lease is valid until `until`, and the guardian has not seen it. When to
    /// look again, if it has to be before then.
    pub fn look(&mut self, now: BootNanos, until: BootNanos, timing: &Timing) -> Option<BootNanos> {
        if until <= self.seen || self.is_held() {
            return None;
        }
        let due = timing.kill_at(self.seen).minus(timing.slack);
        if now < due {
            return Some(due);
        }
        for pipe in &self.pipes {
            // Both ways, so that neither end is ever without a partner. One that is gone needs none.
            let path = format!("/proc/{}/fd/{pipe}", self.guardian);
            self.held.extend(OpenOptions::new().read(true).write(true).open(path));
        }
        None
    }

    /// Takes it back: the pipes are another's now, or nobody's.
    pub fn drop_it(&mut self) {
        self.held.clear();
        self.pipes.clear();
    }
}
