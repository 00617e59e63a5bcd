//! What readings show of a lease: renewals, tokens, the store's clock; and what a gap hides.

use crate::tape::{Tape, at, ms};
use leaseproof_live::watch::lease::Change;
use leaseproof_live::watch::notices::Notice;
use leaseproof_store::StoreError;
use std::time::Duration;

#[test]
fn a_forward_jump_of_the_expiry_is_a_renewal_placed_by_the_ttl() {
    let mut tape = Tape::new();
    tape.held(1100, 1000);
    tape.held(2100, 2000);
    tape.held(2900, 2000);
    assert_eq!(tape.series("renewals_total", 3000), Some(1.0));
    assert_eq!(tape.series("ttl_granted_seconds", 3000), Some(3.0));
    assert_eq!(tape.series("renewal_age_seconds", 3000), Some(0.898));
    assert_eq!(tape.series("ttl_left_seconds", 3000), Some(2.0));
    assert_eq!(tape.series("margin_used_ratio", 3000), Some(0.0));
    tape.held(4100, 2000);
    let used = tape.series("margin_used_ratio", 4100).expect("a number");
    assert!((used - 0.898 / 1.75).abs() < 0.01, "{used}");
}

#[test]
fn a_step_of_the_servers_clock_is_no_renewal() {
    let mut tape = Tape::new();
    tape.held(1100, 1000);
    tape.server_ahead_ms = -60_000;
    tape.held(2100, 61_000);
    assert_eq!(tape.series("renewals_total", 2200), Some(0.0));
    assert_eq!(tape.series("store_clock_steps_total", 2200), Some(1.0));
    assert!(tape.notices.contains(&Notice::StoreStepped));
    let offset = tape.series("store_clock_offset_seconds", 2200).expect("a number");
    assert!((offset + 60.0).abs() < 0.01, "{offset}");
}

#[test]
fn a_restart_of_the_store_is_no_renewal() {
    let mut tape = Tape::new();
    tape.held(1100, 1000);
    tape.epoch = "two/primary";
    tape.held(2100, 2000);
    assert_eq!(tape.series("renewals_total", 2200), Some(0.0));
    assert_eq!(tape.series("store_epoch_changes_total", 2200), Some(1.0));
    tape.held(3100, 3000);
    assert_eq!(tape.series("renewals_total", 3200), Some(1.0));
}

#[test]
fn a_token_that_is_not_greater_goes_back_once() {
    let mut tape = Tape::new();
    tape.read(100, Some(("a#1", Some(41), Some(3000))), Some(41));
    tape.read(1100, Some(("b#1", Some(42), Some(4000))), Some(42));
    assert_eq!(tape.series("fence_back_total", 1200), Some(0.0));
    tape.read(2100, Some(("a#2", Some(42), Some(5000))), Some(42));
    tape.read(3100, Some(("a#2", Some(42), Some(6000))), Some(42));
    assert_eq!(tape.series("fence_back_total", 3200), Some(1.0));
    tape.read(4100, None, None);
    tape.read(5100, Some(("a#3", Some(1), Some(8000))), Some(1));
    tape.read(6100, Some(("b#3", Some(2), Some(9000))), Some(2));
    assert_eq!(tape.series("fence_back_total", 6200), Some(2.0));
    assert_eq!(tape.series("holder_changes_total", 6200), Some(4.0));
    let back = |it: &&Notice| {
        matches!(
            it,
            Notice::Changed {
                change: Change::FenceBack { .. },
                ..
            }
        )
    };
    assert_eq!(tape.notices.iter().filter(back).count(), 2);
}

#[test]
fn a_lease_without_a_ttl_is_seen() {
    let mut tape = Tape::new();
    tape.read(100, Some(("a#1", Some(1), None)), Some(1));
    assert_eq!(tape.series("without_ttl", 200), Some(1.0));
    assert_eq!(tape.series("ttl_left_seconds", 200), None);
    assert_eq!(tape.series("renewal_age_seconds", 200), None);
}

#[test]
fn a_release_in_time_is_no_lapse() {
    let mut tape = Tape::new();
    tape.held(1100, 1000);
    tape.read(2100, None, Some(1));
    tape.read(5100, None, Some(1));
    assert_eq!(tape.series("lapses_total", 5200), Some(0.0));
}

#[test]
fn a_gap_of_the_monitor_is_said_and_not_judged() {
    let mut tape = Tape::new();
    tape.held(1100, 1000);
    let mut notices = Vec::new();
    tape.board.woke(Duration::from_secs(60), ms(61_200), &mut notices);
    assert_eq!(notices, [Notice::Blind(Duration::from_secs(60))]);
    // Renewed 2.5 s before the first reading after the gap: by the owner's cadence, or by its pause?
    tape.held(61_200, 58_700);
    assert_eq!(tape.series("blind_seconds_total", 61_300), Some(60.0));
    assert_eq!(tape.series("renewal_gap_worst_seconds", 61_300), None);
    tape.board.woke(Duration::from_millis(3), ms(61_400), &mut notices);
    assert_eq!(notices.len(), 1, "a little late is not blind");
}

