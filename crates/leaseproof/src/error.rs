//! What can go wrong, in words that say what to do.

use crate::protocol::Loss;
use leaseproof_model::budget::Shortfall;
use leaseproof_store::StoreError;
use std::fmt;
use std::time::Duration;

/// The lease is not held, now: whatever was to be done must not be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("lock not held: {loss}")]
pub struct LockNotHeld {
    /// Why.
    pub loss: Loss,
}

/// No lease came of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcquireError {
    /// Another holds it, or the store did not answer, for as long as was to be waited.
    #[error("{key:?} on {store} was not granted within {waited:?}: {last}")]
    NotAcquired {
        /// The key.
        key: String,
        /// The store, without its password.
        store: String,
        /// How long it was waited for.
        waited: Duration,
        /// What the store said last.
        last: String,
    },
    /// The store refuses, and would until somebody mends the call or the store: wrong credentials, no table, another
    /// protocol. It is not waited for.
    #[error("{key:?} on {store} can't be granted: {why}")]
    Refused {
        /// The key.
        key: String,
        /// The store, without its password.
        store: String,
        /// What it says.
        why: String,
    },
    /// It was to be waited for no longer; see [`Options::until`](crate::Options::until).
    #[error("no longer wanted")]
    Stopped,
    /// The budget does not hold once this store's own slack is taken off.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// The store can't be used: its URL, or a file that it names.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No thread could be started.
    #[error("failed to start the thread that renews: {0}")]
    Thread(#[source] std::io::Error),
}

/// A release that is not known to have been applied. The lease ends by its TTL in any case, and nothing is permitted
/// from the moment on at which the release was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReleaseError {
    /// It had been lost before.
    #[error("nothing to release: {loss}")]
    Lost {
        /// Why.
        loss: Loss,
    },
    /// The store did not say that it was applied.
    #[error("the release may not have been applied ({reason}): the lease ends by its TTL")]
    Unknown {
        /// What the store said.
        reason: String,
    },
}

/// A budget that can't be used.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum BudgetError {
    /// The file can't be read.
    #[error("{path}: {why}")]
    File {
        /// The file.
        path: String,
        /// Why.
        why: std::io::Error,
    },
    /// The file says something wrong, or nothing.
    #[error("{path}:{line}: {says}")]
    Text {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what would be right.
        says: String,
    },
    /// The margin does not exceed the worst pause.
    #[error(transparent)]
    Broken(#[from] Shortfall),
    /// A renewal may take as long as the time between two of them.
    #[error("a renewal may take {renew_timeout:?} and is due each {heartbeat:?}: give a smaller renew_timeout")]
    Overlap {
        /// How long a renewal may take.
        renew_timeout: Duration,
        /// How often one is due.
        heartbeat: Duration,
    },
}

/// The same as [`Display`](fmt::Display): a `main` that returns it prints this, and it says what to change.
impl fmt::Debug for BudgetError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}
