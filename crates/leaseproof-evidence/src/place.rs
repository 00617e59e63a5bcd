//! Where a line is.

use serde::Serialize;

/// The number of a file in [`Evidence::files`](crate::evidence::Evidence::files).
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(transparent)]
pub struct FileId(pub u32);

/// A line of a file.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct Place {
    /// The file.
    pub file: FileId,
    /// The line, from 1. Of a record of several lines it is the first.
    pub line: u64,
}
