//! What the series of a lease are labelled with.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// A label is on each of some twenty lines of each scrape.
const LONGEST_LABEL: usize = 128;

/// A label of bounded length, still different for different keys.
pub(super) fn shortened(text: &str) -> Arc<str> {
    if text.len() <= LONGEST_LABEL {
        return Arc::from(text);
    }
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let start: String = text.chars().take(LONGEST_LABEL / 4).collect();
    Arc::from(format!("{start}…{:016x}", hasher.finish()))
}

/// The label of all leases that have none of their own.
pub const OTHER: &str = "other";
