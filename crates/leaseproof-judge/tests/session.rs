//! Stores whose lease is a session show neither when it will be over nor its renewals: what a sound owner
//! did there accuses nobody, and each flaw that such a store can express shows by its rule.

mod story;

use leaseproof_model::event::{FaultPhase, OwnerEvent, What};
use leaseproof_model::scenario::{PremiseName, WitnessMode};
use leaseproof_model::truth::Truth;
use std::time::Duration;
use story::flaws::*;
use story::pauses::{self, THAW};
use story::{Story, accusations, codes, scenarios, server};

/// The record as the observer of such a store would have seen it.
fn in_session(mut s: Story) -> Story {
    s.ask.store.shows_expiry = false;
    s.ask.store.shows_renewals = false;
    let ttl = story::budget().ttl;
    s.each(|event| {
        if let What::Reading(reading) = &mut event.what {
            reading.server_ns = None;
            if let Some(held) = &mut reading.held {
                held.bound = held.expires.map(|_| ttl);
                (held.expires, held.granted, held.renewed) = (None, None, None);
            }
        }
    });
    s
}

/// What a sound owner did.
type Sound = (&'static str, fn() -> Story);

const SOUND: &[Sound] = &[
    ("over-ttl", pauses::over_ttl),
    ("within-margin", pauses::within_margin),
    ("and-gone", pauses::and_gone),
    ("after-loss", pauses::after_loss),
    ("straddling", straddling),
    ("inside-write", scenarios::inside_write),
    ("cache-fill", || {
        scenarios::cache_fill(WitnessMode::Enforce, Some((1, false)))
    }),
    ("killed", scenarios::killed),
    ("blackhole", scenarios::blackhole),
    ("clean-release", scenarios::clean_release),
    ("child-only", || scenarios::child_only(true)),
];

/// The rule, the record that does not show it, and the one that does.
type Pair = (&'static str, fn() -> Story, fn() -> Story);

const PAIRS: &[Pair] = &[
    ("LP001", straddling, late),
    ("LP004", straddling, late),
    ("LP005", pauses::within_margin, never_extended),
    ("LP006", || refused(THAW + 4.0), || refused(2900.0)),
    ("LP007", straddling, late),
    ("LP012", pauses::over_ttl, without_ttl),
    ("LP015", straddling, late),
    ("LP016", || gave_up(true), || gave_up(false)),
    ("LP017", || moved(false), || moved(true)),
    ("LP022", pauses::over_ttl, || {
        over_ttl(|s| s.ask.budget.ttl = Duration::from_millis(2000))
    }),
    // What is shown is the most that the store grants: the TTL that was asked for is not known.
    ("LP022", || granted_at_most(1000), || granted_at_most(3000)),
];

/// The plan asks for twice the TTL that shows, on a store that grants so many ms at the most.
fn granted_at_most(most: u64) -> Story {
    over_ttl(|s| {
        s.ask.budget.ttl = Duration::from_millis(2000);
        s.ask.store.ttl_ceiling = Some(Duration::from_millis(most));
    })
}

#[test]
fn a_sound_owner_s_verdict_is_that_of_a_store_that_shows_it() {
    let mut wrong = Vec::new();
    for (name, story) in SOUND {
        let (shown, judged) = (story().judged(), in_session(story()).judged());
        if judged.verdict != shown.verdict {
            let lacks: Vec<_> = judged.premises.iter().filter(|it| !it.holds.is_yes()).collect();
            wrong.push(format!(
                "{name}: {} {} {lacks:#?} {:#?}",
                shown.verdict,
                judged.verdict,
                accusations(&judged)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_rule_that_such_a_store_can_express_is_shown_by_its_record_alone() {
    let mut wrong = Vec::new();
    for (rule, sound, flawed) in PAIRS {
        let ok = codes(&in_session(sound()).judged());
        let bad = codes(&in_session(flawed()).judged());
        if ok.iter().any(|code| code == rule) || !bad.iter().any(|code| code == rule) {
            wrong.push(format!("{rule}: ok {ok:?}, bad {bad:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `a1` works on after the pause in which its session ended, and says `released` when it ends, as a client does
/// that hides the loss. `slept`: it stood still as its grant ended.
fn released_in_name_only(slept: bool) -> Story {
    let mut s = pauses::over_ttl();
    s.without(|event| {
        let mine = event.owner.as_ref().is_some_and(|owner| owner.as_str() == "a1");
        let fault = matches!(event.what, What::Fault(_));
        (mine && event.at.earliest > story::at(pauses::PAUSE) && !fault) || (fault && !slept)
    });
    s.works(THAW + 2.0, 2900.0, "a1", 1)
        .said(3500.0, "a1", OwnerEvent::Released);
    in_session(s)
}

#[test]
fn whoever_stood_still_has_released_nothing() {
    let surely = |story: Story| {
        let judged = story.judged();
        judged
            .findings
            .iter()
            .any(|it| it.rule == "LP001" && it.certainty.is_yes())
    };
    assert!(surely(released_in_name_only(true)));
    // One that ran may have released it then, and printed that late.
    assert!(!surely(released_in_name_only(false)));
}

/// `a1` exits right after the pause in which its session ended, and a supervisor starts it anew. `slept`: it stood
/// still as its grant ended.
fn exits_at_the_thaw(slept: bool) -> Story {
    let mut s = pauses::over_ttl();
    s.without(|event| {
        let mine = event.owner.as_ref().is_some_and(|owner| owner.as_str() == "a1");
        let fault = matches!(event.what, What::Fault(_));
        (mine && event.at.earliest > story::at(pauses::PAUSE) && !fault) || (fault && !slept)
    });
    let gone = pauses::EXPIRY + 4.0;
    s.ended(gone + 450.0, "a1", false);
    in_session(s)
}

#[test]
fn whoever_stood_still_gave_nothing_back_by_its_exit() {
    let expired = |story: Story| {
        let judged = story.judged();
        let premise = judged.premises.iter().find(|it| it.name == PremiseName::Expired);
        premise.is_some_and(|it| it.holds.is_yes())
    };
    assert!(expired(exits_at_the_thaw(true)));
    assert!(!expired(exits_at_the_thaw(false)));
}

/// `a1` exits as its session ends, behind a network that swallows all that it sends. `cut`: until then, or only
/// until a moment before.
fn exits_behind_a_blackhole(cut: bool) -> Story {
    let mut s = scenarios::blackhole();
    let gone = pauses::EXPIRY + 4.0;
    s.without(|event| {
        let mine = event.owner.as_ref().is_some_and(|owner| owner.as_str() == "a1");
        let fault = matches!(event.what, What::Fault(_));
        mine && !fault && event.at.earliest > story::at(1690.0)
    });
    s.ended(gone + 50.0, "a1", false);
    if !cut {
        s.each(|event| {
            if let What::Fault(fault) = &mut event.what
                && fault.phase == FaultPhase::Undone
            {
                event.at = story::about(gone - 300.0);
            }
        });
    }
    in_session(s)
}

#[test]
fn whoever_exits_behind_a_blackhole_gave_nothing_back() {
    let expired = |story: Story| {
        let judged = story.judged();
        let premise = judged.premises.iter().find(|it| it.name == PremiseName::Expired);
        premise.map(|it| (it.holds, it.says.clone()))
    };
    assert_eq!(expired(exits_behind_a_blackhole(true)).map(|it| it.0), Some(Truth::Yes));
    assert_ne!(
        expired(exits_behind_a_blackhole(false)).map(|it| it.0),
        Some(Truth::Yes)
    );
}

/// The server stands still from 800 to 2000; `a1` writes until `last`, and exits at `exit`.
fn exits_beside_a_stopped_server(last: f64, exit: f64) -> Story {
    let mut s = server::paused();
    s.without(|event| {
        let mine = event.owner.as_ref().is_some_and(|owner| owner.as_str() == "a1");
        let later = matches!(event.what, What::Reading(_)) && event.at.earliest > story::at(THAW + 10.0);
        later || (mine && event.at.earliest > story::at(pauses::PAUSE))
    });
    // The last look before it was before the server stopped.
    s.each(|event| {
        if let What::Reading(reading) = &mut event.what
            && event.at == story::about(THAW + 4.0)
        {
            reading.previous = Some(story::at(pauses::PAUSE - 4.0));
        }
    });
    s.works(pauses::PAUSE + 10.0, last, "a1", 1).ended(exit, "a1", false);
    s.started(exit + 100.0, "a2");
    s.granted(THAW + 220.0, "a2#2", 2).acquired(THAW + 220.0, "a2", 2);
    s.works(THAW + 225.0, 3600.0, "a2", 2);
    in_session(s)
}

#[test]
fn whoever_exits_beside_a_stopped_server_released_nothing_before_it_ran_again() {
    let late = |last: f64, exit: f64| codes(&exits_beside_a_stopped_server(last, exit).judged());
    let accused = |story: Story| {
        let findings = story.judged().findings;
        findings.iter().any(|it| it.rule == "LP004")
    };
    assert!(
        !accused(exits_beside_a_stopped_server(1690.0, 1700.0)),
        "{:?}",
        late(1690.0, 1700.0)
    );
    // What is sent half a second before its exit may have reached the server as it stopped.
    assert!(accused(exits_beside_a_stopped_server(1280.0, 1290.0)));
}
