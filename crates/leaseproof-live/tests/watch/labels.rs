//! Keys become labels up to a bound; the rest is `other`, with the worst of it and a count.

use crate::tape::{at, ms, terms};
use leaseproof_live::watch::board::Board;
use leaseproof_live::watch::page;
use leaseproof_model::event::{Held, Reading};
use leaseproof_model::name::{HolderId, Token};
use leaseproof_store::Listing;

fn listing(keys: &[&str], more: bool) -> Listing {
    let mut keys: Vec<String> = keys.iter().map(|&key| key.to_owned()).collect();
    keys.sort();
    Listing {
        keys,
        more,
        not_text: 0,
    }
}

fn read_all(board: &mut Board, when: u64, renewed: u64, token: u64) {
    let places: Vec<_> = board.iter().map(|(place, _)| place).collect();
    for place in places {
        let reading = Reading {
            previous: None,
            held: Some(Held {
                holder: HolderId::from(format!("me#{token}")),
                token: Some(Token(token)),
                expires: Some(at(renewed + 3000, renewed + 3000)),
                bound: None,
                ttl: None,
                expired: false,
                granted: None,
                renewed: None,
                write_lock: false,
            }),
            counter: None,
            server_ns: None,
            epoch: None,
        };
        board.lease_saw(place, at(when, when), &reading, &mut Vec::new());
    }
}

fn lines<'a>(text: &'a str, series: &str) -> Vec<&'a str> {
    let name = format!("leaseproof_watch_{series}");
    let of = |line: &&str| {
        line.strip_prefix(&name)
            .is_some_and(|rest| rest.starts_with(['{', ' ']))
    };
    text.lines().filter(of).collect()
}

#[test]
fn beyond_the_bound_there_is_one_line_with_the_worst() {
    let mut board = Board::new(terms(), 1);
    assert_eq!(board.found("k/", 100, &listing(&["k/a", "k/b", "k/c"], false)), 0);
    read_all(&mut board, 1000, 1000, 1);
    read_all(&mut board, 1900, 1000, 1);
    let text = page::render(&board, ms(2000));
    assert_eq!(
        lines(&text, "renewal_age_seconds"),
        [
            "leaseproof_watch_renewal_age_seconds{lease=\"k/a\"} 0.9",
            "leaseproof_watch_renewal_age_seconds{lease=\"other\"} 0.9"
        ]
    );
    assert_eq!(lines(&text, "token"), ["leaseproof_watch_token{lease=\"k/a\"} 1"]);
    assert_eq!(lines(&text, "leases_in_other"), ["leaseproof_watch_leases_in_other 2"]);
}

#[test]
fn a_key_named_other_gets_no_label() {
    let mut board = Board::new(terms(), 10);
    board.found("o", 10, &listing(&["other"], false));
    read_all(&mut board, 1000, 1000, 1);
    assert_eq!(board.iter().filter(|(_, entry)| entry.label.is_none()).count(), 1);
}

#[test]
fn a_counter_of_the_others_never_goes_down() {
    let mut board = Board::new(terms(), 0);
    board.found("k/", 100, &listing(&["k/a", "k/b"], false));
    read_all(&mut board, 1000, 1000, 1);
    read_all(&mut board, 2000, 2000, 2);
    let before = page::render(&board, ms(2100));
    board.found("k/", 100, &listing(&["k/b"], false));
    let after = page::render(&board, ms(2100));
    let changes = lines(&before, "holder_changes_total");
    assert_eq!(changes, ["leaseproof_watch_holder_changes_total{lease=\"other\"} 2"]);
    assert_eq!(changes, lines(&after, "holder_changes_total"));
    board.found("k/", 100, &listing(&[], false));
    assert_eq!(changes, lines(&page::render(&board, ms(2100)), "holder_changes_total"));
}

#[test]
fn what_is_beyond_a_prefix_s_bound_is_counted_and_what_is_watched_stays() {
    let mut board = Board::new(terms(), 10);
    assert_eq!(board.found("k/", 2, &listing(&["k/b", "k/c", "k/d"], false)), 1);
    let keys = |board: &Board| {
        board
            .iter()
            .map(|(_, it)| it.key.shown().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(&board), ["k/b", "k/c"]);
    // A listing that was cut short says nothing about what it does not show.
    assert_eq!(board.found("k/", 2, &listing(&["k/a", "k/d"], true)), 2);
    assert_eq!(keys(&board), ["k/b", "k/c"]);
    // One that is gone makes room.
    assert_eq!(board.found("k/", 2, &listing(&["k/a", "k/c"], false)), 0);
    assert_eq!(keys(&board), ["k/a", "k/c"]);
    board.found("other-prefix/", 2, &listing(&["other-prefix/x"], false));
    assert_eq!(board.len(), 3);
}

#[test]
fn long_keys_have_short_labels_and_too_long_ones_are_left_out() {
    let mut board = Board::new(terms(), 10);
    let (one, two, huge) = ("ä".repeat(500) + "1", "ä".repeat(500) + "2", "ä".repeat(600));
    assert_eq!(board.found("ä", 10, &listing(&[&one, &two, &huge], false)), 1);
    let labels: Vec<_> = board.iter().filter_map(|(_, entry)| entry.label.clone()).collect();
    assert_eq!(labels.len(), 2);
    assert_ne!(labels[0], labels[1]);
    assert!(labels.iter().all(|label| label.len() <= 128), "{labels:?}");
}
