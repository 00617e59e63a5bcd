//! What is read.

use std::path::PathBuf;
use std::sync::Arc;

/// Something to read.
#[derive(Clone, PartialEq, Debug)]
pub enum Input {
    /// A file, or a folder and all in it.
    Path(PathBuf),
    /// Bytes that are already here.
    Bytes {
        /// What to call them.
        name: Arc<str>,
        /// The bytes.
        bytes: Arc<[u8]>,
    },
    /// The standard input.
    Stdin,
}
