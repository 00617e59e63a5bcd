//! Files and hosts laid on one timeline, with what is not known about it.

mod align;
mod timeline;

pub(crate) use align::align;
pub use timeline::Timeline;

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
    /// By anchors of another file that has the same clock only by appearance: nothing in the texts says so.
    Assumed {
        /// At most this much wrong, if it is the same clock.
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

/// The year of a moment, in UTC.
pub(crate) fn year_of(wall: i64) -> Option<i16> {
    let at = jiff::Timestamp::from_nanosecond(i128::from(wall)).ok()?;
    Some(at.to_zoned_datetime(jiff::tz::TimeZone::UTC).year())
}
