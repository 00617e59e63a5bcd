//! A loss that availability asks about is held against an owner that had its turn on the CPU, and
//! against nobody where ordinary threads were starved.

mod story;

use leaseproof_model::event::{OwnerEvent, What};
use leaseproof_model::verdict::Verdict;
use std::time::Duration;
use story::pauses::{self, EXPIRY};
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
