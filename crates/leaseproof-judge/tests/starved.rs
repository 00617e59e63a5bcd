//! A loss that availability asks about is held against an owner that had its turn on the CPU, and
//! against nobody where ordinary threads were starved.

mod story;

use leaseproof_model::event::{FaultKind, OwnerEvent, What};
use leaseproof_model::scenario::{PremiseName as P, ScenarioId};
use leaseproof_model::store::ExpiryProof;
use leaseproof_model::verdict::Verdict;
use std::time::Duration;
use story::pauses::{self, EXPIRY, THAW};
use story::{Story, at};

/// Paused for less than the margin, and the lease is lost all the same.
fn lost_within_margin() -> Story {
    let mut s = pauses::within_margin();
    s.without(|event| event.at.earliest > at(1200.5) && !matches!(event.what, What::Coverage(_) | What::CycleEnded));
    s.free(EXPIRY + 4.0).said(EXPIRY + 5.0, "a1", OwnerEvent::Lost);
    s.granted(1900.0, "a1#2", 2).acquired(1900.0, "a1", 2);
    s.works(1910.0, 3000.0, "a1", 2).renews(2150.0, 3000.0, "a1");
    s
}

#[test]
fn a_loss_within_the_margin_bad() {
    let judged = lost_within_margin().judged();
    assert_eq!(judged.verdict, Verdict::Violated, "{:#?}", judged.findings);
}

#[test]
fn a_loss_of_a_starved_owner_ok() {
    let mut s = lost_within_margin();
    s.note(
        1300.0,
        What::Starved {
            by: Duration::from_millis(300),
        },
    );
    let judged = s.judged();
    assert_eq!(judged.verdict, Verdict::CannotTell, "{:#?}", judged.findings);
}

/// Nobody else wants the key; the observer, starved, sees the row that is over only later than the store may be late.
fn row_seen_late() -> Story {
    let premises = [P::Exercised, P::Frozen, P::Expired, P::NoOtherGrant, P::Thawed];
    let mut s = pauses::held_until_pause(ScenarioId::PauseUncontested, &premises);
    s.ask.store.late_bound = Duration::from_millis(5);
    s.ask.store.expiry_proof = ExpiryProof::WriteLockAfterExpiry;
    s.paused("a1", FaultKind::PauseTree, pauses::PAUSE, THAW);
    s.shown(EXPIRY + 70.0, |held| {
        held.expired = true;
        held.write_lock = true;
    });
    s.said(THAW + 1.0, "a1", OwnerEvent::Lost);
    s.granted(THAW + 20.0, "a1#2", 2).acquired(THAW + 20.0, "a1", 2);
    s.works(THAW + 25.0, 3600.0, "a1", 2).renews(THAW + 270.0, 3600.0, "a1");
    s.end_cycle(pauses::OVER).watched(0.0, 3700.0);
    s
}

#[test]
fn a_row_that_is_seen_late_to_be_over_is_over() {
    let judged = row_seen_late().judged();
    assert_eq!(judged.verdict, Verdict::Proven, "{:#?}", judged.premises);
}
