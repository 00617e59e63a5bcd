//! What one member of a store says of itself: whether it leads.

use crate::error::StoreError;
use crate::url::StoreUrl;
use leaseproof_model::event::Role;
use std::time::Duration;

/// Asks the one member at `url` for its role; it answers for itself, whatever the others say.
///
/// # Errors
/// When it does not answer within `timeout`, may not be asked, or stores of this kind have no members.
#[cfg_attr(
    not(any(feature = "consul", feature = "etcd", feature = "zookeeper")),
    expect(unused_variables, reason = "nobody is left to be asked")
)]
pub fn role(url: &StoreUrl, timeout: Duration) -> Result<Role, StoreError> {
    match url {
        #[cfg(feature = "etcd")]
        StoreUrl::Etcd(server) => crate::etcd::role(server, timeout),
        #[cfg(feature = "zookeeper")]
        StoreUrl::ZooKeeper(url) => crate::zookeeper::role(url, timeout),
        #[cfg(feature = "consul")]
        StoreUrl::Consul(url) => crate::consul::role(url, timeout),
        other => Err(StoreError::Unexpected(format!(
            "{other} is one server: nobody leads it"
        ))),
    }
}
