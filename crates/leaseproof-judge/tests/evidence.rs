//! What a record can show: cycles that the rig hurt, a clock and its twin, exact moments, strangers and
//! owners that say nothing.

mod story;

use leaseproof_judge::{Policy, judge};
use leaseproof_model::event::{FaultKind, FaultPhase, OwnerEvent, What, WireSeen};
use leaseproof_model::moment::Moment;
use leaseproof_model::scenario::{PremiseName as P, ScenarioId};
use leaseproof_model::verdict::Verdict;
use story::pauses::{self, EXPIRY, OVER, TAKEOVER, THAW};
use story::{Story, accusations, at, codes, flaws, scenarios};

#[test]
fn a_cycle_that_the_rig_hurt_is_not_held_and_does_not_block() {
    let mut s = pauses::over_ttl();
    s.ask.cycles = 1;
    // A second cycle, in which the writer was frozen inside its transaction.
    s.cycle(3610.0, "a1").note(3620.0, What::WriterFrozen).end_cycle(3640.0);
    s.works(3600.0, 3660.0, "a1", 3);
    let judged = s.judged();
    assert_eq!(
        (judged.verdict, judged.cycles, judged.cycles_held),
        (Verdict::Proven, 2, 1)
    );
    let mut unexplained = pauses::over_ttl();
    unexplained.cycle(3610.0, "a1").end_cycle(3640.0);
    assert_eq!(unexplained.judged().verdict, Verdict::CannotTell);
}

#[test]
fn a_scenario_that_was_abandoned_is_never_proven() {
    let mut s = pauses::over_ttl();
    s.note(
        3650.0,
        What::Abandoned {
            why: "the owner went away".to_owned(),
        },
    );
    assert_eq!(s.judged().verdict, Verdict::CannotTell);
}

fn flawed_step() -> Story {
    let mut s = scenarios::clock_back(true);
    s.works(THAW + 2.0, 2900.0, "a1", 1);
    s
}

#[test]
fn a_stepped_clock_is_judged_by_contrast() {
    let off = Policy::default();
    let twin = scenarios::clock_back(false).history();
    let sound = judge(&scenarios::clock_back(true).history(), Some(&twin), &off);
    assert_eq!(
        (sound.verdict, accusations(&sound)),
        (Verdict::Proven, Vec::new()),
        "{sound:#?}"
    );
    assert_eq!(sound.twin.as_ref().map(|twin| twin.verdict), Some(Verdict::Proven));
    let flawed = judge(&flawed_step().history(), Some(&twin), &off);
    assert_eq!(accusations(&flawed), ["LP001", "LP002", "LP004", "LP009"]);
    // An owner that acts late without the step, too, does not do it by the step.
    let mut late_twin = scenarios::clock_back(false);
    late_twin.works(THAW + 2.0, 2900.0, "a1", 1);
    let both = judge(&flawed_step().history(), Some(&late_twin.history()), &off);
    assert_eq!(accusations(&both), ["LP001", "LP002", "LP004"]);
    assert_eq!(both.verdict, Verdict::Violated);
}

#[test]
fn an_embedded_store_shows_exact_moments() {
    // The row stays after its expiry; a renewal decided after that revives, one decided before does not.
    for (renewed, revived) in [(1740.0, false), (2010.0, true)] {
        let mut s = pauses::and_gone();
        s.without(|event| event.at.earliest > at(1740.0) && !matches!(event.what, What::Fault(_)));
        let mut expiry = 0.0;
        s.each(|event| {
            if let What::Reading(reading) = &mut event.what
                && let Some(held) = &mut reading.held
            {
                held.granted = Some(at(98.0));
                held.renewed = Some(at(event.at.earliest.0 as f64 / 1e6 - 1_000_000.0 - 2.0));
                held.expires = held
                    .expires
                    .map(|it| leaseproof_model::moment::Moment::exact(it.earliest));
                expiry = held.expires.map_or(0.0, |it| it.earliest.0 as f64 / 1e6 - 1_000_000.0);
            }
        });
        s.shown(expiry + 5.0, |held| {
            held.granted = Some(at(98.0));
            held.renewed = Some(at(748.0));
            held.expires = Some(leaseproof_model::moment::Moment::exact(at(expiry)));
            held.expired = true;
        });
        s.shown(THAW + 15.0, |held| {
            held.expired = false;
            held.renewed = Some(at(renewed));
            held.expires = Some(leaseproof_model::moment::Moment::exact(at(renewed + 1000.0)));
        });
        s.end_cycle(2500.0).watched(0.0, 2600.0);
        let found = codes(&s.judged());
        assert_eq!(found.contains(&"LP010".to_owned()), revived, "{found:?}");
    }
}

