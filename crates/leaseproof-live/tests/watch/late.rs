//! A monitor that can't keep its interval: said, counted, and no pass once it made fewer than half of its rounds.

use crate::tape::{Tape, ms};
use leaseproof_live::watch::notices::{Notice, line};
use leaseproof_live::watch::untold::untold;
use leaseproof_model::clock::Stamp;
use std::time::Duration;

/// A minute of rounds at an interval of a second, each over so many ms after it was due.
fn rounds(took: u64) -> (Tape, Vec<Notice>) {
    let mut tape = Tape::without_owner();
    tape.held(100, 0);
    let mut notices = Vec::new();
    let mut due = 0;
    while due < 60_000 {
        tape.board.own.rounds += 1;
        let over = due + took;
        let span = Duration::from_millis(took);
        tape.board.round_over(ms(due), span, ms(over), &mut notices);
        due = (due + 1000).max(over);
    }
    tape.board.own.last_round = Some(Stamp::default());
    (tape, notices)
}

fn reasons(tape: &Tape) -> Vec<String> {
    let all = untold(&tape.board, ms(60_000));
    all.into_iter().filter(|it| it.contains("were due")).collect()
}

#[test]
fn rounds_in_time_ok() {
    let (tape, notices) = rounds(900);
    assert_eq!(tape.series("rounds_missed_total", 60_000), Some(0.0));
    assert_eq!(notices, []);
    assert_eq!(reasons(&tape), [""; 0]);
}

/// Told, and most of what was asked for.
#[test]
fn rounds_that_take_a_little_longer_ok() {
    let (tape, notices) = rounds(1500);
    assert_eq!((tape.board.own.rounds, tape.board.own.missed), (40, 20));
    assert_eq!(notices.len(), 1, "once a minute");
    let says =
        "LATE: a round of readings took 1.500 s, and one is due every 1.000 s: leases are read less often than that";
    assert_eq!(line(&notices[0]), says);
    assert_eq!(reasons(&tape), [""; 0]);
}

#[test]
fn rounds_that_take_three_times_as_long_bad() {
    let (tape, _) = rounds(3000);
    let says = "20 rounds where 60 were due: each took longer than the interval, so raise it, or watch fewer leases";
    assert_eq!(reasons(&tape), [says]);
    assert_eq!(tape.series("rounds_missed_total", 60_000), Some(40.0));
}

/// The monitor stood still before a round that took no time, and a round waited for a store that did not answer: both are
/// missed rounds, and both are told as what they are.
#[test]
fn a_stop_of_the_monitor_and_a_silent_store_are_not_called_late() {
    let mut tape = Tape::without_owner();
    tape.held(100, 0);
    let mut notices = Vec::new();
    tape.board
        .round_over(ms(1000), Duration::from_millis(2), ms(11_000), &mut notices);
    assert_eq!(notices, []);
    assert_eq!(tape.board.own.missed, 9);
    tape.board.store.up = false;
    tape.board
        .round_over(ms(11_000), Duration::from_secs(3), ms(14_000), &mut notices);
    assert_eq!(notices, []);
}
