//! What the user knows about the files.

use crate::patterns::Patterns;
use jiff::tz::TimeZone;
use std::time::Duration;

/// What the user knows about the files.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The key of the lease. With it, captures are searched for it and only its lines are read.
    pub key: Option<String>,
    /// The zone of stamps that have none.
    pub zone: Option<TimeZone>,
    /// The year of stamps that have none.
    pub year: Option<i16>,
    /// What is different for some files.
    pub files: Vec<FileRule>,
    /// Expressions for lines, out of the plan.
    pub patterns: Patterns,
    /// Offsets of hosts' clocks that the user knows.
    pub offsets: Vec<GivenOffset>,
    /// How much is kept.
    pub limits: Limits,
}

/// What the user knows about some files.
#[derive(Clone, Debug, Default)]
pub struct FileRule {
    /// The files: those whose name ends with this.
    pub name: String,
    /// The zone of their stamps.
    pub zone: Option<TimeZone>,
    /// The year of their stamps.
    pub year: Option<i16>,
    /// The host that they are from.
    pub host: Option<String>,
    /// When their process began, nanoseconds since 1970: the anchor of files that only count from there.
    pub began: Option<i64>,
}

/// `host=+12ms±3ms`: the host's clock is ahead of true time by 12 ms, wrong by at most 3 ms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GivenOffset {
    /// The host, or a file's name.
    pub host: String,
    /// Nanoseconds ahead.
    pub ahead: i64,
    /// At most this much wrong.
    pub error: Duration,
}

/// How much is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Records of one file and kind; further ones are counted, and the longest of them kept.
    pub records_a_kind: usize,
    /// Bytes of one line; the rest is cut.
    pub line: usize,
    /// Examples of lines that nothing was made of.
    pub examples: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            records_a_kind: 20_000,
            line: 1 << 20,
            examples: 3,
        }
    }
}
