//! A premise that can't fail is a defect: for each there is a record that lacks it and nothing else. It
//! is "cannot tell" and says which and what to change; with that premise switched off it is proven.

mod story;

use leaseproof_judge::{Policy, judge};
use leaseproof_model::event::{Deed, Event, FaultEvent, FaultKind, FaultPhase, OwnerEvent, What, WireSeen};
use leaseproof_model::name::Token;
use leaseproof_model::scenario::{PremiseName as P, ScenarioId, WitnessMode};
use leaseproof_model::verdict::Verdict;
use std::time::Duration;
use story::pauses::{self, THAW};
use story::{Story, about, at, scenarios, server};

fn undone(event: &mut Event, change: impl Fn(&mut FaultEvent)) {
    if let What::Fault(fault) = &mut event.what
        && fault.phase == FaultPhase::Undone
    {
        change(fault);
    }
}

/// The pause ends then.
fn thawed_at(s: &mut Story, ms: f64) {
    s.each(|event| {
        if let What::Fault(fault) = &event.what
            && matches!(fault.phase, FaultPhase::Due | FaultPhase::Undone)
        {
            event.at = about(ms);
        }
    });
}

fn without_phase(mut s: Story, phase: FaultPhase) -> Story {
    s.without(|event| matches!(&event.what, What::Fault(fault) if fault.phase == phase));
    s
}

fn without_wire(mut s: Story, seen: WireSeen) -> Story {
    s.without(|event| matches!(&event.what, What::Wire(wire) if wire.seen == seen));
    s
}

/// Without the premises that rest on the missing one.
fn but(mut s: Story, dependent: &[P]) -> Story {
    s.ask.premises.retain(|name| !dependent.contains(name));
    s
}

/// A sound story with one premise broken.
type Broken = (P, fn() -> Story);

