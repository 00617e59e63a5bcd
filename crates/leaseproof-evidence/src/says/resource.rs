//! What the protected resource says.

use leaseproof_model::name::Token;
use serde::Serialize;
use std::sync::Arc;

/// What became of a write.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// It was accepted.
    Accepted,
    /// It was rejected.
    Rejected,
    /// The record does not say.
    Unknown,
}

/// What the protected resource says.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResourceSays {
    /// A write reached it.
    Write {
        /// The token that it carried; `None`: none.
        token: Option<Token>,
        /// What became of it.
        decision: Decision,
        /// The key or the thing written.
        key: Option<Arc<str>>,
        /// Who sent it: an owner's name or an address.
        sender: Option<Arc<str>>,
        /// Its place in the resource's own order, where it has one.
        serial: Option<u64>,
    },
}

impl ResourceSays {
    /// A short name for counts.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Write { .. } => "resource write",
        }
    }
}
