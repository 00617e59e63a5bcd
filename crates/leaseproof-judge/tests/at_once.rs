//! What happens between two looks at the store is placed by what came before it in one source.

mod story;

use leaseproof_model::event::OwnerEvent;
use leaseproof_model::scenario::ScenarioId;
use story::{Story, codes};

/// An owner that gives its lease up in the very look that first shows it.
#[test]
fn a_lease_given_up_at_once_bad() {
    let mut s = Story::new(ScenarioId::PauseUncontested, &[]);
    s.free(0.0).started(1.0, "a1").free(98.0);
    s.said(98.5, "a1", OwnerEvent::Acquired);
    s.said(99.0, "a1", OwnerEvent::Lost);
    s.granted(100.0, "a1#1", 1)
        .shown(125.0, |_| ())
        .free(150.0)
        .watched(0.0, 400.0);
    let judged = s.judged();
    assert!(
        codes(&judged).iter().any(|code| code == "LP016"),
        "{:#?}",
        judged.findings
    );
}