#[test]
fn a_stranger_s_value_is_attributed_by_what_is_said() {
    // The store shows random values, and the owners' words tell whose they are.
    let mut s = pauses::over_ttl();
    s.works(THAW + 2.0, 2900.0, "a1", 1);
    s.each(|event| match &mut event.what {
        What::Reading(reading) => {
            reading.counter = None;
            if let Some(held) = &mut reading.held {
                held.holder = format!("value#{}f00", held.token.map_or(0, |token| token.0)).into();
                held.token = None;
            }
        }
        What::Write(write) => write.token = None,
        What::Said(said) => said.token = None,
        _ => {}
    });
    s.ask.store_shows_token = false;
    let judged = s.judged();
    assert_eq!(accusations(&judged), ["LP001", "LP002", "LP004"], "{judged:#?}");
}

#[test]
fn an_owner_that_says_nothing_is_judged_by_what_it_writes() {
    let silent = |s: &mut Story| {
        s.without(|event| matches!(&event.what, What::Said(said) if said.event != OwnerEvent::Waiting));
    };
    let mut sound = pauses::over_ttl();
    silent(&mut sound);
    assert_eq!(sound.judged().verdict, Verdict::Proven);
    let mut flawed = pauses::over_ttl();
    flawed.works(THAW + 2.0, 2900.0, "a1", 1);
    silent(&mut flawed);
    assert_eq!(accusations(&flawed.judged()), ["LP001", "LP002", "LP004"]);
}

#[test]
fn causes_are_said_only_where_they_explain() {
    let sound = pauses::over_ttl().judged();
    assert_eq!(codes(&sound), Vec::<String>::new());
    let flawed = flaws::late().judged();
    assert_eq!(codes(&flawed), ["LP001", "LP002", "LP004", "LP007", "LP015"]);
}

#[test]
fn a_straddling_write_is_measured() {
    let judged = flaws::straddling().judged();
    assert_eq!(judged.measures["straddling_writes"], 1.0);
    assert_eq!(judged.measures["last_act_after_thaw_ms"], 2.2);
    let paused = judged.measures["pause_ms"];
    assert!((paused - (THAW - pauses::PAUSE)).abs() < 1.0, "{paused}");
    assert!((judged.measures["takeover_after_ms"] - (TAKEOVER - pauses::PAUSE)).abs() < 15.0);
    assert!((judged.measures["expired_after_ms"] - (EXPIRY - pauses::PAUSE)).abs() < 5.0);
}

#[test]
fn an_idle_drop_that_nobody_notices_is_named_where_the_lease_was_lost() {
    let mut s = pauses::held_until_pause(ScenarioId::IdleDrop, &[P::Exercised, P::DroppedSilently, P::OwnerRan]);
    s.ask.availability = true;
    let phases = [
        (FaultPhase::Asked, 799.0),
        (FaultPhase::Confirmed, 800.0),
        (FaultPhase::Undone, 1760.0),
    ];
    s.fault("a1", FaultKind::IdleDrop, &phases);
    s.wire(801.0, "a1", WireSeen::Forgotten)
        .wire(1000.0, "a1", WireSeen::RequestSwallowed);
    s.free(EXPIRY + 4.0).said(EXPIRY - 60.0, "a1", OwnerEvent::Lost);
    s.granted(2200.0, "a1#2", 2)
        .acquired(2200.0, "a1", 2)
        .works(2210.0, 3400.0, "a1", 2);
    s.renews(2450.0, 3400.0, "a1").end_cycle(OVER).watched(0.0, 3450.0);
    let judged = s.judged();
    assert_eq!(judged.verdict, Verdict::Violated);
    assert_eq!(judged.safety, Verdict::Proven);
    assert_eq!(codes(&judged), ["LP013"]);
}

#[test]
fn a_held_write_counts_from_its_arrival() {
    let mut s = pauses::over_ttl();
    s.wrote_with(THAW + 600.0, "a1", 1, |write| {
        write.arrived = Some(Moment::between(at(790.0), at(791.0)));
    });
    let judged = s.judged();
    assert_eq!(accusations(&judged), Vec::<String>::new());
}
