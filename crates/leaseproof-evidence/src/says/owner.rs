//! What an owner says about itself. All of it is belief.

use leaseproof_model::name::Token;
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// Whether a failure was a refusal.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Definite {
    /// The store answered: not the holder, or gone.
    Refused,
    /// No answer: it may have been applied.
    Unknown,
}

/// What an owner says about itself.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OwnerSays {
    /// It waits for the lease.
    Waiting {
        /// The key.
        key: Option<Arc<str>>,
    },
    /// It acquired the lease.
    Acquired {
        /// The key.
        key: Option<Arc<str>>,
        /// Its name as the holder, where the text has one.
        holder: Option<Arc<str>>,
        /// The fencing token.
        token: Option<Token>,
        /// The TTL that it asked for or was given.
        ttl: Option<Duration>,
    },
    /// It sent a renewal.
    RenewSent {
        /// The key.
        key: Option<Arc<str>>,
    },
    /// A renewal succeeded, it says.
    Renewed {
        /// The key.
        key: Option<Arc<str>>,
        /// The fencing token.
        token: Option<Token>,
    },
    /// A renewal failed.
    RenewalFailed {
        /// The key.
        key: Option<Arc<str>>,
        /// Whether the store refused it.
        definite: Definite,
        /// The fencing token of its lease.
        token: Option<Token>,
        /// Its reason, in its words.
        why: Arc<str>,
    },
    /// It knows that it no longer holds the lease.
    Lost {
        /// The key.
        key: Option<Arc<str>>,
        /// The fencing token of the lease that is over.
        token: Option<Token>,
        /// Its reason, in its words.
        why: Arc<str>,
    },
    /// It released the lease, it says.
    Released {
        /// The key.
        key: Option<Arc<str>>,
        /// The fencing token.
        token: Option<Token>,
    },
    /// It says that it holds the lease: no event, a statement.
    BelievesHeld {
        /// The key.
        key: Option<Arc<str>>,
        /// The fencing token.
        token: Option<Token>,
    },
    /// It wrote to the protected resource, it says.
    Wrote {
        /// The key.
        key: Option<Arc<str>>,
        /// The fencing token that the write carried.
        token: Option<Token>,
    },
    /// It refused to write.
    WriteRefused {
        /// The key.
        key: Option<Arc<str>>,
        /// The fencing token.
        token: Option<Token>,
    },
    /// Its session began, as the client was told.
    SessionOpened {
        /// The session.
        session: Arc<str>,
        /// The time-out that was negotiated.
        timeout: Option<Duration>,
    },
    /// It heard nothing from the store. A client that runs gives up at a known part of its time-out: more than that
    /// means that the client itself did not run.
    HeardNothing {
        /// The session.
        session: Option<Arc<str>>,
        /// For how long, counted back from the stamp.
        lasted: Duration,
    },
    /// Its connection to the store broke; whether it still holds is not known to it.
    Disconnected {
        /// Its reason, in its words.
        why: Arc<str>,
    },
    /// It is connected again.
    Reconnected,
    /// It learned that its session is over.
    SessionLost {
        /// The session.
        session: Option<Arc<str>>,
        /// In its words.
        why: Arc<str>,
    },
}

impl OwnerSays {
    /// The fencing token that the line names.
    #[must_use]
    pub fn token(&self) -> Option<Token> {
        match self {
            Self::Acquired { token, .. }
            | Self::Renewed { token, .. }
            | Self::RenewalFailed { token, .. }
            | Self::Lost { token, .. }
            | Self::Released { token, .. }
            | Self::BelievesHeld { token, .. }
            | Self::Wrote { token, .. }
            | Self::WriteRefused { token, .. } => *token,
            _ => None,
        }
    }

    /// The key that the line names.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Waiting { key }
            | Self::Acquired { key, .. }
            | Self::RenewSent { key }
            | Self::Renewed { key, .. }
            | Self::RenewalFailed { key, .. }
            | Self::Lost { key, .. }
            | Self::Released { key, .. }
            | Self::BelievesHeld { key, .. }
            | Self::Wrote { key, .. }
            | Self::WriteRefused { key, .. } => key.as_deref(),
            Self::SessionOpened { .. }
            | Self::HeardNothing { .. }
            | Self::Disconnected { .. }
            | Self::Reconnected
            | Self::SessionLost { .. } => None,
        }
    }

    /// A short name for counts.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Waiting { .. } => "owner waiting",
            Self::Acquired { .. } => "owner acquired",
            Self::RenewSent { .. } => "owner renew sent",
            Self::Renewed { .. } => "owner renewed",
            Self::RenewalFailed { .. } => "owner renewal failed",
            Self::Lost { .. } => "owner lost",
            Self::Released { .. } => "owner released",
            Self::BelievesHeld { .. } => "owner believes held",
            Self::Wrote { .. } => "owner wrote",
            Self::WriteRefused { .. } => "owner write refused",
            Self::SessionOpened { .. } => "owner session opened",
            Self::HeardNothing { .. } => "owner heard nothing",
            Self::Disconnected { .. } => "owner disconnected",
            Self::Reconnected => "owner reconnected",
            Self::SessionLost { .. } => "owner session lost",
        }
    }
}
