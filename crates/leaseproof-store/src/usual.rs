//! What a store's URL says by itself, without a server: the semantics of its kind as it comes.

use crate::url::StoreUrl;
use leaseproof_model::store::StoreFacts;

/// The semantics of a store of this kind whose bounds nobody changed. [`facts`](crate::facts) asks the store itself.
#[must_use]
pub fn usual_facts(url: &StoreUrl) -> StoreFacts {
    let facts = match url {
        #[cfg(feature = "sqlite")]
        StoreUrl::Sqlite(_) => crate::sqlite::facts(),
        #[cfg(feature = "redis")]
        StoreUrl::Redis(url) => crate::redis::usual(url),
        #[cfg(feature = "zookeeper")]
        StoreUrl::ZooKeeper(_) => crate::zookeeper::usual(),
        #[cfg(feature = "consul")]
        StoreUrl::Consul(url) => crate::consul::usual(url),
        #[cfg(feature = "etcd")]
        StoreUrl::Etcd(url) => crate::etcd::usual(url),
        #[cfg(feature = "postgres")]
        StoreUrl::Postgres(_) => crate::postgres::usual(),
    };
    StoreFacts {
        version: "not asked".to_owned(),
        ..facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn usual_facts_ok() {
        // Kind, early slack in µs, floor, ceiling and step in ms.
        for (url, kind, slack, floor, ceiling, step) in [
            #[cfg(feature = "sqlite")]
            ("sqlite:a.db", "sqlite", 0, None, None, 0),
            #[cfg(feature = "redis")]
            ("redis://h", "redis", 1000, None, None, 0),
            #[cfg(feature = "redis")]
            ("redis+sentinel://h/s", "redis-sentinel", 1000, None, None, 0),
            #[cfg(feature = "redis")]
            ("redlock://a,b,c", "redlock", 32_000, None, None, 0),
            #[cfg(feature = "postgres")]
            ("postgres://u@h/d", "postgres", 1, None, None, 0),
            #[cfg(feature = "etcd")]
            ("etcd://h", "etcd", 0, Some(2000), None, 1000),
            #[cfg(feature = "zookeeper")]
            ("zookeeper://h", "zookeeper", 0, Some(4000), Some(40_000), 0),
            #[cfg(feature = "consul")]
            ("consul://h", "consul", 0, Some(10_000), Some(86_400_000), 0),
        ] {
            let facts = usual_facts(&url.parse().expect(url));
            let ms = Duration::from_millis;
            assert_eq!(facts.kind, kind);
            assert_eq!(
                facts.early_slack,
                crate::early_slack(&url.parse().expect(url)),
                "{kind}"
            );
            assert_eq!(facts.early_slack, Duration::from_micros(slack), "{kind}");
            assert_eq!(
                (facts.ttl_floor, facts.ttl_ceiling),
                (floor.map(ms), ceiling.map(ms)),
                "{kind}"
            );
            assert_eq!(facts.ttl_step, ms(step), "{kind}");
        }
    }
}
