//! A server that does what etcd's lessor does, looked at at every kind of moment.

use super::*;
use std::time::Duration;

const MS: u64 = 1_000_000;
const START: u64 = 1_000_000 * MS;

/// A look at `at` ms, that took `took` ms, at a lease that expires at `expires` ms; the server answers in
/// the middle.
fn look(at: u64, took: u64, expires: u64, granted: i64) -> Look {
    let left = i64::try_from(expires).expect("small") - i64::try_from(at + took / 2).expect("small");
    Look {
        at: Moment {
            earliest: BootNanos(START + at * MS),
            latest: BootNanos(START + (at + took) * MS),
        },
        // Integer division cuts towards zero, as Go's conversion does.
        left: left / 1000,
        granted,
    }
}

fn moment(ms: u64) -> BootNanos {
    BootNanos(START + ms * MS)
}

#[track_caller]
fn holds(known: &Known, expires: u64) {
    let expires = moment(expires);
    assert!(
        known.expiry.earliest <= expires && expires <= known.expiry.latest,
        "{known:?} misses {expires:?}"
    );
}

#[test]
fn one_look_places_it_to_a_second() {
    // Left in ms: within what.
    for (expires, least, most) in [(4500, 4000, 5000), (500, -1000, 1000)] {
        let known = Known::first(look(1000, 0, 1000 + expires, 5));
        holds(&known, 1000 + expires);
        let slack = 4;
        let low =
            i64::try_from(known.expiry.earliest.0 / MS).expect("small") - i64::try_from(START / MS).expect("small");
        let high =
            i64::try_from(known.expiry.latest.0 / MS).expect("small") - i64::try_from(START / MS).expect("small");
        assert!((low - 1000 - least).abs() <= slack, "{low}");
        assert!((high - 1000 - most).abs() <= slack, "{high}");
    }
    // Over for 1.5 s, and not yet revoked.
    let known = Known::first(look(3000, 0, 1500, 5));
    assert_eq!(known.last.left, -1);
    holds(&known, 1500);
}

#[test]
fn the_change_of_the_shown_second_places_it_to_the_time_between_two_looks() {
    let expires = 10_000;
    let mut known = Known::first(look(5300, 1, expires, 5));
    for at in (5320..9990).step_by(20) {
        known = known.then(look(at, 1, expires, 5));
        holds(&known, expires);
        assert_eq!(known.moves, 0);
        if at > 6040 {
            assert!(
                known.expiry.uncertainty() < Duration::from_millis(30),
                "{at}: {known:?}"
            );
        }
    }
}

#[test]
fn a_renewal_is_bracketed_and_its_expiry_is_narrow_at_once() {
    let mut known = Known::first(look(20, 1, 5000, 5));
    for at in (40..1640).step_by(20) {
        known = known.then(look(at, 1, 5000, 5));
    }
    known = known.then(look(1660, 1, 1650 + 5000, 5));
    assert_eq!(known.moves, 1);
    holds(&known, 6650);
    assert!(known.expiry.uncertainty() < Duration::from_millis(50), "{known:?}");
}

/// Leases renewed at every cadence, sampled at every pace, with looks that take their time: the true
/// expiry is inside, always, and no renewal is told that was none.
#[test]
fn it_is_never_wrong() {
    for granted in [1_u64, 2, 3, 5, 10] {
        for heartbeat in [130, 333, 700, 999, 1000, 1001, 1300, 1667, 2500, 3333] {
            for pace in [7, 25, 333, 1100, 2600] {
                for took in [0, 3, 40, 900] {
                    let granted_s = i64::try_from(granted).expect("small");
                    let (mut expires, mut renewals, mut next) = (granted * 1000, 0, heartbeat);
                    let mut known: Option<Known> = None;
                    for step in 1..400 {
                        let at = step * (pace + took);
                        let seen = at + took / 2;
                        while next <= seen && next < expires {
                            expires = next + granted * 1000;
                            renewals += 1;
                            next += heartbeat;
                        }
                        if seen > expires + 1500 {
                            break;
                        }
                        let look = look(at, took, expires, granted_s);
                        let now = known.map_or_else(|| Known::first(look), |known| known.then(look));
                        holds(&now, expires);
                        assert!(now.moves <= renewals, "{granted} {heartbeat} {pace} {took}: {now:?}");
                        known = Some(now);
                    }
                    // Two renewals more than a second apart are both seen, if the looks are close.
                    if heartbeat >= 1300 && pace + took < 100 && heartbeat < granted * 1000 {
                        let moves = known.map_or(0, |known| known.moves);
                        assert!(
                            moves + 1 >= renewals,
                            "{granted} {heartbeat} {pace} {took}: {moves} of {renewals}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_leader_that_extends_and_a_renewal_that_takes_it_back_are_moves() {
    // A new leader gives a full TTL and an election's time more; the next renewal is nearer.
    let mut known = Known::first(look(20, 1, 7500, 5));
    known = known.then(look(40, 1, 7500, 5));
    assert_eq!(known.moves, 0);
    known = known.then(look(60, 1, 5050, 5));
    assert_eq!(known.moves, 1);
    holds(&known, 5050);
}
