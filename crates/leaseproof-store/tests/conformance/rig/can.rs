//! What the stores differ in, for the list.

use std::time::Duration;

/// What the list may ask of a store, as data; nothing else in the list asks which store it is.
#[derive(Clone, Debug)]
pub struct Can {
    /// Ends soon: the store's smallest TTL, where it has one.
    pub short: Duration,
    /// A time-out that a store which does not answer uses up.
    pub brief: Duration,
    /// Tokens are counted one by one for each key, by a counter that outlives the lease.
    pub counts_tokens: bool,
    /// A reading shows the server's clock.
    pub shows_clock: bool,
    /// A renewal may ask for another TTL than the grant did.
    pub renews_to_another_ttl: bool,
    /// A renewal this long after the one before is seen by the expiry that it moved.
    pub sees_renewals_after: Duration,
    /// There is a network in between: a frozen store answers no reader, and a request that was sent to
    /// it may still be applied.
    pub networked: bool,
}

impl Can {
    pub(super) const SQLITE: Self = Self {
        short: Duration::from_millis(60),
        brief: Duration::from_millis(50),
        counts_tokens: true,
        shows_clock: true,
        renews_to_another_ttl: true,
        sees_renewals_after: Duration::from_millis(5),
        networked: false,
    };

    pub(super) const REDIS: Self = Self {
        networked: true,
        ..Self::SQLITE
    };

    /// Redis in more than one server: an answer takes the way through several of them.
    pub(super) const REDIS_MANY: Self = Self {
        brief: Duration::from_millis(300),
        ..Self::REDIS
    };

    /// A lease that is a session.
    #[cfg(any(feature = "consul", feature = "zookeeper"))]
    pub(super) const SESSIONS: Self = Self {
        counts_tokens: false,
        shows_clock: false,
        renews_to_another_ttl: false,
        ..Self::REDIS
    };

    #[cfg(feature = "etcd")]
    pub(super) const ETCD: Self = Self {
        short: Duration::from_secs(1),
        brief: Duration::from_millis(300),
        counts_tokens: false,
        shows_clock: false,
        renews_to_another_ttl: false,
        // More than the second in which two renewals show the same number.
        sees_renewals_after: Duration::from_millis(1500),
        networked: true,
    };
}
