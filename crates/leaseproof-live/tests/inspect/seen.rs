//! What is seen of a lease in a span: its renewals, and what else happens to it.

use crate::sim::{Deed, Dice, MS, redis, span};
use crate::whole_seconds::in_whole_seconds;
use leaseproof_live::inspect::view::{Span, view};
use leaseproof_model::inspect::Range;
use leaseproof_model::inspect::lease_view::{Change, LeaseView};
use std::time::Duration;

/// A grant long before the span, and renewals `every` ms with up to `jitter` ms of lateness.
pub fn renewals(every: f64, jitter: u64, until: f64) -> Vec<(f64, Deed)> {
    let mut dice = Dice(11);
    let mut deeds = vec![(-5.0 * every, Deed::Grant("a#1", 7))];
    let mut at = -4.37 * every;
    while at < until {
        let late = dice.below(jitter * 1000 + 1) as f64 / 1000.0;
        deeds.push((at + late, Deed::Renew));
        at += every;
    }
    deeds
}

pub fn lease(deeds: &[(f64, Deed)], span_ms: u64, ttl: u64, heartbeat: Option<u64>) -> LeaseView {
    let samples = span(deeds, span_ms, 200, ttl, heartbeat);
    view(&samples, &redis(), Span::default(), &|_, _| String::new())
        .expect("a reading")
        .0
}

#[test]
fn renewals_are_placed_where_they_were() {
    // Heartbeat, jitter, span, plan's heartbeat; all in ms.
    for (every, jitter, span_ms, known) in [
        (1000.0, 0, 10_000, None),
        (1000.0, 4, 10_000, None),
        (1000.0, 30, 10_000, None),
        (1000.0, 2, 2700, Some(1000)),
        (333.0, 3, 10_000, None),
        (250.0, 5, 3000, Some(250)),
        (3000.0, 5, 10_000, None),
        (20.0, 1, 3000, None),
    ] {
        let deeds = renewals(every, jitter, span_ms as f64);
        let ttl = (every * 3.0) as u64;
        let lease = lease(&deeds, span_ms, ttl, known);
        let seen = lease.renewals.get().expect("renewals are shown");
        let label = format!("every {every}, jitter {jitter}, span {span_ms}");
        let true_ones: Vec<f64> = deeds
            .iter()
            .filter(|(at, deed)| matches!(deed, Deed::Renew) && *at > 0.0 && *at < span_ms as f64 - 60.0)
            .map(|(at, _)| *at)
            .collect();
        let each_seen = every > 60.0;
        if each_seen {
            assert!(
                seen.seen.len() >= true_ones.len(),
                "{label}: {} of {}",
                seen.seen.len(),
                true_ones.len()
            );
        }
        for it in &seen.seen {
            let near =
                |at: &&(f64, Deed)| matches!(at.1, Deed::Renew) && (at.0 - it.at_ms).abs() <= it.plus_minus_ms + 0.01;
            assert!(deeds.iter().find(near).is_some(), "{label}: {it:?}");
            let bound = if each_seen { 5.0 } else { 15.0 };
            assert!(it.plus_minus_ms <= bound, "{label}: placed to ±{} ms", it.plus_minus_ms);
        }
        let ttl_seen = lease.granted_ttl.get().expect("the TTL is bounded");
        assert!(contains(*ttl_seen, ttl as f64), "{label}: {ttl_seen:?} for {ttl}");
        assert!(lease.happened.is_empty(), "{label}: {:?}", lease.happened);
        if each_seen {
            let gap = seen.worst_gap.as_ref().expect("there is one").length;
            assert!(
                (gap.middle_ms() - every).abs() < jitter as f64 + 12.0,
                "{label}: {gap:?}"
            );
            let cadence = seen.cadence.expect("there is one");
            assert!(
                (cadence.middle_ms() - every).abs() < jitter as f64 + 12.0,
                "{label}: {cadence:?}"
            );
        }
    }
}

fn contains(range: Range, value: f64) -> bool {
    range.at_least_ms <= value + 1.1 && range.at_most_ms.is_none_or(|most| value <= most + 1.1)
}

