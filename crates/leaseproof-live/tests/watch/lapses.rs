//! A lease that lapses, or whose margin is used up, while it is looked at: told at once, and never "nothing wrong".

use crate::tape::{Tape, ms};
use leaseproof_live::watch::lease::Change;
use leaseproof_live::watch::notices::{Notice, line};
use leaseproof_live::watch::untold::untold;
use leaseproof_model::clock::Stamp;

/// A lease without an owner that says anything, in rounds that were answered.
fn tape() -> Tape {
    let mut tape = Tape::without_owner();
    tape.board.own.last_round = Some(Stamp::default());
    tape.board.store.up = true;
    tape
}

/// What was told of the lease but for new holders, and for a TTL that is not the plan's.
fn told(tape: &Tape) -> Vec<String> {
    let new = |it: &&Notice| {
        matches!(
            it,
            Notice::Changed {
                change: Change::NewHolder { .. } | Change::TtlDiffers { .. },
                ..
            }
        )
    };
    tape.notices.iter().filter(|it| !new(it)).map(line).collect()
}

const LAPSED: &str = "its TTL ran out without a renewal, and nothing proves that its owner stopped in time: jobs/daily";

#[test]
fn renewed_throughout_ok() {
    let mut tape = tape();
    for second in 1..10 {
        tape.held(second * 1000 + 100, second * 1000);
    }
    assert_eq!(untold(&tape.board, ms(10_000)), [""; 0]);
    assert_eq!(told(&tape), [""; 0]);
}

#[test]
fn released_ok() {
    let mut tape = tape();
    tape.held(1100, 1000);
    tape.read(2100, None, Some(1));
    assert_eq!(untold(&tape.board, ms(2200)), [""; 0]);
    assert_eq!(told(&tape), [""; 0]);
}

/// A session's lease shows no expiry: that it is gone may be a release, and may be none.
#[test]
fn an_end_that_the_store_does_not_explain_bad() {
    let mut tape = tape();
    tape.bound_ms = Some(9000);
    tape.read(1100, Some(("me#1", Some(1), None)), Some(1));
    tape.read(2100, None, Some(1));
    let gone =
        "its holder held it no more, and this store does not show whether it was given back or ran out: jobs/daily";
    assert_eq!(untold(&tape.board, ms(2200)), [gone]);
    let line = "jobs/daily: GONE: me#1 holds it no more, since 1.002 s at the most: given back, taken away or run out, and this \
                store does not show which";
    assert_eq!(told(&tape), [line]);
    assert_eq!(tape.series("lapses_total", 2200), Some(0.0));
}

const UNSEEN: &str = "its holder held it no more at the first reading after a while, by when its TTL may have been over: \
                      whether it was given back or ran out no reading shows: jobs/daily";

/// The store answered nothing past the TTL, and the lease was not overdue before: of its end no more is known.
#[test]
fn an_end_while_the_store_was_silent_bad() {
    let mut tape = tape();
    tape.held(1100, 1000);
    tape.held(2100, 2000);
    tape.read(8100, None, Some(1));
    let line = "jobs/daily: GONE: me#1 holds it no more, since 6.002 s at the most: given back, taken away or run out, and no \
                reading since then shows which: its TTL may have been over by now";
    assert_eq!(told(&tape), [line]);
    assert_eq!(untold(&tape.board, ms(8200)), [UNSEEN]);
}

/// Back before the TTL was over: then it did not run out.
#[test]
fn an_end_in_a_shorter_silence_ok() {
    let mut tape = tape();
    tape.held(1100, 1000);
    tape.read(3100, None, Some(1));
    assert_eq!(told(&tape), [""; 0]);
    assert_eq!(untold(&tape.board, ms(3200)), [""; 0]);
}

#[test]
fn a_lapse_bad() {
    let mut tape = tape();
    for when in [1100, 2100, 3100, 3900] {
        tape.held(when, 1000);
    }
    tape.read(4100, None, Some(1));
    assert_eq!(
        told(&tape),
        ["jobs/daily: LAPSED: the TTL of me#1 ran out without a renewal"]
    );
    // Whoever takes it then, and however well: it is not unsaid.
    tape.read(5100, Some(("b#1", Some(2), Some(8000))), Some(2));
    tape.read(6100, Some(("b#1", Some(2), Some(9000))), Some(2));
    assert_eq!(untold(&tape.board, ms(6200)), [LAPSED]);
    assert_eq!(told(&tape).len(), 1);
}

#[test]
fn a_lapse_that_another_took_over_at_once_bad() {
    let mut tape = tape();
    for when in [1100, 2100, 3100] {
        tape.held(when, 1000);
    }
    tape.read(4100, Some(("b#1", Some(2), Some(7050))), Some(2));
    assert_eq!(
        told(&tape),
        ["jobs/daily: LAPSED: the TTL of me#1 ran out without a renewal"]
    );
    assert_eq!(untold(&tape.board, ms(4200)), [LAPSED]);
    assert_eq!(tape.series("holder_changes_total", 4200), Some(1.0));
}

/// A TTL that is longer than the plan's: the lease is still held when the plan's margin is over.
#[test]
fn a_used_up_margin_bad() {
    let mut tape = tape();
    let held = |tape: &mut Tape, when| tape.read(when, Some(("me#1", Some(1), Some(11_000))), Some(1));
    for when in [1100, 2100, 3100] {
        held(&mut tape, when);
    }
    assert_eq!(told(&tape), [""; 0]);
    for when in [4100, 5100, 6100] {
        held(&mut tape, when);
    }
    assert_eq!(
        told(&tape),
        ["jobs/daily: MARGIN GONE: me#1 was not renewed for 2.998 s at least: the plan's margin of 1.750 s is used up"]
    );
    let says = "the plan's margin of 1.750 s was used up without a renewal: jobs/daily";
    assert_eq!(untold(&tape.board, ms(6200)), [says]);
    // Renewed at last, and then not again: that is another time.
    tape.read(7100, Some(("me#1", Some(1), Some(17_000))), Some(1));
    for when in [8100, 9100, 10_100, 11_100] {
        tape.read(when, Some(("me#1", Some(1), Some(17_000))), Some(1));
    }
    assert_eq!(told(&tape).len(), 2, "{:#?}", told(&tape));
    assert_eq!(untold(&tape.board, ms(11_200)), [says]);
}

#[test]
fn a_lease_that_never_ends_bad() {
    let mut tape = tape();
    tape.read(100, Some(("a#1", Some(1), None)), Some(1));
    assert_eq!(
        untold(&tape.board, ms(200)),
        ["it is held and never ends by itself: jobs/daily"]
    );
}

#[test]
fn a_step_of_the_clock_bad() {
    let mut tape = tape();
    tape.held(1100, 1000);
    tape.server_ahead_ms = 500;
    tape.held(2100, 1500);
    let says = "the store's clock stepped: what it ended or renewed by that is not judged";
    assert_eq!(untold(&tape.board, ms(2200)), [says]);
}
