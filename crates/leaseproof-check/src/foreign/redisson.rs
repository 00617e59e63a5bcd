//! Redisson: a watchdog renews a lock that was taken without a lease time, each third of `lockWatchdogTimeout`.

use super::reader::{MILLI, Reader, derived, told};
use crate::subject::{Knob, Knobs, Shares, Subject, Write, part};
use std::time::Duration;

pub(super) const MARKS: &[&str] = &[
    "lockWatchdogTimeout",
    "singleServerConfig.address",
    "clusterServersConfig.nodeAddresses",
    "sentinelServersConfig.masterName",
    "masterSlaveServersConfig.masterAddress",
    "replicatedServersConfig.nodeAddresses",
];

/// Where the time-out of a command is set.
const TIMEOUT: &[&str] = &[
    "timeout",
    "singleServerConfig.timeout",
    "clusterServersConfig.timeout",
    "sentinelServersConfig.timeout",
];

pub(super) fn read(reader: &Reader<'_>) -> Result<Subject, String> {
    let ttl = reader.ttl(
        &["lockWatchdogTimeout"],
        MILLI,
        Duration::from_secs(30),
        "Redisson's lockWatchdogTimeout, 30000 ms",
    )?;
    let heartbeat = derived(
        "a third of it",
        part(ttl.span, 3),
        "Redisson renews each lockWatchdogTimeout / 3",
    );
    let timeout = reader.number(TIMEOUT, MILLI, Duration::from_secs(3), "Redisson's timeout, 3000 ms")?;
    let millis = |key: &str| Knob {
        key: key.to_owned(),
        step: Duration::from_millis(1),
        least: Duration::from_millis(100),
        most: None,
        write: Write::YamlMillis,
        times: 1,
    };
    let says = "locks taken with a lease time of their own, lock(10, SECONDS), are not renewed: for them the lease time \
                must outlive the longest run";
    let stops = "a renewal that fails is tried again a third later by the versions with RenewalTask (3.44 and 4 do); before it \
                 (renewExpiration in RedissonBaseLock) one that throws ends the watchdog: there none may fail";
    let line = ttl.line;
    Ok(Subject {
        store: Some((reader.facts)("redis://127.0.0.1")?),
        own: vec![told("lease-time", says, line), told("watchdog", stops, None)],
        knobs: Knobs {
            renew_timeout: Some(millis(timeout.key.rsplit('.').next().unwrap_or("timeout"))),
            ttl: Some(millis("lockWatchdogTimeout")),
            ..Knobs::default()
        },
        shares: Shares {
            heartbeat: Some(3),
            renew_timeout: None,
        },
        ..reader.subject(ttl, heartbeat, timeout)
    })
}
