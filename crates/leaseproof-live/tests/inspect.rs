//! What is inferred from a span's readings, against what was.

#[allow(dead_code, reason = "each test file uses a part of this fixture")]
mod sim;

use leaseproof_live::inspect::against::against;
use leaseproof_live::inspect::answer::{answer, findings};
use leaseproof_live::inspect::sample::Sample;
use leaseproof_live::inspect::side::{Evidence, first_look};
use leaseproof_live::inspect::view::{Span, view};
use leaseproof_model::budget::Budget;
use leaseproof_model::inspect::lease_view::{Change, LeaseView};
use leaseproof_model::inspect::plan_view::PlanView;
use leaseproof_model::inspect::{Range, Side};
use leaseproof_model::store::{StoreClock, StoreFacts};
use leaseproof_model::truth::Truth;
use leaseproof_model::verdict::Verdict;
use sim::{Deed, Dice, MS, redis, span};
use std::time::Duration;

/// A grant long before the span, and renewals `every` ms with up to `jitter` ms of lateness.
fn renewals(every: f64, jitter: u64, until: f64) -> Vec<(f64, Deed)> {
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

fn lease(deeds: &[(f64, Deed)], span_ms: u64, ttl: u64, heartbeat: Option<u64>) -> LeaseView {
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

struct Asked {
    deeds: Vec<(f64, Deed)>,
    plan: bool,
}

fn judged(asked: &Asked) -> (Verdict, Side, Vec<String>) {
    let budget = Budget::standard();
    let samples = span(&asked.deeds, 6000, 200, 3000, asked.plan.then_some(1000));
    let (lease, steps) = view(&samples, &redis(), Span::default(), &|_, _| String::new()).expect("a reading");
    let plan: Option<PlanView> = asked.plan.then(|| against("leaseproof.toml", &budget, &lease));
    let seen = Evidence {
        lease: Some(&lease),
        plan: plan.as_ref(),
        budget: asked.plan.then_some(&budget),
        ..Evidence::default()
    };
    let first = first_look(&seen);
    let found = findings(&seen, &samples, &steps);
    let (verdict, _says) = answer(&seen, &found, &first);
    (verdict, first.side, found.into_iter().map(|it| it.rule).collect())
}

#[test]
fn the_answer_and_the_side() {
    let after = |deeds: &[(f64, Deed)], more: &[(f64, Deed)]| {
        let mut all: Vec<(f64, Deed)> = deeds.to_vec();
        all.extend_from_slice(more);
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all
    };
    let regular = renewals(1000.0, 3, 7000.0);
    let stops = |at: f64| regular.iter().filter(|it| it.0 < at).cloned().collect::<Vec<_>>();
    for (name, deeds, plan, verdict, side, rules) in [
        ("regular", regular.clone(), true, Verdict::Proven, Side::Neither, vec![]),
        (
            "regular, no plan",
            regular.clone(),
            false,
            Verdict::Proven,
            Side::Neither,
            vec![],
        ),
        (
            "nobody renews any more",
            stops(1500.0),
            true,
            Verdict::Violated,
            Side::Owner,
            vec!["LP007"],
        ),
        (
            "nobody renews any more, and the store is silent once it is over",
            after(&stops(1500.0), &[(5100.0, Deed::Silent(600))]),
            true,
            Verdict::Violated,
            Side::Owner,
            vec!["LP007"],
        ),
        (
            "half as often",
            renewals(2000.0, 3, 7000.0),
            true,
            Verdict::Violated,
            Side::Owner,
            vec![],
        ),
        (
            "the store restarts",
            after(&regular, &[(3100.0, Deed::Restart)]),
            true,
            Verdict::CannotTell,
            Side::Store,
            vec!["LP017"],
        ),
        (
            "the store's clock steps",
            after(&regular, &[(3100.0, Deed::Step(-500))]),
            true,
            Verdict::CannotTell,
            Side::Store,
            vec!["LP018"],
        ),
        (
            "a token goes back",
            after(
                &stops(3000.0),
                &[(3100.0, Deed::Grant("b#1", 6)), (3900.0, Deed::Renew)],
            ),
            false,
            Verdict::Violated,
            Side::Owner,
            vec!["LP003"],
        ),
        (
            "no TTL",
            after(&stops(0.0), &[(-1.0, Deed::Persist)]),
            false,
            Verdict::CannotTell,
            Side::CannotTell,
            vec!["LP012"],
        ),
        (
            "nobody holds it",
            vec![],
            true,
            Verdict::CannotTell,
            Side::CannotTell,
            vec![],
        ),
    ] {
        let seen = judged(&Asked { deeds, plan });
        let rules: Vec<String> = rules.into_iter().map(str::to_owned).collect();
        assert_eq!(seen, (verdict, side, rules), "{name}");
    }
}

/// What a session of ZooKeeper or Consul shows: no expiry, and its time-out where that may be read.
fn of_session(mut samples: Vec<Sample>, bound: Option<Duration>) -> (Vec<Sample>, StoreFacts) {
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
fn of_session_judged(samples: &[Sample], facts: &StoreFacts) -> (String, Side, Vec<String>) {
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

/// A store that shows what is left in whole seconds, cut.
fn in_whole_seconds(mut samples: Vec<Sample>) -> (Vec<Sample>, StoreFacts) {
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
