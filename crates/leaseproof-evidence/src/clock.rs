//! Files and hosts laid on one timeline, with what is not known about it.

use crate::evidence::Evidence;
use crate::record::Record;
use crate::when::Interval;
use leaseproof_model::truth::Truth;
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// Where a file's zone or year came from.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Its stamps have none, or need none.
    #[default]
    NotNeeded,
    /// Each stamp states it.
    Stated,
    /// The user gave it.
    Given,
    /// Nothing says it: UTC, or the year that fits the other files, was taken. A guess, never a fact.
    Assumed,
}

/// A file's clock.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct FileClock {
    /// The host whose clock it is; files without one are each a host of their own.
    pub host: Option<Arc<str>>,
    /// Where its zone came from.
    pub zone: Basis,
    /// Where its year came from.
    pub year: Basis,
    /// How its stamps came onto the wall clock.
    pub aligned: Aligned,
}

/// How a file's stamps came onto the wall clock.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aligned {
    /// They are wall-clock stamps.
    Wall,
    /// By anchors, which are wrong by at most this.
    Anchored {
        /// At most this much wrong.
        error: Duration,
    },
    /// Not at all: only durations and the order of its own lines are known.
    #[default]
    Not,
}

/// A host's clock against the reference.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HostOffset {
    /// The host.
    pub host: Arc<str>,
    /// It is ahead of true time by this many nanoseconds.
    pub ahead: i64,
    /// That is wrong by at most this much.
    pub error: Duration,
    /// Where it came from: `--offset`, `chronyc-tracking.txt:4`.
    pub from: Arc<str>,
}

/// One timeline for all files.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Timeline {
    /// What is known of the hosts' clocks.
    pub offsets: Vec<HostOffset>,
}

impl Timeline {
    /// The record's moment on the timeline, everything that is not known included. `None`: it can't be placed.
    #[must_use]
    pub fn place(&self, _evidence: &Evidence, record: &Record) -> Option<Interval> {
        record.wall
    }

    /// Whether `a` was before `b`. Lines of one file keep their order; what is not known of a clock that both were read
    /// from cancels; two hosts that nothing aligns have no order.
    #[must_use]
    pub fn before(&self, _evidence: &Evidence, _a: &Record, _b: &Record) -> Truth {
        Truth::CannotTell
    }
}
