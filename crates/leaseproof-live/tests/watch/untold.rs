//! What is not known at the end is said, a reason a line, and never "nothing wrong".

use crate::tape::{KEY, Tape, at, ms};
use leaseproof_live::watch::belief::{Belief, Claim};
use leaseproof_live::watch::notices::Notice;
use leaseproof_live::watch::notices::line;
use leaseproof_live::watch::untold::untold;
use leaseproof_model::clock::Stamp;
use std::time::Duration;

const BELIEVES: &str =
    "its owner believes to hold it, the store shows nobody, and since when can't be told: jobs/daily";

/// The reasons at `when` ms, after rounds that were answered.
fn reasons(tape: &mut Tape, when: u64) -> Vec<String> {
    tape.board.own.last_round = Some(Stamp::default());
    untold(&tape.board, ms(when))
}

fn diverged(tape: &Tape) -> Vec<Duration> {
    let by = |it: &Notice| match it {
        Notice::Diverged { by, .. } => Some(*by),
        _ => None,
    };
    tape.notices.iter().filter_map(by).collect()
}

/// A store without a counter, which shows nobody from the start.
fn free(tape: &mut Tape, when: u64) {
    tape.read(when, None, None);
}

#[test]
fn a_held_lease_whose_owner_speaks_ok() {
    let mut tape = Tape::new();
    tape.held(100, 0);
    tape.report(1010, 1010, Claim::Holds, Some(1));
    tape.held(1100, 1000);
    assert_eq!(reasons(&mut tape, 1200), [""; 0]);
}

#[test]
fn a_lease_that_was_let_go_ok() {
    let mut tape = Tape::new();
    tape.held(100, 0);
    tape.read(1100, None, Some(1));
    tape.report(1500, 1500, Claim::Free, None);
    assert_eq!(reasons(&mut tape, 1600), [""; 0]);
}

/// A session's lease that the owner said to have given back, whichever is seen first; and its silence after that.
#[test]
fn a_release_that_its_owner_tells_ok() {
    for told_first in [true, false] {
        let mut tape = Tape::new();
        tape.bound_ms = Some(3000);
        tape.report(1010, 1010, Claim::Holds, Some(1));
        tape.read(1100, Some(("me#1", Some(1), None)), Some(1));
        if told_first {
            tape.report(1500, 1500, Claim::Released, Some(1));
        }
        tape.read(2100, None, Some(1));
        if !told_first {
            tape.report(1500, 2200, Claim::Released, None);
        }
        tape.read(60_100, None, Some(1));
        assert_eq!(reasons(&mut tape, 60_200), [""; 0], "{told_first}");
        let gone = tape.notices.iter().map(line).any(|it| it.contains("GONE"));
        assert_eq!(gone, !told_first);
    }
}

/// Another grant's release, one long after the end, and one that was never said explain nothing.
#[test]
fn an_end_that_no_release_explains_bad() {
    for (said, token) in [(1500, Some(7)), (9000, Some(1)), (0, None)] {
        let mut tape = Tape::new();
        tape.bound_ms = Some(3000);
        tape.report(1010, 1010, Claim::Holds, Some(1));
        tape.read(1100, Some(("me#1", Some(1), None)), Some(1));
        tape.read(2100, None, Some(1));
        match said {
            0 => tape.report(2200, 2200, Claim::Free, None),
            said => tape.report(said, said, Claim::Released, token),
        }
        let says = reasons(&mut tape, said.max(2200) + 100);
        assert!(
            says.len() == 1 && says[0].contains("held it no more"),
            "{said}: {says:#?}"
        );
    }
}

#[test]
fn a_belief_alone_bad() {
    let mut tape = Tape::new();
    free(&mut tape, 100);
    // It may have acquired it after that reading.
    tape.report(500, 500, Claim::Holds, Some(1));
    let says = reasons(&mut tape, 600);
    assert!(says.contains(&BELIEVES.to_owned()), "{says:#?}");
    assert!(diverged(&tape).is_empty());
    assert_eq!(tape.series("belief_holds", 600), Some(1.0));
    assert_eq!(tape.series("held", 600), Some(0.0));
}

#[test]
fn a_token_that_is_claimed_before_and_after_a_reading_of_nobody_bad() {
    let mut tape = Tape::new();
    tape.report(50, 60, Claim::Holds, Some(1));
    free(&mut tape, 100);
    assert!(diverged(&tape).is_empty(), "it was said before the reading");
    tape.report(1000, 1000, Claim::Holds, Some(1));
    assert!(diverged(&tape).is_empty(), "no reading confirms it yet");
    free(&mut tape, 1100);
    assert_eq!(diverged(&tape), [Duration::from_millis(898)]);
    let told = tape.notices.last().map(line).expect("a notice");
    assert!(told.contains("is this the owner's key?"), "{told}");
    tape.report(2000, 2000, Claim::Holds, Some(1));
    free(&mut tape, 2100);
    let by = tape.series("divergence_seconds", 2150).expect("a number");
    assert!((by - 1.898).abs() < 1e-9, "{by}");
    assert_eq!(diverged(&tape).len(), 1, "it is told once");
}

