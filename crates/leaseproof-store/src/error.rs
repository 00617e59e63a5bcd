//! What can go wrong with a store, in words that say what to do next.

/// An error of a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The URL is not understood.
    #[error("the store URL {url} is not understood: {why}")]
    Url {
        /// The URL, password redacted.
        url: String,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// Nothing answers there.
    #[error("no store answers at {url}: {why}")]
    Unreachable {
        /// The URL, password redacted.
        url: String,
        /// The system's words.
        why: String,
    },
    /// It answers, and refuses us.
    #[error("the store at {url} refuses: {why}")]
    Refused {
        /// The URL, password redacted.
        url: String,
        /// The store's words.
        why: String,
    },
    /// It is a replica: what it shows is not the truth.
    #[error("the store at {url} is a replica of {primary}: give the primary's URL")]
    Replica {
        /// The URL, password redacted.
        url: String,
        /// The primary, as the replica says.
        primary: String,
    },
    /// It did not answer in time.
    #[error("the store did not answer within {0:?}")]
    TimedOut(std::time::Duration),
    /// A writer blocks it (SQLite).
    #[error("a writer holds the store's write lock")]
    Blocked,
    /// It answered something that we do not understand.
    #[error("the store answered something unexpected: {0}")]
    Unexpected(String),
}
