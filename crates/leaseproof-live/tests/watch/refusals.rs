//! A store that answers and refuses is told from one that does not answer, and a key that is closed from one that holds
//! no lease.

use crate::tape::{Tape, ms};
use leaseproof_live::watch::notices::{Notice, line};
use leaseproof_live::watch::untold::untold;
use leaseproof_model::clock::Stamp;
use leaseproof_store::{Lasts, StoreError};
use std::time::Duration;

fn refused(why: &str) -> StoreError {
    lasting(Lasts::Mended, why)
}

fn lasting(lasts: Lasts, why: &str) -> StoreError {
    StoreError::Refused {
        url: "redis://127.0.0.1:6379".to_owned(),
        why: why.to_owned(),
        lasts,
    }
}

/// What is told of failed rounds, and what is said at the end.
fn of(errors: &[StoreError]) -> (Vec<String>, Vec<String>) {
    let mut tape = Tape::without_owner();
    tape.held(1100, 1000);
    tape.board.own.last_round = Some(Stamp::default());
    let mut notices: Vec<Notice> = Vec::new();
    for error in errors {
        tape.board.store_failed(error, &mut notices);
    }
    (notices.iter().map(line).collect(), untold(&tape.board, ms(1200)))
}

#[test]
fn a_refusal_bad() {
    let (told, says) = of(&[refused("NOPERM no"), refused("NOPERM no")]);
    assert_eq!(told, ["the store at redis://127.0.0.1:6379 refuses: NOPERM no"]);
    assert_eq!(says, ["the store refused 2 rounds: this user may not look"]);
}

#[test]
fn a_store_that_is_not_ready_does_not_answer() {
    let (told, says) = of(&[lasting(Lasts::Moment, "LOADING Redis is loading the dataset in memory")]);
    assert!(told[0].starts_with("the store does not answer: "), "{told:?}");
    assert_eq!(says, ["the store did not answer 1 round"]);
}

#[test]
fn a_silence_that_becomes_a_refusal_is_told_as_both() {
    let (told, says) = of(&[StoreError::TimedOut(Duration::from_secs(2)), refused("NOPERM no")]);
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(
        says,
        [
            "the store did not answer 1 round",
            "the store refused 1 round: this user may not look"
        ]
    );
}

#[test]
fn a_key_that_is_closed_holds_no_less_a_lease() {
    let mut tape = Tape::without_owner();
    tape.board.own.last_round = Some(Stamp::default());
    let mut notices = Vec::new();
    tape.board
        .unreadable(tape.place, &refused("this user may not use the key"), &mut notices);
    assert_eq!(untold(&tape.board, ms(100)), ["this user may not read it: jobs/daily"]);
    // And once it may, it is read.
    tape.held(1100, 1000);
    assert_eq!(untold(&tape.board, ms(1200)), [""; 0]);
}
