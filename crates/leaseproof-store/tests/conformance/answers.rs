//! What an operation answered, and what the store's own tools say of it.

use crate::rig::{Plain, Rig};
use leaseproof_model::event::Outcome;
use leaseproof_store::{Done, Grant, Refusal};

pub fn granted(done: Done<Grant>) -> Grant {
    assert_eq!(done.outcome, Outcome::Applied, "{done:?}");
    done.value.expect("a grant comes with applied")
}

#[track_caller]
pub fn applied<T: std::fmt::Debug>(done: &Done<T>) {
    assert_eq!(done.outcome, Outcome::Applied, "{done:?}");
    assert!(done.value.is_some() && done.refusal.is_none() && done.reason.is_none());
}

#[track_caller]
pub fn refused<T: std::fmt::Debug>(done: &Done<T>, why: Refusal) {
    assert_eq!(done.outcome, Outcome::NotApplied, "{done:?}");
    assert_eq!(done.refusal, Some(why), "{done:?}");
    assert!(done.value.is_none() && done.reason.is_some());
}

#[track_caller]
pub fn plainly_held_by(rig: &Rig, grant: &Grant) {
    let plain = Plain {
        holder: grant.holder.to_string(),
        token: grant.token.0,
    };
    assert_eq!(rig.plain(&grant.key), Some(plain));
}

/// The counter is at `count`, by the store's own tools; a store whose tokens are no counter has none.
#[track_caller]
pub fn plainly_counted(rig: &Rig, key: &str, count: u64) {
    assert_eq!(rig.plain_counter(key), rig.can.counts_tokens.then_some(count));
}

/// Says that a store has no such thing, so that nobody takes the silence for a pass.
pub fn not_expressible(rig: &Rig, case: &str, why: &str) {
    println!("{}: {case}: not expressible: {why}", rig.url.kind());
}
