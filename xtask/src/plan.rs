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
