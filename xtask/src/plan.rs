//! The quick plan that both harnesses run with: TTL 1 s, heartbeat 250 ms, worst pause 400 ms.

/// Its flags. Runs stand side by side on one store, so each finds the others' canaries there.
pub const QUICK: &[&str] = &[
    "--ttl",
    "1s",
    "--heartbeat",
    "250ms",
    "--worst-pause",
    "400ms",
    "--renew-timeout",
    "150ms",
    "--allow-shared-store",
];

/// The same on a store whose TTLs are whole seconds, two at least. Heartbeats are more than a second
/// apart: two renewals within one can't be told from one there.
const QUICK_IN_SECONDS: &[&str] = &[
    "--ttl",
    "4s",
    "--heartbeat",
    "1300ms",
    "--worst-pause",
    "1600ms",
    "--renew-timeout",
    "450ms",
    "--allow-shared-store",
];

/// The quick plan for a store.
pub fn quick(store: &str) -> &'static [&'static str] {
    match store {
        "etcd" => QUICK_IN_SECONDS,
        _ => QUICK,
    }
}