const BROKEN: &[Broken] = &[
    (P::Exercised, || {
        let mut s = pauses::over_ttl();
        s.without(|it| matches!(it.what, What::Write(_)) && it.at.earliest > at(3320.0));
        s
    }),
    (P::Frozen, || {
        let mut s = pauses::over_ttl();
        s.each(|event| undone(event, |fault| fault.cpu_flat = Some(false)));
        s
    }),
    (P::Expired, || {
        let mut s = pauses::over_ttl();
        // The expiry is seen only after the thaw: a store that lets leases live longer.
        thawed_at(&mut s, 1742.0);
        but(s, &[P::TakenOver])
    }),
    (P::TakenOver, || {
        let mut s = pauses::over_ttl();
        thawed_at(&mut s, 1753.0);
        s
    }),
    // Whether it stood still and ran on is told at the thaw, too.
    (P::Thawed, || {
        but(
            without_phase(pauses::over_ttl(), FaultPhase::Undone),
            &[P::Exercised, P::Frozen],
        )
    }),
    (P::NoOtherGrant, || {
        let mut s = pauses::over_ttl();
        s.ask.scenario = ScenarioId::PauseUncontested;
        s.ask.premises.push(P::NoOtherGrant);
        s
    }),
    (P::Taken, || {
        let mut s = pauses::and_gone();
        s.without(|event| match &event.what {
            What::LabDid(_) => true,
            What::Reading(reading) => reading.held.as_ref().is_some_and(|held| held.token == Some(Token(2))),
            _ => false,
        });
        but(s, &[P::FreeAgain])
    }),
    (P::FreeAgain, || {
        let mut s = pauses::and_gone();
        s.each(|event| {
            if event.at == about(1900.0) || event.at == about(1899.0) {
                event.at = about(2005.0);
            }
        });
        s
    }),
    (P::BelowMargin, || pauses::kept_until(1450.0)),
    (P::WriteHeld, || {
        let mut s = scenarios::inside_write();
        s.without(|event| matches!(event.what, What::WriteHeld { .. }));
        but(s, &[P::HeldWritePlaced])
    }),
    (P::SuccessorWrote, || {
        let mut s = scenarios::inside_write();
        s.without(|event| {
            let of_b = event.owner.as_ref().is_some_and(|it| it.as_str() == "b1");
            of_b && matches!(event.what, What::Write(_)) && event.at.earliest < at(THAW + 5.0)
        });
        s
    }),
    (P::HeldWritePlaced, || {
        let mut s = scenarios::inside_write();
        s.without(|event| matches!(&event.what, What::Write(write) if write.arrived.is_some()));
        s
    }),
    (P::ReadHeld, || {
        let mut s = scenarios::cache_fill(WitnessMode::Enforce, Some((1, false)));
        s.without(|event| matches!(event.what, What::ReadHeld { .. }));
        but(s, &[P::FillSettled])
    }),
    (P::FillSettled, || {
        // Its client opened another connection: it may never have got the answer.
        let mut s = scenarios::cache_fill(WitnessMode::Enforce, None);
        s.each(|event| match &mut event.what {
            What::Write(write) if event.at.earliest > at(THAW) => write.connection += 1000,
            _ => {}
        });
        s
    }),
    (P::WaiterRan, || {
        let mut s = scenarios::waiting(THAW, 2300.0);
        s.without(|event| matches!(&event.what, What::Said(said) if said.event == OwnerEvent::Waiting));
        s
    }),
    (P::FrozenWhileOtherHeld, || scenarios::waiting(1700.0, 2300.0)),
    // A waiter that never gets the lease has nothing to work on, either.
    (P::KeyFreed, || but(scenarios::waiting(THAW, 3690.0), &[P::Exercised])),
    (P::Dead, || {
        let mut s = scenarios::killed();
        s.without(|event| matches!(event.what, What::Ended { .. }));
        s
    }),
    (P::Swallowed, || {
        without_wire(scenarios::blackhole(), WireSeen::RequestSwallowed)
    }),
    (P::Healed, || without_phase(scenarios::blackhole(), FaultPhase::Undone)),
    (P::AnswerUnread, || {
        without_wire(scenarios::pause_renewing(), WireSeen::Delivered)
    }),
    (P::WasReset, || {
        without_wire(scenarios::network(ScenarioId::Reset), WireSeen::Reset)
    }),
    (P::DroppedSilently, || {
        without_wire(scenarios::network(ScenarioId::IdleDrop), WireSeen::RequestSwallowed)
    }),
    (P::EndedEarly, || {
        // The lab deleted something else: the lease goes on.
        let mut s = pauses::held_until_pause(ScenarioId::KeyDeleted, &[P::Exercised, P::EndedEarly, P::OwnerRan]);
        s.lab(804.0, Deed::Deleted, "a1#1", 1);
        s.renews(1000.0, 2500.0, "a1").works(810.0, 2500.0, "a1", 1);
        s.end_cycle(2400.0).watched(0.0, 2600.0);
        s
    }),
    (P::OwnerRan, || scenarios::key_deleted(700.0)),
    (P::TermWhileHeld, || {
        without_phase(scenarios::clean_release(), FaultPhase::Confirmed)
    }),
    (P::KeyFree, || {
        // It goes on as if nobody had asked. That it should have let go is availability.
        let mut s = pauses::held_until_pause(ScenarioId::CleanRelease, &[P::Exercised, P::TermWhileHeld, P::KeyFree]);
        let term = [(FaultPhase::Asked, 799.0), (FaultPhase::Confirmed, 800.0)];
        s.fault("a1", FaultKind::Terminate, &term);
        s.renews(1000.0, 2100.0, "a1").works(810.0, 2100.0, "a1", 1);
        s.end_cycle(1800.0).watched(0.0, 2200.0);
        s.ask.availability = false;
        s
    }),
    (P::LabHeldThroughout, || {
        let mut s = pauses::after_loss();
        pauses::lab_frees(&mut s);
        // Another run of the lab took it: this one was too short.
        s.each(|event| {
            if let What::Reading(reading) = &mut event.what
                && let Some(held) = reading.held.as_mut().filter(|held| held.token == Some(Token(2)))
            {
                held.expires = Some(about(2800.0));
            }
        });
        s.without(|event| matches!(&event.what, What::LabDid(it) if it.deed == Deed::Released));
        s
    }),
    (P::ShimMapped, || {
        let mut s = scenarios::clock_back(true);
        s.each(|event| {
            if let What::WallReads { mapped, .. } = &mut event.what {
                *mapped = false;
            }
        });
        s
    }),
    (P::WallReadsCounted, || {
        let mut s = scenarios::clock_back(true);
        s.each(|event| {
            if let What::WallReads { count, .. } = &mut event.what {
                *count = 10;
            }
        });
        s
    }),
    (P::LeaseKept, || scenarios::child_only(false)),
    (P::StoreDown, || {
        let mut s = server::paused();
        s.each(|event| undone(event, |fault| fault.cpu_flat = Some(false)));
        s
    }),
    (P::StoreBack, || {
        let mut s = without_phase(server::restarted(true), FaultPhase::Undone);
        s.watched(0.0, 3700.0);
        s
    }),
    (P::LeaderStopped, || {
        let mut s = server::failover();
        s.each(|event| {
            if let What::Fault(fault) = &mut event.what {
                fault.cpu_flat = fault.cpu_flat.map(|_| false);
            }
        });
        s
    }),
    (P::AnotherLeads, || {
        // It led only once the first went on: nobody knows what happened to whom.
        let mut s = server::failover();
        s.each(|event| {
            if let What::Fault(fault) = &mut event.what
                && fault.phase == FaultPhase::Undone
            {
                event.at = about(1199.0);
            }
        });
        s
    }),
    (P::StoreStepped, || {
        let mut s = server::stepped();
        s.each(|event| {
            if let What::Reading(reading) = &mut event.what {
                reading.server_ns = None;
            }
        });
        s
    }),
    (P::ReplayRejected, || {
        scenarios::fence(&[(1, true), (2, true), (1, false), (1, false)], None)
    }),
    (P::RigOnTime, || {
        let mut s = pauses::over_ttl();
        let (by, what) = (Duration::from_millis(500), "a sample".to_owned());
        s.note(1500.0, What::RigLate { by, what });
        s
    }),
];

