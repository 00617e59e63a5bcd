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
        /// How long it will refuse.
        lasts: Lasts,
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
    /// The key can't be one of this store's; nothing was asked.
    #[error("the key {key} can't be looked at here: {why}")]
    Key {
        /// The key, as people can read it.
        key: String,
        /// Why, and what to do.
        why: String,
    },
    /// The key's value is too long for a holder's name.
    #[error(
        "the key {key} holds a value of more than {most} bytes, where a lease has its holder's name: this is no plain lease"
    )]
    NoHolder {
        /// The key, as people can read it.
        key: String,
        /// So many bytes a name has at the most.
        most: usize,
    },
    /// It answered something that we do not understand.
    #[error("the store answered something unexpected: {0}")]
    Unexpected(String),
    /// What answers speaks another protocol: another server is there.
    #[error("the store answered something unexpected: {0}")]
    OtherProtocol(String),
}

/// How long a refusal lasts. The adapter that hears it knows; nobody else reads the store's words for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasts {
    /// A moment: the server starts, elects, is busy. Whoever looks goes on looking.
    Moment,
    /// Until a failover, a full disk or a crowd has passed. A look is refused; who waits for a lease may wait on,
    /// and somebody may hasten it.
    Passes,
    /// Until somebody changes the call or grants a right: asking again is of no use.
    Mended,
}

impl StoreError {
    /// A refusal.
    pub(crate) fn refused(url: &impl ToString, why: impl Into<String>, lasts: Lasts) -> Self {
        Self::Refused {
            url: url.to_string(),
            why: why.into(),
            lasts,
        }
    }

    /// Whether the store answers, and refuses what is asked for more than a moment.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { lasts, .. } if *lasts != Lasts::Moment)
    }

    /// Whether asking again is of no use before somebody mends the call or the store: wrong credentials, no table,
    /// another protocol. What a failover or a busy hour brings is none of these.
    #[must_use]
    pub fn needs_mending(&self) -> bool {
        match self {
            Self::Url { .. } | Self::Key { .. } | Self::OtherProtocol(_) => true,
            Self::Refused { lasts, .. } => *lasts == Lasts::Mended,
            _ => false,
        }
    }
}
