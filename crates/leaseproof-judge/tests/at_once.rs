//! What happens between two looks at the store is placed by what came before it in one source.

mod story;

use leaseproof_model::event::{Deed, OwnerEvent};
use leaseproof_model::scenario::{PremiseName as P, ScenarioId};
use leaseproof_model::verdict::Verdict;
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

/// An owner that acquires anew before anybody looked at the key that was removed: the fault met the
/// lease that it had until then.
#[test]
fn a_lease_acquired_anew_at_once_ok() {
    let mut s = Story::new(ScenarioId::KeyDeleted, &[P::Exercised, P::EndedEarly, P::OwnerRan]);
    s.free(0.0)
        .started(1.0, "a1")
        .granted(100.0, "a1#1", 1)
        .acquired(100.0, "a1", 1);
    s.cycle(101.0, "a1")
        .works(110.0, 390.0, "a1", 1)
        .renews(250.0, 400.0, "a1");
    s.lab(404.0, Deed::Deleted, "a1#1", 1);
    s.said_with(406.0, "a1", OwnerEvent::RenewFailed, |said| said.definite = Some(true));
    s.said(407.0, "a1", OwnerEvent::Lost)
        .acquired(409.0, "a1", 2)
        .granted(410.0, "a1#2", 2);
    s.works(420.0, 2900.0, "a1", 2).renews(650.0, 2900.0, "a1");
    s.end_cycle(2000.0).watched(0.0, 3000.0);
    let judged = s.judged();
    assert_eq!(
        judged.verdict,
        Verdict::Proven,
        "{:#?} {:#?}",
        judged.premises,
        judged.findings
    );
}
