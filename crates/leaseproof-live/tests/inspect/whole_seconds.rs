//! Stores that show whole seconds, and silences in which renewals hide.

use crate::seen::{lease, renewals};
use crate::sim::{Deed, MS, redis, span};
use leaseproof_live::inspect::against::against;
use leaseproof_live::inspect::answer::answer;
use leaseproof_live::inspect::sample::Sample;
use leaseproof_live::inspect::side::{Evidence, first_look};
use leaseproof_live::inspect::view::{Span, view};
use leaseproof_model::budget::Budget;
use leaseproof_model::inspect::lease_view::Change;
use leaseproof_model::store::{StoreClock, StoreFacts};
use leaseproof_model::truth::Truth;
use std::time::Duration;

/// A store that shows what is left in whole seconds, cut.
pub fn in_whole_seconds(mut samples: Vec<Sample>) -> (Vec<Sample>, StoreFacts) {
    const SECOND: u64 = 1000 * MS;
    for sample in &mut samples {
        let at = sample.at;
        let held = sample.seen.as_mut().ok().and_then(|reading| reading.held.as_mut());
        if let Some(expires) = held.and_then(|held| held.expires.as_mut()) {
            let whole = (expires.latest.0 - at.latest.0) / SECOND * SECOND;
            expires.earliest.0 = at.earliest.0 + whole;
            expires.latest.0 = at.latest.0 + whole + SECOND;
        }
    }
    let facts = StoreFacts {
        clock: StoreClock::ServerSteady,
        renewals_apart: Duration::from_secs(1),
        ttl_step: Duration::from_secs(1),
        ..redis()
    };
    (samples, facts)
}

/// A lease that is given back in the last second that a store of whole seconds shows: nobody let it run out.
#[test]
fn what_ends_in_its_last_second_need_not_have_run_out() {
    for freed in [2100.0, 2400.0, 2600.0, 2800.0, 2950.0] {
        let deeds = vec![(-10.0, Deed::Grant("a#1", 7)), (freed, Deed::Free)];
        let (samples, facts) = in_whole_seconds(span(&deeds, 4000, 20, 3000, None));
        let lease = view(&samples, &facts, Span::default(), &|_, _| String::new())
            .expect("a reading")
            .0;
        let seen: Vec<Change> = lease.happened.iter().map(|it| it.what).collect();
        assert!(
            seen == [Change::Ended] || seen == [Change::EndedEarly],
            "{freed}: {seen:?}"
        );
    }
}

/// Renewals may have hidden while the store did not answer: the worst gap is known to no better than that.
#[test]
fn a_silence_of_the_store_leaves_the_worst_gap_open() {
    let mut deeds = renewals(500.0, 5, 6000.0);
    deeds.push((2000.0, Deed::Silent(2000)));
    deeds.sort_by(|a, b| a.0.total_cmp(&b.0));
    let lease = lease(&deeds, 6000, 5000, None);
    let renewals = lease.renewals.get().expect("shown");
    let gap = renewals.worst_gap.as_ref().expect("a gap");
    // What is said of the one is its own.
    assert!(gap.length.at_most_ms.is_some_and(|most| most < 600.0), "{gap:?}");
    assert!(
        renewals.perhaps_gap_ms.is_some_and(|most| most > 1900.0),
        "{renewals:?}"
    );
    // Nor is it known how much was left at the first renewal after it: one before it may have hidden.
    let open = renewals
        .seen
        .iter()
        .filter_map(|it| it.left_before)
        .filter(|it| it.at_most_ms.is_none());
    assert_eq!(open.count(), 1, "{renewals:?}");
    let budget = Budget {
        worst_pause: Duration::from_millis(300),
        ..Budget::standard()
    };
    let plan = against("leaseproof.toml", &budget, &lease);
    let check = plan.checks.iter().find(|it| it.name == "worst-gap").expect("a check");
    let perhaps = renewals.perhaps_gap_ms.expect("as above");
    let allowed = check.planned_ms;
    assert_eq!(check.holds == Truth::CannotTell, perhaps > allowed, "{check:?}");
}

#[test]
fn renewals_that_hide_in_whole_seconds_are_no_gap() {
    for every in [250.0, 500.0, 900.0, 1010.0, 1300.0, 1700.0] {
        let deeds = renewals(every, 5, 6000.0);
        let (samples, facts) = in_whole_seconds(span(&deeds, 6000, 200, 3000, None));
        let lease = view(&samples, &facts, Span::default(), &|_, _| String::new())
            .expect("a reading")
            .0;
        // That none was placed is no word that there was none.
        let Some(seen) = lease.renewals.get() else {
            assert!(every < 1000.0, "{every}: {:?}", lease.renewals);
            let seen = Evidence {
                lease: Some(&lease),
                ..Evidence::default()
            };
            let (_, says) = answer(&seen, &[], &first_look(&seen));
            assert!(says.contains("there were some"), "{every}: {says}");
            continue;
        };
        assert!(!seen.seen.is_empty(), "{every}: {seen:?}");
        if let Some(gap) = &seen.worst_gap {
            assert!(gap.length.at_least_ms <= every + 10.0, "{every}: {gap:?}");
        }
    }
    // And one that nobody ends is still seen, less what is not known.
    let deeds = vec![(-1000.0, Deed::Grant("a#1", 7))];
    let (samples, facts) = in_whole_seconds(span(&deeds, 6000, 200, 9000, None));
    let lease = view(&samples, &facts, Span::default(), &|_, _| String::new())
        .expect("a reading")
        .0;
    let gap = lease.renewals.get().and_then(|it| it.worst_gap.clone()).expect("a gap");
    assert!(gap.length.at_least_ms >= 3900.0, "{gap:?}");
}
