//! The store itself fails: what it did is the store's, and an owner that acts on without it is its own.

mod story;

use leaseproof_model::finding::Subject;
use leaseproof_model::verdict::{ScenarioVerdict, Verdict};
use story::{accusations, codes, server};

fn subject(verdict: &ScenarioVerdict, rule: &str) -> Option<Subject> {
    verdict.findings.iter().find(|it| it.rule == rule).map(|it| it.subject)
}

#[test]
fn an_owner_that_stops_by_its_own_clock_ok() {
    let judged = server::paused().judged();
    assert_eq!(judged.verdict, Verdict::Proven, "{judged:#?}");
}

#[test]
fn an_owner_that_acts_past_its_ttl_while_the_store_stands_still_bad() {
    let judged = server::paused_and_wrote_until(1995.0).judged();
    assert!(codes(&judged).contains(&"LP004".to_owned()), "{judged:#?}");
}

/// It was renewed right before the store stopped, and no look shows that: nobody else can have had it.
#[test]
fn an_owner_that_was_renewed_right_before_the_store_stopped_ok() {
    let mut story = server::paused_and_wrote_until(1790.0);
    // More than may straddle the expiry that was seen.
    for ms in [1770.0, 1775.0, 1780.0, 1785.0] {
        story.wrote(ms, "a1", 1);
    }
    let judged = story.judged();
    assert!(accusations(&judged).is_empty(), "{judged:#?}");
    assert_eq!(judged.verdict, Verdict::Proven);
}

#[test]
fn tokens_that_begin_again_are_the_store_s() {
    let judged = server::restarted(false).judged();
    assert_eq!(subject(&judged, "LP003"), Some(Subject::Store), "{judged:#?}");
    assert_eq!(subject(&judged, "LP017"), Some(Subject::Store), "{judged:#?}");
    assert_eq!(judged.verdict, Verdict::Violated);
}

#[test]
fn a_lease_that_a_stepped_clock_ended_is_the_store_s() {
    let judged = server::stepped().judged();
    assert_eq!(subject(&judged, "LP018"), Some(Subject::Store), "{judged:#?}");
    assert_eq!(subject(&judged, "LP017"), Some(Subject::Store), "{judged:#?}");
    assert_eq!(judged.verdict, Verdict::Proven, "{judged:#?}");
}