#[test]
fn another_token_is_another_grant_ok() {
    let mut tape = Tape::new();
    tape.report(50, 60, Claim::Holds, Some(1));
    free(&mut tape, 100);
    tape.report(1000, 1000, Claim::Holds, Some(2));
    free(&mut tape, 1100);
    assert!(diverged(&tape).is_empty());
}

#[test]
fn a_belief_that_gave_up_before_the_next_claim_ok() {
    let mut tape = Tape::new();
    tape.report(50, 60, Claim::Holds, Some(1));
    free(&mut tape, 100);
    tape.report(500, 500, Claim::Free, None);
    tape.report(1000, 1000, Claim::Holds, Some(1));
    free(&mut tape, 1100);
    assert!(diverged(&tape).is_empty());
}

#[test]
fn a_belief_as_old_as_the_reading_ok() {
    let mut tape = Tape::new();
    tape.report(50, 60, Claim::Holds, Some(1));
    free(&mut tape, 100);
    // Asked before the reading, answered after it.
    tape.report(90, 1000, Claim::Holds, Some(1));
    free(&mut tape, 1100);
    assert!(diverged(&tape).is_empty());
    let says = reasons(&mut tape, 1200);
    assert!(says.contains(&BELIEVES.to_owned()), "{says:#?}");
}

#[test]
fn a_replica_that_shows_nobody_accuses_nobody() {
    let mut tape = Tape::new();
    tape.board.store_may_be_behind(true);
    tape.report(50, 60, Claim::Holds, Some(1));
    free(&mut tape, 100);
    tape.report(1000, 1000, Claim::Holds, Some(1));
    free(&mut tape, 1100);
    assert!(diverged(&tape).is_empty());
    assert_eq!(tape.series("store_may_be_behind", 1200), Some(1.0));
    let says = reasons(&mut tape, 1200);
    assert!(says[0].starts_with("a replica answered"), "{says:#?}");
}

#[test]
fn a_free_key_beside_a_held_one_bad() {
    let mut tape = Tape::new();
    tape.report(1010, 1010, Claim::Holds, Some(1));
    tape.held(1100, 1000);
    tape.board.add_named("jobs/free", "jobs/free", None);
    assert_eq!(reasons(&mut tape, 1200), ["no reading shows it held: jobs/free"]);
}

#[test]
fn an_owner_that_was_silent_since_before_the_start_bad() {
    let mut tape = Tape::new();
    tape.report(10, 10, Claim::Holds, Some(1));
    tape.held(60_000, 59_900);
    let says = [format!("what its owner believes is not known now: {KEY}")];
    assert_eq!(reasons(&mut tape, 60_100), says);
}

#[test]
fn an_owner_that_never_spoke_bad() {
    let mut tape = Tape::with(Belief::default());
    tape.held(100, 0);
    let says = [format!("its owner never said what it believes: {KEY}")];
    assert_eq!(reasons(&mut tape, 200), says);
}

#[test]
fn a_report_while_nobody_looked_is_not_judged() {
    let mut tape = Tape::new();
    tape.report_since(1000, 1000, Claim::Holds, Some(1), Some(at(500, 500)));
    let says = untold(&tape.board, ms(1100));
    assert_eq!(
        says,
        [
            "no round of readings was answered".to_owned(),
            format!("no reading shows it held: {KEY}")
        ]
    );
}

/// An owner that said that it lost the lease, and waits for it beside another: it says no more until it has it, and that is no
/// silence. Where the grant may be its own, or its last word was that it holds, it is.
#[test]
fn an_owner_that_lost_and_waits_is_known_to_believe_nothing() {
    for (name, holder, claim, known) in [
        (Some("me"), Some("other#1"), Claim::Free, 1.0),
        (Some("me"), None, Claim::Free, 1.0),
        (None, None, Claim::Released, 1.0),
        (Some("me"), Some("me#1"), Claim::Free, 0.0),
        (None, Some("other#1"), Claim::Free, 0.0),
        (Some("me"), Some("other#1"), Claim::Holds, 0.0),
    ] {
        let mut tape = Tape::with(Belief {
            name: name.map(Box::from),
            ..Belief::default()
        });
        tape.report(1010, 1010, claim, Some(1));
        tape.read(1100, holder.map(|holder| (holder, Some(2), Some(4000))), Some(2));
        assert_eq!(
            tape.series("belief_known", 3_600_000),
            Some(known),
            "{name:?} {holder:?} {claim:?}"
        );
    }
}
