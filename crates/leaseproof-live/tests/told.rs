//! What is told of a span: nothing that is not known, and nothing that this store can't do.

#[allow(dead_code, reason = "each test file uses a part of this fixture")]
mod sim;

use leaseproof_live::inspect::sample::Sample;
use leaseproof_live::inspect::side::{Evidence, first_look};
use leaseproof_live::inspect::view::{Span, view};
use leaseproof_model::inspect::lease_view::LeaseView;
use leaseproof_model::store::StoreFacts;
use sim::{Deed, redis, span};
use std::time::Duration;

fn lease(deeds: &[(f64, Deed)], span_ms: u64, ttl: u64) -> LeaseView {
    let samples = span(deeds, span_ms, 200, ttl, None);
    view(&samples, &redis(), Span::default(), &|_, _| String::new())
        .expect("a reading")
        .0
}

/// Of a TTL of which only the least is known nobody says what two thirds of it are.
#[test]
fn a_gap_in_a_ttl_that_is_not_known_is_told_by_what_is_left() {
    let why = |span_ms| {
        let lease = lease(&[(-10.0, Deed::Grant("a#1", 7))], span_ms, 3000);
        let first = first_look(&Evidence {
            lease: Some(&lease),
            ..Evidence::default()
        });
        assert!(lease.granted_ttl.get().is_some_and(|ttl| ttl.at_most_ms.is_none()));
        first.why.join("\n")
    };
    let said = why(2700);
    assert!(said.contains("ms left at the most of a TTL of at least 29"), "{said}");
    assert!(!said.contains("two thirds"), "{said}");
    // Half of it is no reason.
    assert_eq!(why(1500), "");
}

/// A lease that was held throughout was renewed within its TTL, whatever the store did not answer meanwhile.
#[test]
fn no_closed_gap_is_longer_than_the_ttl() {
    let mut deeds = vec![(-500.0, Deed::Grant("a#1", 7))];
    deeds.extend((0..12).map(|beat| (f64::from(beat) * 500.0, Deed::Renew)));
    deeds.push((2000.0, Deed::Silent(1900)));
    deeds.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Over before the gap that is still open at its end could be the worst.
    let lease = lease(&deeds, 5700, 1500);
    assert_eq!(lease.happened.len(), 1, "{:?}", lease.happened);
    let gap = lease.renewals.get().and_then(|it| it.worst_gap.clone()).expect("a gap");
    assert!(gap.length.at_most_ms.is_some_and(|most| most <= 1505.0), "{gap:?}");
}

/// No session store evicts anything.
#[test]
fn who_may_have_ended_it_depends_on_the_store() {
    let deeds = vec![(-10.0, Deed::Grant("a#1", 7)), (1000.0, Deed::Free)];
    let mut samples = span(&deeds, 2000, 200, 3000, None);
    let said = |samples: &[Sample], facts: &StoreFacts| {
        let (lease, _) = view(samples, facts, Span::default(), &|_, _| String::new()).expect("a reading");
        lease.happened.first().expect("it ended").says.clone()
    };
    assert!(said(&samples, &redis()).contains("evicted"));
    let etcd = StoreFacts {
        kind: "etcd".to_owned(),
        ..redis()
    };
    let says = said(&samples, &etcd);
    assert!(
        says.contains("released, deleted, or lost") && !says.contains("evicted"),
        "{says}"
    );
    for sample in &mut samples {
        if let Some(held) = sample.seen.as_mut().ok().and_then(|reading| reading.held.as_mut()) {
            held.expires = None;
            held.bound = Some(Duration::from_secs(3));
        }
    }
    let zookeeper = StoreFacts {
        kind: "zookeeper".to_owned(),
        shows_expiry: false,
        shows_renewals: false,
        ..redis()
    };
    let says = said(&samples, &zookeeper);
    assert!(
        says.contains("its session ended") && !says.contains("evicted"),
        "{says}"
    );
}

#[test]
fn one_renewal_is_no_plural() {
    let deeds = vec![(-500.0, Deed::Grant("a#1", 7)), (300.0, Deed::Renew)];
    let lease = lease(&deeds, 900, 3000);
    let first = first_look(&Evidence {
        lease: Some(&lease),
        ..Evidence::default()
    });
    assert!(
        first.why[0].starts_with("1 renewal by the same holder"),
        "{:?}",
        first.why
    );
}
