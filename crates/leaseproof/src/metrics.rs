//! What is believed and what was counted, as numbers and as Prometheus text. No server: mount the text wherever the
//! program serves its own.

use leaseproof_model::clock::BootNanos;
use leaseproof_model::name::Token;
use leaseproof_store::boot_now;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The metrics of the leases that share it.
#[derive(Debug, Default)]
pub struct Metrics {
    leases: Mutex<BTreeMap<String, Belief>>,
    acquired: AtomicU64,
    renewed: AtomicU64,
    failed: AtomicU64,
    lost: AtomicU64,
    worst_pause_ns: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
struct Belief {
    token: Token,
    until: BootNanos,
    renewed: BootNanos,
}

impl Metrics {
    /// With nothing counted yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn held(&self, key: &str, token: Token, until: BootNanos) {
        self.acquired.fetch_add(1, Ordering::Relaxed);
        let renewed = boot_now();
        self.lock().insert(key.to_owned(), Belief { token, until, renewed });
    }

    pub(crate) fn renewed(&self, key: &str, sent: BootNanos, until: BootNanos) {
        self.renewed.fetch_add(1, Ordering::Relaxed);
        if let Some(belief) = self.lock().get_mut(key) {
            belief.until = until;
            belief.renewed = sent;
        }
    }

    pub(crate) fn renewal_failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn lost(&self, key: &str) {
        self.lost.fetch_add(1, Ordering::Relaxed);
        if let Some(belief) = self.lock().get_mut(key) {
            belief.until = BootNanos(0);
        }
    }

    pub(crate) fn paused(&self, by: Duration) {
        let nanos = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        self.worst_pause_ns.fetch_max(nanos, Ordering::Relaxed);
    }

    /// The Prometheus text. `watch` reads a belief from it with
    /// `holds = 'leaseproof_lease_held{key="KEY"}'` and `token = 'leaseproof_lease_token{key="KEY"}'`.
    ///
    /// Keys become labels: give a lease that has one of very many keys a `Metrics` of its own.
    #[must_use]
    pub fn prometheus(&self) -> String {
        let now = boot_now();
        let leases: Vec<(String, Belief)> = self.lock().iter().map(|(key, it)| (label(key), *it)).collect();
        let mut text = String::new();
        let mut gauge = |name: &str, help: &str, value: &dyn Fn(&Belief) -> f64| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge");
            for (key, belief) in &leases {
                let _ = writeln!(text, "{name}{{key=\"{key}\"}} {}", value(belief));
            }
        };
        gauge(
            "leaseproof_lease_held",
            "1 while this process believes that it holds the lease.",
            &|it| f64::from(now < it.until),
        );
        #[expect(clippy::cast_precision_loss, reason = "Prometheus has no other number")]
        gauge("leaseproof_lease_token", "The fencing token of the grant.", &|it| {
            it.token.0 as f64
        });
        gauge(
            "leaseproof_lease_valid_seconds",
            "What is left of the validity; 0 once it is over.",
            &|it| it.until.since(now).as_secs_f64(),
        );
        gauge(
            "leaseproof_lease_renewal_age_seconds",
            "Since the last renewal that was applied was sent.",
            &|it| now.since(it.renewed).as_secs_f64(),
        );
        for (name, help, value) in [
            ("leaseproof_leases_acquired_total", "Grants.", &self.acquired),
            (
                "leaseproof_leases_renewed_total",
                "Renewals that were applied.",
                &self.renewed,
            ),
            (
                "leaseproof_leases_renewal_failed_total",
                "Renewals that failed or are unknown.",
                &self.failed,
            ),
            (
                "leaseproof_leases_ended_total",
                "Leases that were lost or released.",
                &self.lost,
            ),
        ] {
            let value = value.load(Ordering::Relaxed);
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter\n{name} {value}");
        }
        let name = "leaseproof_worst_pause_seconds";
        let worst = Duration::from_nanos(self.worst_pause_ns.load(Ordering::Relaxed)).as_secs_f64();
        let help = "By how much a thread that renews was late, at worst.";
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {worst}");
        text
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Belief>> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A label's value, as the format asks for it.
fn label(text: &str) -> String {
    text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_belief_ends_by_the_clock_alone() {
        let metrics = Metrics::new();
        metrics.held("a\"b", Token(7), boot_now().plus(Duration::from_secs(60)));
        metrics.held("over", Token(8), BootNanos(1));
        let text = metrics.prometheus();
        assert!(text.contains("leaseproof_lease_held{key=\"a\\\"b\"} 1\n"), "{text}");
        assert!(text.contains("leaseproof_lease_held{key=\"over\"} 0\n"), "{text}");
        assert!(text.contains("leaseproof_lease_token{key=\"over\"} 8\n"), "{text}");
        assert!(text.contains("leaseproof_leases_acquired_total 2\n"), "{text}");
    }
}
