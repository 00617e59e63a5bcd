//! Whether two readings show the same state of the lease.

use leaseproof_model::event::{Held, Reading};
use leaseproof_model::moment::Moment;
use std::time::Duration;

/// What two readings of one unchanged expiry may differ by: both ends of a round trip on a store
/// that keeps whole milliseconds.
const EXPIRY_JITTER: Duration = Duration::from_millis(2);

/// Whether nothing has changed between two readings but the time of reading.
#[must_use]
pub fn same_state(a: &Reading, b: &Reading) -> bool {
    a.epoch == b.epoch
        && a.counter == b.counter
        && match (&a.held, &b.held) {
            (None, None) => true,
            (Some(a), Some(b)) => same_grant(a, b),
            _ => false,
        }
}

fn same_grant(a: &Held, b: &Held) -> bool {
    a.holder == b.holder
        && a.token == b.token
        && a.expired == b.expired
        && a.granted == b.granted
        && a.renewed == b.renewed
        // Proof that no writer sits in a transaction is worth a record only after the expiry.
        && (!b.expired || a.write_lock || !b.write_lock)
        && match (a.expires, b.expires) {
            (None, None) => true,
            (Some(a), Some(b)) => near(a, b),
            _ => false,
        }
}

fn near(a: Moment, b: Moment) -> bool {
    a.earliest.minus(EXPIRY_JITTER) <= b.latest && b.earliest.minus(EXPIRY_JITTER) <= a.latest
}
