//! What one member of a store says of itself: whether it leads.

use crate::error::StoreError;
use crate::url::StoreUrl;
use leaseproof_model::event::Role;
use std::time::Duration;

/// Host and port of the member that the others name as the one that leads, whatever it says itself.
///
/// # Errors
/// When nobody says so within `timeout`, or nobody names another in stores of this kind.
pub fn primary(url: &StoreUrl, timeout: Duration) -> Result<(String, u16), StoreError> {
    match url {
        #[cfg(feature = "redis")]
        StoreUrl::Redis(url) => crate::redis::primary(url, timeout),
        other => Err(StoreError::Unexpected(format!("nobody watches {other}"))),
    }
}

/// Asks the one member at `url` for its role; it answers for itself, whatever the others say.
///
/// # Errors
/// When it does not answer within `timeout`, may not be asked, or stores of this kind have no members.
pub fn role(url: &StoreUrl, timeout: Duration) -> Result<Role, StoreError> {
    match url {
        #[cfg(feature = "etcd")]
        StoreUrl::Etcd(server) => crate::etcd::role(server, timeout),
        #[cfg(feature = "zookeeper")]
        StoreUrl::ZooKeeper(url) => crate::zookeeper::role(url, timeout),
        #[cfg(feature = "consul")]
        StoreUrl::Consul(url) => crate::consul::role(url, timeout),
        #[cfg(feature = "redis")]
        StoreUrl::Redis(url) => crate::redis::role(url, timeout),
        other => Err(StoreError::Unexpected(format!(
            "{other} is one server: nobody leads it"
        ))),
    }
}
