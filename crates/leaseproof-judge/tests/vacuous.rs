//! What was not shown is neither proven nor held against anybody: a contrast by chance, a premise that
//! comes true outside its time, a clock that was read late.

mod story;

use leaseproof_judge::{Policy, judge};
use leaseproof_model::clock::WallNanos;
use leaseproof_model::event::{Deed, FaultKind, FaultPhase, OwnerEvent, What};
use leaseproof_model::history::History;
use leaseproof_model::name::Token;
use leaseproof_model::scenario::PremiseName as P;
use leaseproof_model::truth::Truth;
use leaseproof_model::verdict::Verdict;
use story::pauses::{self, OVER, THAW};
use story::rounds::repeat;
use story::{Story, at, codes, flaws, scenarios};

/// Some cycles of a story, one after the other.
fn times(cycles: u64, story: &Story) -> History {
    let one = story.history();
    let mut events = Vec::new();
    for round in 0..cycles {
        repeat(&one, round, 4_000_000_000, &mut events);
    }
    let mut all = one;
    all.events = events;
    all
}

#[test]
fn a_lease_given_up_for_want_of_an_answer_is_not_the_clock_s_doing() {
    // The store was slow while the stepped arm ran, and not while its twin did.
    let mut stepped = scenarios::clock_back(true);
    stepped
        .said(760.0, "a1", OwnerEvent::RenewFailed)
        .said(761.0, "a1", OwnerEvent::Lost);
    let (stepped, twin) = (times(3, &stepped), times(3, &scenarios::clock_back(false)));
    let judged = judge(&stepped, Some(&twin), &Policy::default());
    assert!(
        judged.findings.iter().all(|it| it.rule != "LP009"),
        "{:#?}",
        judged.findings
    );
}

#[test]
fn a_write_before_the_fault_is_no_successor_s() {
    let mut s = scenarios::inside_write();
    s.without(|event| {
        let of_b = event.owner.as_ref().is_some_and(|it| it.as_str() == "b1");
        of_b && matches!(event.what, What::Write(_)) && event.at.earliest < at(THAW + 5.0)
    });
    // What `b1` had in flight when its own lease ended, long before.
    s.wrote(300.0, "b1", 1);
    let judged = s.judged();
    let wrote = judged.premises.iter().find(|it| it.name == P::SuccessorWrote);
    assert!(wrote.is_some_and(|it| !it.holds.is_yes()), "{wrote:#?}");
}

#[test]
fn the_exercised_premise_says_what_was_missing() {
    let says = |s: &Story| {
        let judged = s.judged();
        let premise = judged.premises.iter().find(|it| it.name == P::Exercised);
        premise.map(|it| it.says.clone()).unwrap_or_default()
    };
    let gone = |s: &mut Story| {
        s.without(|event| {
            let of_a = event.owner.as_ref().is_some_and(|it| it.as_str() == "a1");
            let last = matches!(&event.what, What::Reading(it) if it.held.as_ref().is_some_and(|it| it.token == Some(Token(3))));
            (last || of_a && !matches!(event.what, What::Fault(_))) && event.at.earliest > at(THAW + 0.3)
        });
    };
    let mut idle = pauses::over_ttl();
    idle.without(|it| matches!(it.what, What::Write(_)) && it.at.earliest > at(3320.0));
    assert!(
        says(&idle).contains("a1 acquired the lease anew (token 3)"),
        "{}",
        says(&idle)
    );
    let mut acts = pauses::over_ttl();
    gone(&mut acts);
    acts.works(THAW + 1.0, OVER, "a1", 1);
    assert!(says(&acts).contains("acted 20 times"), "{}", says(&acts));
    assert!(says(&acts).contains("ever acquired the lease anew"), "{}", says(&acts));
    let mut silent = pauses::over_ttl();
    gone(&mut silent);
    assert!(says(&silent).contains("no sign of life"), "{}", says(&silent));
}

#[test]
fn a_fault_that_failed_and_deeds_that_did_nothing_prove_nothing() {
    let mut s = pauses::over_ttl();
    s.fault(
        "a1",
        FaultKind::PauseTree,
        &[(FaultPhase::Asked, 790.0), (FaultPhase::Failed, 791.0)],
    );
    assert_eq!(s.judged().verdict, Verdict::Proven);
    let mut s = pauses::and_gone();
    s.without(|event| matches!(&event.what, What::Reading(it) if it.held.as_ref().is_some_and(|it| it.token == Some(Token(2)))));
    s.each(|event| {
        if let What::LabDid(deed) = &mut event.what
            && deed.deed == Deed::Acquired
        {
            deed.outcome = leaseproof_model::event::Outcome::Unknown;
        }
    });
    assert_eq!(s.judged().verdict, Verdict::CannotTell);
}

#[test]
fn one_straddling_write_a_cycle_may_be_chance() {
    let mut stepped = scenarios::clock_back(true);
    stepped.wrote(THAW + 2.0, "a1", 1);
    let certainty = |cycles: u64| {
        let twin = times(cycles, &scenarios::clock_back(false));
        let judged = judge(&times(cycles, &stepped), Some(&twin), &Policy::default());
        let found = judged.findings.iter().find(|it| it.rule == "LP009");
        found.map(|it| it.certainty)
    };
    assert_eq!(certainty(2), None);
    assert_eq!(certainty(3), Some(Truth::CannotTell));
    assert_eq!(certainty(6), Some(Truth::Yes));
}

#[test]
fn a_key_that_is_freed_after_the_cycle_was_not_freed_in_it() {
    let mut s = scenarios::waiting(THAW, 2300.0);
    s.each(|event| {
        if matches!(event.what, What::CycleEnded) {
            event.at = story::about(2200.0);
        }
    });
    let judged = s.judged();
    let freed = judged.premises.iter().find(|it| it.name == P::KeyFreed);
    assert!(freed.is_some_and(|it| !it.holds.is_yes()), "{freed:#?}");
}

#[test]
fn one_stamp_that_was_read_late_is_no_step() {
    // The reader was put aside between the two clocks.
    let mut s = flaws::host_clock(0);
    let mut done = false;
    s.each(|event| {
        if let Some(stamp) = event.stamp.as_mut().filter(|_| !done && event.at.earliest > at(1000.0)) {
            stamp.wall = WallNanos(stamp.wall.0 + 90_000_000);
            done = true;
        }
    });
    assert!(!codes(&s.judged()).contains(&"LP018".to_owned()));
}

#[test]
fn a_twin_that_was_hurt_is_no_contrast() {
    let mut stepped = scenarios::clock_back(true);
    stepped.works(THAW + 2.0, 2900.0, "a1", 1);
    let accused = |twin: &Story| {
        let judged = judge(&stepped.history(), Some(&twin.history()), &Policy::default());
        codes(&judged).contains(&"LP009".to_owned())
    };
    assert!(accused(&scenarios::clock_back(false)));
    let mut late = scenarios::clock_back(false);
    let (by, what) = (std::time::Duration::from_millis(500), "a sample".to_owned());
    late.note(1500.0, What::RigLate { by, what });
    assert!(!accused(&late));
    let mut unwatched = scenarios::clock_back(false);
    unwatched
        .without(|event| matches!(event.what, What::Coverage(_)))
        .watched(0.0, 2000.0);
    assert!(!accused(&unwatched));
    let mut idle = scenarios::clock_back(false);
    idle.without(|event| matches!(event.what, What::Write(_) | What::Said(_)));
    assert!(!accused(&idle));
}