#[test]
fn what_happens_to_a_lease_is_told_apart() {
    for (deeds, expected) in [
        (vec![(1000.0, Deed::Free)], vec![Change::EndedEarly]),
        (vec![], vec![Change::Expired]),
        (
            vec![(1000.0, Deed::Free), (1500.0, Deed::Grant("b#1", 8))],
            vec![Change::EndedEarly, Change::Granted, Change::Expired],
        ),
        (
            vec![(1000.0, Deed::Grant("b#1", 8))],
            vec![Change::Taken, Change::Expired],
        ),
        (vec![(1000.0, Deed::Persist)], vec![Change::ExpiryRemoved]),
        (
            vec![(1000.0, Deed::Shorten(100))],
            vec![Change::Shortened, Change::Expired],
        ),
        (
            vec![(900.0, Deed::Renew), (1000.0, Deed::Restart)],
            vec![Change::EpochChanged, Change::Expired],
        ),
        (
            vec![(1000.0, Deed::Silent(1500))],
            vec![Change::Silent, Change::Expired],
        ),
        // A step forward ends the lease: whether early or not, the clock did it.
        (vec![(1000.0, Deed::Step(-3_600_000))], vec![Change::ClockStepped]),
    ] {
        let mut all = vec![(-10.0, Deed::Grant("a#1", 7))];
        all.extend(deeds);
        let lease = lease(&all, 6000, 3000, None);
        let seen: Vec<Change> = lease.happened.iter().map(|it| it.what).collect();
        assert_eq!(seen, expected, "{all:?}");
    }
}

/// A TTL that goes far below zero while the lease is there, on a store that shows no clock: neither an end nor
/// somebody's shortening, and what ends it then is not known.
#[test]
fn a_ttl_far_below_zero_is_a_clock_that_stepped_back() {
    let mut deeds = vec![(-10.0, Deed::Grant("a#1", 7)), (3500.0, Deed::Free)];
    let below = |deeds: &[(f64, Deed)], by: u64| {
        let (mut samples, facts) = in_whole_seconds(span(deeds, 4000, 20, 9000, None));
        let start = samples[0].at.earliest;
        for sample in samples
            .iter_mut()
            .filter(|it| it.at.earliest.since(start) > Duration::from_secs(1))
        {
            let held = sample.seen.as_mut().ok().and_then(|reading| reading.held.as_mut());
            if let Some(expires) = held.and_then(|held| held.expires.as_mut()) {
                expires.earliest.0 = expires.earliest.0.saturating_sub(by * MS);
                expires.latest.0 = expires.latest.0.saturating_sub(by * MS);
            }
        }
        let lease = view(&samples, &facts, Span::default(), &|_, _| String::new())
            .expect("a reading")
            .0;
        lease.happened.iter().map(|it| it.what).collect::<Vec<_>>()
    };
    assert_eq!(below(&deeds, 3_600_000), [Change::ClockStepped, Change::Ended]);
    assert_eq!(below(&deeds, 3000), [Change::Shortened, Change::EndedEarly]);
    deeds.pop();
    assert_eq!(below(&deeds, 3_600_000), [Change::ClockStepped]);
}

/// A step of the server's clock moves what is left of a TTL; nobody renewed.
#[test]
fn a_clock_that_steps_renews_nothing() {
    let deeds = [(-10.0, Deed::Grant("a#1", 7)), (1000.0, Deed::Step(-2000))];
    let lease = lease(&deeds, 3000, 10_000, None);
    assert!(lease.renewals.get().expect("shown").seen.is_empty());
}

/// That the first holder's TTL was not over says that it did not run out.
#[test]
fn a_takeover_says_what_the_first_one_had_left() {
    let says = |at: f64| {
        let lease = lease(
            &[(-10.0, Deed::Grant("a#1", 7)), (at, Deed::Grant("b#1", 8))],
            6000,
            3000,
            None,
        );
        let taken = lease.happened.into_iter().find(|it| it.what == Change::Taken);
        taken.map(|it| it.says).unwrap_or_default()
    };
    assert!(
        says(1000.0).contains("ms before the first one's TTL had run out"),
        "{}",
        says(1000.0)
    );
    assert!(!says(2989.9).contains("had run out"), "{}", says(2989.9));
}
