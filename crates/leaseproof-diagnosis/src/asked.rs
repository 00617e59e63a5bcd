//! What the user knows and wants to know.

use leaseproof_model::budget::Budget;

/// What the user knows and wants to know.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The key of the lease; without it, the one that the files speak of most.
    pub key: Option<String>,
    /// The owner whose loss is to be explained; without it, the first whose loss did harm.
    pub owner: Option<String>,
    /// The numbers of the plan, and where they are from.
    pub plan: Option<(Budget, String)>,
}