#[test]
fn a_key_that_is_no_lease_is_told_once() {
    let mut tape = Tape::new();
    let mut notices = Vec::new();
    for _ in 0..2 {
        tape.board.unreadable(
            tape.place,
            &StoreError::Unexpected("the key holds a list".to_owned()),
            &mut notices,
        );
    }
    assert_eq!(notices.len(), 1);
    assert_eq!(tape.series("unreadable", 100), Some(1.0));
    tape.held(1100, 1000);
    assert_eq!(tape.series("unreadable", 1200), Some(0.0));
}

#[test]
fn renewals_that_hide_in_whole_seconds_are_no_gap() {
    let mut tape = Tape::new();
    tape.coarse_ms = 1100;
    // Renewed each half second: no reading shows a later expiry than the one before may have been.
    for second in 1..20 {
        tape.held(second * 1000 + 100, second * 1000);
        let age = tape
            .series("renewal_age_seconds", second * 1000 + 200)
            .expect("a number");
        assert!(age < 1.0, "{second}: {age}");
    }
    // Nobody renews any more: that shows, less what is not known.
    for second in 20..23 {
        tape.held(second * 1000 + 100, 19_000);
    }
    let age = tape.series("renewal_age_seconds", 22_200).expect("a number");
    assert!((2.0..3.2).contains(&age), "{age}");
    tape.read(23_100, None, Some(1));
    assert_eq!(tape.series("lapses_total", 23_200), Some(1.0));
}

#[test]
fn an_expiry_that_was_looked_at_before_says_nothing_of_now() {
    let mut tape = Tape::new();
    tape.held(1100, 1000);
    // Three readings of the key alone; the TTL is what the first showed.
    for second in 2..5 {
        tape.stale(second * 1000 + 100, 1000, at(1100, 1102));
        let age = tape
            .series("renewal_age_seconds", second * 1000 + 200)
            .expect("a number");
        assert!(age < 0.2, "{second}: {age}");
    }
    // Renewed meanwhile: that is seen when the TTL is looked at again.
    tape.held(5100, 4000);
    assert_eq!(tape.series("renewals_total", 5200), Some(1.0));
    assert_eq!(tape.series("lapses_total", 5200), Some(0.0));
}

/// A store that shows what is left in whole seconds, cut: no two readings in a row need show a renewal, and all of
/// them together do. Never more than there were.
#[test]
fn renewals_that_hide_in_whole_seconds_are_counted_by_what_the_readings_add_up_to() {
    for every in [300, 500, 900, 1000, 1010, 1300, 1700] {
        for phase in [0, 130, 490, 770, 980] {
            let mut tape = Tape::new();
            tape.coarse_ms = 1000;
            for second in 0..20 {
                let when = 3000 + second * 1000;
                let renewed = when - (when + phase) % every;
                let left = (renewed + 3000 - when) / 1000 * 1000;
                tape.read(when, Some(("me#1", Some(1), Some(when + left + 500))), Some(1));
            }
            let counted = tape.series("renewals_total", 22_100).expect("a number");
            let were = (19_000 / every + 1) as f64;
            assert!(counted <= were, "{every} {phase}: {counted} of {were}");
            // Of those that a second hides one counts, and with readings a second apart it takes up to three.
            let certain = were.min(19.0) / 3.0 - 1.0;
            assert!(counted >= certain, "{every} {phase}: {counted} of {were}");
            // How far they are apart is not known here: that is no gap of nothing.
            let gap = tape.series("renewal_gap_worst_seconds", 22_100);
            assert!(
                gap.is_none_or(|gap| gap > 0.0 && gap <= every as f64 / 1000.0),
                "{every} {phase}: {gap:?}"
            );
            assert_eq!(tape.series("lapses_total", 22_100), Some(0.0));
        }
    }
}

/// One that nobody renews shows one expiry in all its readings, however they are cut.
#[test]
fn whole_seconds_renew_nothing_by_themselves() {
    for phase in [0, 130, 490, 770, 980] {
        let mut tape = Tape::new();
        tape.coarse_ms = 1000;
        for second in 0..50 {
            let when = 1000 + second * 1000;
            let left = (60_000 + phase - when) / 1000 * 1000;
            tape.read(when, Some(("me#1", Some(1), Some(when + left + 500))), Some(1));
        }
        assert_eq!(tape.series("renewals_total", 50_100), Some(0.0), "{phase}");
    }
}
