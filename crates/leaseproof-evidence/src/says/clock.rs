//! What is said about a clock.

use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// What is said about a clock.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockSays {
    /// It was stepped; the stamp is after the step.
    Stepped {
        /// By this many nanoseconds (forward is positive), where the line says.
        by: Option<i64>,
    },
    /// A daemon woke at another time than it expected. *Not* a proof of a step: a daemon that stood still says the same.
    JumpClaimed {
        /// Whether it claims a jump forward.
        forward: bool,
    },
    /// It will be corrected by this much, slowly or by a step.
    Correction {
        /// By this many nanoseconds (positive: the clock was behind).
        by: i64,
    },
    /// Its offset from true time, estimated.
    Offset {
        /// This many nanoseconds ahead of true time (negative: behind).
        ahead: i64,
        /// By at most this much wrong, where the source says.
        error: Option<Duration>,
    },
    /// It follows a source.
    Synchronised,
    /// It follows no source.
    NotSynchronised {
        /// In its words.
        why: Arc<str>,
    },
    /// Two clocks in one file went apart here: a step or a suspension, by the file's own stamps.
    ClocksParted {
        /// The wall clock gained this many nanoseconds on the other (negative: lost).
        by: i64,
        /// By at most this much wrong.
        error: Duration,
    },
}

impl ClockSays {
    /// A short name for counts.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Stepped { .. } => "clock stepped",
            Self::JumpClaimed { .. } => "clock jump claimed",
            Self::Correction { .. } => "clock correction",
            Self::Offset { .. } => "clock offset",
            Self::Synchronised => "clock synchronised",
            Self::NotSynchronised { .. } => "clock not synchronised",
            Self::ClocksParted { .. } => "clocks parted",
        }
    }
}
