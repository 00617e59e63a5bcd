//! Only a belief that was reported after its grant had ended counts.

use crate::tape::{Tape, at};
use leaseproof_live::watch::belief::{Belief, Claim};
use leaseproof_live::watch::notices::Notice;

fn paused() -> Tape {
    // Renewed at 0 and at 1000, then the owner is paused; the key ends at 4000.
    let mut tape = Tape::new();
    tape.held(100, 0);
    tape.report(1010, 1010, Claim::Holds, Some(1));
    tape.held(1100, 1000);
    tape.held(2100, 1000);
    tape.held(3100, 1000);
    tape.read(4100, None, Some(1));
    tape
}

fn diverged(tape: &Tape) -> usize {
    let told = |it: &&Notice| matches!(it, Notice::Diverged { .. });
    tape.notices.iter().filter(told).count()
}

#[test]
fn silence_is_no_belief() {
    let tape = paused();
    assert_eq!(tape.series("belief_known", 4200), Some(0.0));
    assert_eq!(tape.series("divergence_seconds", 4200), None, "unknown is no number");
    assert_eq!(tape.series("divergence_worst_seconds", 4200), Some(0.0));
    assert_eq!(tape.series("held", 4200), Some(0.0));
    assert_eq!(tape.series("lapses_total", 4200), Some(1.0));
    assert_eq!(diverged(&tape), 0);
}

#[test]
fn a_belief_reported_after_the_end_diverges_from_the_latest_end() {
    let mut tape = paused();
    tape.report(5000, 5000, Claim::Holds, Some(1));
    // The end lies somewhere before the reading that shows it, so it is taken there.
    assert_eq!(tape.series("divergence_seconds", 5100), Some(0.898));
    tape.report(6000, 6000, Claim::Holds, Some(1));
    let by = tape.series("divergence_seconds", 6100).expect("a number");
    assert!((by - 1.898).abs() < 1e-9, "{by}");
    assert_eq!(diverged(&tape), 1, "it is told once");
    assert_eq!(tape.board.own.findings, 1);
    tape.report(6200, 6200, Claim::Free, None);
    assert_eq!(tape.series("divergence_seconds", 6300), Some(0.0));
    let worst = tape.series("divergence_worst_seconds", 6300).expect("a number");
    assert!((worst - 1.898).abs() < 1e-4, "{worst}");
}

#[test]
fn a_sound_owner_that_gives_up_at_the_thaw_does_not_diverge() {
    let mut tape = paused();
    tape.report(5000, 5000, Claim::Free, None);
    assert_eq!(tape.series("divergence_seconds", 5100), Some(0.0));
    // It acquires anew, and says so before the next reading.
    tape.report(5010, 5010, Claim::Holds, Some(2));
    assert_eq!(
        tape.series("divergence_seconds", 5050),
        None,
        "no reading says anything about it yet"
    );
    tape.read(5100, Some(("me#2", Some(2), Some(8000))), Some(2));
    assert_eq!(tape.series("divergence_seconds", 5150), Some(0.0));
    assert_eq!(diverged(&tape), 0);
}

#[test]
fn what_may_have_been_said_before_the_end_does_not_count() {
    let mut tape = paused();
    // Asked before the lease was seen gone, answered long after.
    tape.report(4050, 9000, Claim::Holds, Some(1));
    assert_eq!(tape.series("divergence_seconds", 9100), Some(0.0));
    assert_eq!(diverged(&tape), 0);
}

#[test]
fn a_successor_ends_the_grant_too() {
    let mut tape = Tape::new();
    tape.held(100, 0);
    tape.read(1100, Some(("other#2", Some(2), Some(4000))), Some(2));
    tape.report(1500, 1500, Claim::Holds, Some(1));
    assert_eq!(tape.series("divergence_seconds", 1600), Some(0.398));
    // An older grant still had ended before.
    tape.report(1700, 1700, Claim::Holds, Some(0));
    assert_eq!(tape.series("divergence_seconds", 1800), Some(0.598));
}

#[test]
fn without_a_token_another_reading_must_confirm_it() {
    let belief = Belief {
        name: Some("me".into()),
        ..Belief::default()
    };
    let mut tape = Tape::with(belief);
    tape.read(100, Some(("me#1", None, Some(3000))), None);
    tape.report(150, 160, Claim::Holds, None);
    assert_eq!(tape.series("divergence_seconds", 200), Some(0.0));
    tape.read(1100, None, None);
    tape.report(1500, 1510, Claim::Holds, None);
    assert_eq!(
        tape.series("divergence_seconds", 1600),
        None,
        "it may have acquired it anew"
    );
    tape.read(2100, None, None);
    assert_eq!(tape.series("divergence_seconds", 2150), Some(0.398));
    tape.read(3100, Some(("me#2", None, Some(6000))), None);
    assert_eq!(tape.series("divergence_seconds", 3150), Some(0.0));
}

#[test]
fn an_acquisition_of_its_own_time_needs_no_second_reading() {
    let mut tape = Tape::new();
    tape.read(100, Some(("value#abc", None, Some(3000))), None);
    let since = Some(at(50, 50));
    tape.report_since(150, 150, Claim::Holds, None, since);
    tape.read(1100, None, None);
    tape.report_since(1500, 1500, Claim::Holds, None, since);
    assert_eq!(tape.series("divergence_seconds", 1550), Some(0.398));
}

#[test]
fn a_belief_that_cannot_be_read_is_unknown() {
    let mut tape = paused();
    tape.report(5000, 5000, Claim::Holds, Some(1));
    tape.board.belief_failed(tape.place, "no answer within 1s");
    assert_eq!(tape.series("belief_known", 5100), Some(0.0));
    assert_eq!(tape.series("divergence_seconds", 5100), None);
    assert_eq!(tape.series("belief_failures_total", 5100), Some(1.0));
    assert!(
        tape.series("divergence_worst_seconds", 5100) > Some(0.8),
        "what was seen stays seen"
    );
}

/// The store lost its data, and counts from 1 again: an owner that says when it acquired has a new grant.
#[test]
fn a_new_grant_with_a_smaller_token_ok() {
    let mut tape = Tape::new();
    tape.read(100, Some(("w#51", Some(51), Some(3000))), Some(51));
    tape.report(150, 150, Claim::Holds, Some(51));
    tape.read(1100, None, None);
    tape.report_since(1900, 1900, Claim::Holds, Some(1), Some(at(1800, 1800)));
    assert_eq!(diverged(&tape), 0);
    tape.read(2100, Some(("w#1", Some(1), Some(3000))), Some(1));
    tape.report_since(2200, 2200, Claim::Holds, Some(1), Some(at(1800, 1800)));
    assert_eq!(tape.series("divergence_seconds", 2210), Some(0.0));
}

#[test]
fn an_old_grant_with_a_smaller_token_bad() {
    let mut tape = Tape::new();
    tape.read(100, Some(("w#51", Some(51), Some(3000))), Some(51));
    tape.read(1100, None, Some(51));
    // It says that it acquired before that one ended.
    tape.report_since(1900, 1900, Claim::Holds, Some(50), Some(at(50, 50)));
    assert_eq!(diverged(&tape), 1);
}

#[test]
fn what_was_read_long_ago_is_not_told_as_now() {
    let mut tape = Tape::new();
    tape.held(100, 0);
    assert_eq!(
        (tape.series("held", 200), tape.series("token", 200)),
        (Some(1.0), Some(1.0))
    );
    let later = ["held", "token", "without_ttl"].map(|name| tape.series(name, 9_000));
    assert_eq!(later, [None; 3]);
}
