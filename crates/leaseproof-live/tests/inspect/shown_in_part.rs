//! Stores that show a part only: sessions, TTLs that may not be read.

use crate::seen::renewals;
use crate::sim::{Deed, redis, span};
use leaseproof_live::inspect::answer::{answer, findings};
use leaseproof_live::inspect::sample::Sample;
use leaseproof_live::inspect::side::{Evidence, first_look};
use leaseproof_live::inspect::view::{Span, view};
use leaseproof_model::inspect::Side;
use leaseproof_model::inspect::lease_view::Change;
use leaseproof_model::store::{StoreClock, StoreFacts};
use leaseproof_model::verdict::Verdict;
use std::time::Duration;

/// What a session of ZooKeeper or Consul shows: no expiry, and its time-out where that may be read.
pub fn of_session(mut samples: Vec<Sample>, bound: Option<Duration>) -> (Vec<Sample>, StoreFacts) {
    let facts = StoreFacts {
        kind: "zookeeper".to_owned(),
        shows_expiry: false,
        shows_renewals: false,
        clock: StoreClock::ServerSteady,
        ttl_ceiling: Some(Duration::from_secs(40)),
        ..redis()
    };
    for sample in &mut samples {
        if let Ok(reading) = &mut sample.seen
            && let Some(held) = &mut reading.held
        {
            (held.expires, held.bound) = (None, bound);
        }
    }
    (samples, facts)
}

/// The answer about these, the side, and whether anything was made of a TTL that there is not.
pub fn of_session_judged(samples: &[Sample], facts: &StoreFacts) -> (String, Side, Vec<String>) {
    let (lease, steps) = view(samples, facts, Span::default(), &|_, _| String::new()).expect("a reading");
    let seen = Evidence {
        lease: Some(&lease),
        ..Evidence::default()
    };
    let first = first_look(&seen);
    let found = findings(&seen, samples, &steps);
    let (verdict, says) = answer(&seen, &found, &first);
    assert_eq!(verdict, Verdict::CannotTell);
    (says, first.side, first.why)
}

/// That a TTL may not be read is not that there is none.
#[test]
fn a_ttl_that_may_not_be_read_is_no_lease_without_one() {
    let held = span(&renewals(1000.0, 3, 7000.0), 6000, 200, 3000, None);
    for (bound, part, not) in [
        (None, "holds it without a TTL", "not shown"),
        (Some(Duration::from_secs(40)), "its TTL is not shown: ", "without a TTL"),
        (
            Some(Duration::from_secs(4)),
            "renewals are not shown by this store",
            "without a TTL",
        ),
    ] {
        let (samples, facts) = of_session(held.clone(), bound);
        let (says, _, _) = of_session_judged(&samples, &facts);
        assert!(says.contains(part) && !says.contains(not), "{bound:?}: {says}");
    }
}

/// A session that ended, and one answer that took 104 ms: that is no reason for a session of ten seconds to end.
#[test]
fn a_slow_answer_explains_no_end_that_it_could_not_have_caused() {
    let ended = span(
        &[(-100.0, Deed::Grant("a#1", 1)), (3000.0, Deed::Free)],
        6000,
        200,
        60_000,
        None,
    );
    for (bound, slow_ms, side) in [
        (Some(10_000), 104, Side::CannotTell),
        (Some(10_000), 4000, Side::Store),
        (Some(40_000), 4000, Side::CannotTell),
    ] {
        let (mut samples, facts) = of_session(ended.clone(), bound.map(Duration::from_millis));
        let slow = samples.iter().position(|it| it.held().is_none()).expect("it ends");
        samples[slow].at.latest = samples[slow].at.earliest.plus(Duration::from_millis(slow_ms));
        samples[slow].waited = samples[slow].at;
        samples.truncate(slow + 1);
        let (says, seen, why) = of_session_judged(&samples, &facts);
        assert_eq!(seen, side, "{bound:?} {slow_ms}: {says} {why:?}");
        assert!(
            why.iter().any(|it| it.contains("one answer took")),
            "it is told all the same: {why:?}"
        );
    }
    let (samples, facts) = of_session(ended, Some(Duration::from_secs(10)));
    let (lease, _) = view(&samples, &facts, Span::default(), &|_, _| String::new()).expect("a reading");
    let happened: Vec<Change> = lease.happened.iter().map(|it| it.what).collect();
    assert_eq!(happened, [Change::Ended], "the store does not show which end it was");
}

/// A reading that takes several questions counts from its last: that the first was waited for for seconds is told all the same.
#[test]
fn the_wait_for_an_earlier_question_of_a_reading_is_told() {
    let mut samples = span(&renewals(1000.0, 3, 3000.0), 6000, 200, 3000, None);
    let gone = samples.iter().position(|it| it.held().is_none()).expect("it ends");
    // The store stood still from before the renewal that is missing until the lease was over.
    samples.drain(gone - 80..gone);
    let first = gone - 80;
    samples[first].waited.earliest = samples[first - 1].at.latest;
    let (lease, _) = view(&samples, &redis(), Span::default(), &|_, _| String::new()).expect("a reading");
    assert!(lease.watched.longest_round_trip_ms > 1500.0, "{:?}", lease.watched);
    let (says, side, why) = of_session_judged(&samples, &redis());
    assert_eq!(side, Side::Store, "{says} {why:?}");
}
