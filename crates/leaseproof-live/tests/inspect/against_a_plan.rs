//! Gaps and TTLs against what a plan says.

use crate::seen::renewals;
use crate::sim::{Deed, redis, span};
use leaseproof_live::inspect::against::against;
use leaseproof_live::inspect::answer::{answer, findings};
use leaseproof_live::inspect::side::{Evidence, first_look};
use leaseproof_live::inspect::view::{Span, view};
use leaseproof_model::budget::Budget;
use leaseproof_model::inspect::lease_view::{Change, LeaseView};
use leaseproof_model::truth::Truth;
use leaseproof_model::verdict::Verdict;
use std::time::Duration;

/// A renewal that sets a shorter TTL may leave an earlier expiry, or the same: it does not show as one.
#[test]
fn gaps_across_a_shortened_ttl_are_no_violation() {
    let budget = Budget {
        heartbeat: Duration::from_millis(500),
        renew_timeout: Duration::from_millis(200),
        worst_pause: Duration::from_millis(200),
        ..Budget::standard()
    };
    for ttls in [[3000, 3700, 4400], [4400, 3700, 3000], [4400, 3800, 3500]] {
        let mut deeds = vec![(-600.0, Deed::Grant("a#1", 7))];
        let mut at = -80.0;
        for ttl in ttls.into_iter().cycle().take(20) {
            deeds.push((at, Deed::RenewFor(ttl)));
            at += 500.0;
        }
        let samples = span(&deeds, 8000, 200, 3000, Some(500));
        let (lease, steps) = view(&samples, &redis(), Span::default(), &|_, _| String::new()).expect("a reading");
        let plan = against("leaseproof.toml", &budget, &lease);
        for name in ["cadence", "worst-gap"] {
            let check = plan.checks.iter().find(|it| it.name == name).expect(name);
            // One that does not show can only make a gap shorter: what agrees, agrees.
            let told = check.says.contains("shortened");
            assert_eq!(check.holds == Truth::CannotTell, told, "{ttls:?}: {check:?}");
            assert_ne!(check.holds, Truth::No, "{ttls:?}: {check:?}");
            assert!(told || ttls[1] == 3800, "{ttls:?}: {check:?}");
        }
        let seen = Evidence {
            lease: Some(&lease),
            plan: Some(&plan),
            budget: Some(&budget),
            ..Evidence::default()
        };
        let first = first_look(&seen);
        let found = findings(&seen, &samples, &steps);
        let (verdict, says) = answer(&seen, &found, &first);
        assert_eq!(verdict, Verdict::CannotTell, "{ttls:?}: {says}");
        let mut once = first.why.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), first.why.len(), "{ttls:?}: {:?}", first.why);
        // What is said of the gaps holds for what was.
        let renewals = lease.renewals.get().expect("shown");
        for range in [renewals.cadence, renewals.worst_gap.as_ref().map(|gap| gap.length)] {
            let range = range.expect("two renewals show");
            assert!(range.at_least_ms <= 510.0, "{ttls:?}: {range:?}");
        }
    }
}

/// A renewal is seen when its transaction has ended: then less than the TTL is left, and the row says what was set.
#[test]
fn a_stated_ttl_is_not_cut_by_a_slow_commit() {
    let budget = Budget::standard();
    let mut deeds = vec![(-600.0, Deed::Grant("a#1", 7))];
    deeds.extend((0_u8..6).map(|beat| (500.0 + 1000.0 * f64::from(beat), Deed::RenewFor(2940))));
    let of = |stated: Option<u64>| {
        let mut samples = span(&deeds, 6000, 200, 2940, Some(1000));
        for sample in &mut samples {
            if let Some(held) = sample.seen.as_mut().ok().and_then(|reading| reading.held.as_mut()) {
                held.ttl = stated.map(Duration::from_millis);
            }
        }
        let (lease, _) = view(&samples, &redis(), Span::default(), &|_, _| String::new()).expect("a reading");
        let plan = against("leaseproof.toml", &budget, &lease);
        let check = plan.checks.into_iter().find(|it| it.name == "ttl").expect("a check");
        (check.holds, lease.granted_ttl.get().and_then(|it| it.at_most_ms))
    };
    assert_eq!(of(Some(3000)), (Truth::Yes, Some(3000.0)));
    assert_eq!(of(Some(2900)), (Truth::No, Some(2900.0)));
    // Nothing but what is left: the store grants less.
    assert_eq!(of(None).0, Truth::No);
}

/// What `worst-gap` says of renewals every second until `until`, and a store that is silent from `at` on for so long.
fn worst_gap(until: f64, at: f64, silent: u64) -> (Truth, String, LeaseView) {
    let mut deeds = renewals(1000.0, 3, until);
    deeds.push((at, Deed::Silent(silent)));
    deeds.sort_by(|a, b| a.0.total_cmp(&b.0));
    let samples = span(&deeds, 8000, 200, 3000, Some(1000));
    let (lease, _) = view(&samples, &redis(), Span::default(), &|_, _| String::new()).expect("a reading");
    let plan = against("leaseproof.toml", &Budget::standard(), &lease);
    let check = plan
        .checks
        .into_iter()
        .find(|it| it.name == "worst-gap")
        .expect("a check");
    (check.holds, check.says, lease)
}

/// It may have run out or been given back in what was not read; a TTL that runs out is a gap of all of it.
#[test]
fn a_lease_that_ends_in_a_silence_leaves_the_worst_gap_open() {
    let (holds, says, lease) = worst_gap(1500.0, 1900.0, 4000);
    let happened: Vec<Change> = lease.happened.iter().map(|it| it.what).collect();
    assert_eq!(happened, [Change::Silent, Change::Ended]);
    assert_eq!(holds, Truth::CannotTell, "{says}");
    assert!(says.contains("the lease ended within the span"), "{says}");
}

/// A silence up to the end hides what came after the last reading.
#[test]
fn a_silence_at_the_end_of_the_span_is_no_agreement() {
    let (holds, says, lease) = worst_gap(9000.0, 5000.0, 60_000);
    assert_eq!(holds, Truth::CannotTell, "{says}");
    assert!(says.contains("nothing was read"), "{says}");
    let watched = &lease.watched;
    assert!(watched.unseen_at_end_ms > 2500.0, "{watched:?}");
    assert!(watched.longest_hole_ms >= watched.unseen_at_end_ms, "{watched:?}");
    let (holds, says, lease) = worst_gap(9000.0, 9000.0, 0);
    assert_eq!(holds, Truth::Yes, "{says}");
    assert!(lease.watched.unseen_at_end_ms < 1.0, "{:?}", lease.watched);
}
