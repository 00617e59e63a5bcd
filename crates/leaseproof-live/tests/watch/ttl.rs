//! The TTL in force set against the plan's 3 s (LP022), by readings alone.

use crate::tape::{Tape, ms};
use leaseproof_live::watch::lease::Change;
use leaseproof_live::watch::notices::{Notice, line};
use leaseproof_live::watch::untold::untold;
use leaseproof_model::clock::Stamp;

/// A reading at `when`, which shows that it will expire at `expires`.
fn shows(tape: &mut Tape, when: u64, expires: u64) {
    tape.read(when, Some(("me#1", Some(1), Some(expires))), Some(1));
}

fn told(tape: &Tape) -> Vec<String> {
    let differs = |it: &&Notice| {
        matches!(
            it,
            Notice::Changed {
                change: Change::TtlDiffers { .. },
                ..
            }
        )
    };
    tape.notices.iter().filter(differs).map(line).collect()
}

#[test]
fn the_plan_s_ok() {
    let mut tape = Tape::new();
    tape.held(100, 0);
    assert_eq!(tape.series("ttl_differs", 200), None, "what is left says too little");
    // 20 ms more are rounding.
    for (when, expires) in [(1100, 4020), (2100, 5000), (3100, 6000), (4400, 7300)] {
        shows(&mut tape, when, expires);
        assert_eq!(tape.series("ttl_differs", when + 10), Some(0.0), "{when}");
    }
    assert_eq!(told(&tape), [""; 0]);
}

#[test]
fn a_longer_one_bad() {
    let mut tape = Tape::new();
    // By what is left at the first look.
    shows(&mut tape, 100, 9000);
    assert_eq!(tape.series("ttl_differs", 200), Some(1.0));
    shows(&mut tape, 1100, 10_000);
    shows(&mut tape, 2100, 11_000);
    let told = told(&tape);
    let says = "jobs/daily: TTL DIFFERS: the TTL in force is at least 8898 ms, and the plan says 3000 ms (LP022)";
    assert_eq!(told, [says], "once");
    tape.board.own.last_round = Some(Stamp::default());
    let says = untold(&tape.board, ms(2200)).join(" ");
    assert!(!says.contains("TTL in force"), "the budget holds all the same: {says}");
}

#[test]
fn a_shorter_one_bad() {
    let mut tape = Tape::new();
    shows(&mut tape, 100, 1500);
    assert_eq!(tape.series("ttl_differs", 200), None);
    shows(&mut tape, 1100, 2500);
    assert_eq!(tape.series("ttl_differs", 1200), Some(1.0));
    let told = told(&tape);
    assert!(told[0].contains("the TTL in force is 1398 to 2402 ms"), "{told:?}");
    assert!(told[0].contains("which is not above the worst pause"), "{told:?}");
    tape.board.own.last_round = Some(Stamp::default());
    let says = untold(&tape.board, ms(1200)).join(" ");
    assert!(
        says.contains("with the TTL in force, which is not the plan's"),
        "{says}"
    );
}

/// What the store states counts, and not what is left when a slow renewal shows at last.
#[test]
fn a_stated_one_ok_and_bad() {
    for (stated, differs) in [(3000, 0.0), (2000, 1.0)] {
        let mut tape = Tape::new();
        tape.stated_ms = Some(stated);
        shows(&mut tape, 100, 2000);
        shows(&mut tape, 1100, 2900);
        assert_eq!(tape.series("ttl_differs", 1200), Some(differs), "{stated}");
        assert_eq!(told(&tape).len(), usize::from(differs > 0.0), "{stated}");
    }
}

/// An owner that changes it while it holds.
#[test]
fn one_that_is_shortened_bad() {
    let mut tape = Tape::new();
    tape.held(100, 0);
    tape.held(1100, 1000);
    tape.held(2100, 2000);
    assert_eq!(tape.series("ttl_differs", 2200), Some(0.0));
    shows(&mut tape, 3100, 3600);
    assert_eq!(tape.series("ttl_differs", 3200), Some(1.0));
    assert_eq!(told(&tape).len(), 1);
}

/// An expiry that a slewed clock moves is no renewal that would bound the TTL.
#[test]
fn a_clock_that_is_slewed_ok() {
    let mut tape = Tape::new();
    for (when, expires) in [(100, 2900), (1100, 2960), (2100, 3020)] {
        shows(&mut tape, when, expires);
        assert_eq!(tape.series("ttl_differs", when + 10), None, "{when}");
    }
    assert_eq!(told(&tape), [""; 0]);
}
