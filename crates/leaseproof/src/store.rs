//! Which store, by its URL.

use leaseproof_store::{StoreError, StoreUrl};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A lock store: `sqlite:FILE`, `redis://…`, `etcd://…`, `postgres://…`, `zookeeper://…`, `consul://…`, as far as
/// its feature is on.
///
/// It displays without its password.
#[derive(Clone)]
pub struct Store(pub(crate) StoreUrl);

impl Store {
    /// What this store may cut off a TTL.
    #[must_use]
    pub fn early_slack(&self) -> Duration {
        leaseproof_store::early_slack(&self.0)
    }
}

impl FromStr for Store {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        text.parse().map(Self)
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store({})", self.0)
    }
}
