//! What the lab does with the store itself.

use crate::name::{HolderId, Token};
use serde::{Deserialize, Serialize};

/// What the lab did with the store.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LabDeed {
    /// What.
    pub deed: Deed,
    /// The holder it acted as.
    pub holder: Option<HolderId>,
    /// The token it got.
    pub token: Option<Token>,
    /// Applied, not applied or unknown.
    pub outcome: Outcome,
}

/// A use of the store by the lab.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deed {
    /// It acquired the lease.
    Acquired,
    /// It released its own lease.
    Released,
    /// It removed an owner's lease (fault `key-deleted`).
    Deleted,
    /// It replaced an owner's lease by its own, with a greater token (fault `key-stolen`).
    Stole,
}

/// Every operation ends in one of these, and unknown stays possible for ever.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The store did it.
    Applied,
    /// The store refused it, definitely.
    NotApplied,
    /// Nobody knows.
    Unknown,
}