/// The sound stories that the broken ones are made from.
const WHOLE: &[fn() -> Story] = &[
    pauses::over_ttl,
    pauses::within_margin,
    pauses::and_gone,
    scenarios::inside_write,
    || scenarios::cache_fill(WitnessMode::Enforce, Some((1, false))),
    || scenarios::cache_fill(WitnessMode::Enforce, None),
    || scenarios::waiting(THAW, 2300.0),
    scenarios::killed,
    scenarios::blackhole,
    || scenarios::network(ScenarioId::Reset),
    || scenarios::network(ScenarioId::IdleDrop),
    || scenarios::key_deleted(1500.0),
    scenarios::clean_release,
    || scenarios::child_only(true),
    || scenarios::clock_back(true),
    server::paused,
    || server::restarted(true),
    server::stepped,
    server::failover,
    || scenarios::fence(&[(1, true), (2, true), (1, false), (1, false)], Some(3)),
];

#[test]
fn every_premise_has_a_record_that_lacks_it() {
    let mut named: Vec<P> = BROKEN.iter().map(|(name, _)| *name).collect();
    named.sort();
    assert_eq!(named, P::ALL);
}

#[test]
fn what_lacks_nothing_is_proven() {
    for story in WHOLE {
        let judged = story().judged();
        assert_eq!(judged.verdict, Verdict::Proven, "{judged:#?}");
    }
}

#[test]
fn a_missing_premise_is_cannot_tell_and_only_that() {
    for (name, story) in BROKEN {
        let history = story().history();
        let judged = judge(&history, None, &Policy::default());
        let missing: Vec<_> = judged.premises.iter().filter(|it| !it.holds.is_yes()).collect();
        let names: Vec<_> = missing.iter().map(|it| it.name).collect();
        assert_eq!(names, [*name], "{missing:#?}");
        assert_eq!(judged.verdict, Verdict::CannotTell, "{name}: {:#?}", judged.findings);
        let (_, change) = missing[0].says.split_once(": ").unwrap_or_default();
        assert!(
            !change.is_empty(),
            "{name} doesn't say what to change: {}",
            missing[0].says
        );
        let mut off = Policy::default();
        off.premises_off.insert(name.as_str().to_owned());
        let judged = judge(&history, None, &off);
        assert_eq!(judged.verdict, Verdict::Proven, "{name}: {judged:#?}");
    }
}

#[test]
fn an_answer_that_was_given_up_before_the_pause_waits_for_nobody() {
    let mut s = scenarios::pause_renewing();
    s.attempt(790.0, "a1", OwnerEvent::RenewFailed, 3);
    let judged = s.judged();
    let unread = judged.premises.iter().find(|it| it.name == P::AnswerUnread);
    assert!(unread.is_some_and(|it| !it.holds.is_yes()), "{unread:#?}");
    assert_eq!(judged.verdict, Verdict::CannotTell);
}
