//! Numbers in sentences.

use leaseproof_model::clock::BootNanos;
use std::time::Duration;

/// Milliseconds with one digit after the point.
pub(crate) fn ms(span: Duration) -> String {
    format!("{:.1} ms", span.as_secs_f64() * 1000.0)
}

/// Milliseconds as a measure.
pub(crate) fn millis(span: Duration) -> f64 {
    (span.as_secs_f64() * 1_000_000.0).round() / 1000.0
}

/// The length from `a` to `b`, negative if `b` is earlier.
pub(crate) fn signed_millis(a: BootNanos, b: BootNanos) -> f64 {
    if b >= a {
        millis(b.since(a))
    } else {
        -millis(a.since(b))
    }
}

/// "1 act", "2 acts".
pub(crate) fn count(n: usize, one: &str) -> String {
    if n == 1 {
        format!("1 {one}")
    } else {
        format!("{n} {one}s")
    }
}
