//! Numbers of the configuration that show in the text.

use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// Which number.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettingName {
    /// The lease's TTL, or the session's time-out, as granted.
    Ttl,
    /// The TTL that was asked for.
    TtlAsked,
    /// How often the owner renews.
    Heartbeat,
    /// How long a renewal may take.
    RenewTimeout,
    /// How long the store keeps a lock closed after its loss.
    LockDelay,
    /// The store's own tick.
    Tick,
    /// The threshold from which slow commands are logged.
    SlowlogThreshold,
}

/// A number of the configuration that shows in the text.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Setting {
    /// Which.
    pub name: SettingName,
    /// Its value.
    pub value: Duration,
    /// The key, session or lease that it is about.
    pub of: Option<Arc<str>>,
}
