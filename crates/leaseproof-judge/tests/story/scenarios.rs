//! The sound story of each scenario that is no plain pause of the owner: tests take a part away.

use super::pauses::{EXPIRY, OVER, PAUSE, TAKEOVER, THAW, held_until_pause};
use super::{Story, about, at};
use leaseproof_model::event::{Deed, FaultKind, FaultPhase, OwnerEvent, What, WireSeen};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::Token;
use leaseproof_model::scenario::{PremiseName as P, ScenarioId, WitnessMode};

/// `b1` takes over when `a1`'s lease expired, lets go at 3305, and `a1` (or `a2`) works again.
pub fn taken_over(s: &mut Story, next: &str) {
    s.started(5.0, "b1").said(6.0, "b1", OwnerEvent::Waiting);
    s.free(EXPIRY + 4.0);
    s.granted(TAKEOVER, "b1#2", 2).acquired(TAKEOVER, "b1", 2);
    s.works(TAKEOVER + 5.0, 3300.0, "b1", 2)
        .renews(TAKEOVER + 250.0, 3300.0, "b1");
    s.end_cycle(OVER);
    s.free(3310.0).said(3305.0, "b1", OwnerEvent::Released);
    s.granted(3330.0, &format!("{next}#3"), 3)
        .acquired(3330.0, next, 3)
        .works(3340.0, 3600.0, next, 3);
    s.watched(0.0, 3700.0);
}

/// A write of `a1` is held in flight over the pause, and refused when it is let go.
#[must_use]
pub fn inside_write() -> Story {
    let premises = [
        P::Exercised,
        P::WriteHeld,
        P::Frozen,
        P::Expired,
        P::TakenOver,
        P::SuccessorWrote,
        P::Thawed,
        P::HeldWritePlaced,
    ];
    let mut s = held_until_pause(ScenarioId::PauseInsideWrite, &premises);
    s.ask.witness = WitnessMode::Enforce;
    let held = What::WriteHeld {
        connection: 9,
        token: Some(Token(1)),
    };
    s.fault("a1", FaultKind::HoldWrite, &phases(794.0, 795.0, THAW + 1.0));
    s.of_owner(795.0, "a1", held);
    s.paused("a1", FaultKind::PauseTree, PAUSE, THAW);
    s.said(THAW + 1.0, "a1", OwnerEvent::Lost);
    s.wrote_with(THAW + 2.0, "a1", 1, |write| {
        write.connection = 9;
        write.accepted = false;
        write.arrived = Some(about(795.0));
    });
    taken_over(&mut s, "a1");
    s
}

/// The value that `a1` has read before the pause: its write right before it.
pub const READ: u64 = 14;

/// `a1` has read the value and is paused before it fills the cache: with this version (0: none) it does so after the
/// thaw, or not at all.
#[must_use]
pub fn cache_fill(witness: WitnessMode, fill: Option<(u64, bool)>) -> Story {
    let premises = [
        P::Exercised,
        P::ReadHeld,
        P::Frozen,
        P::Expired,
        P::TakenOver,
        P::SuccessorWrote,
        P::Thawed,
        P::FillSettled,
    ];
    let mut s = held_until_pause(ScenarioId::CacheFill, &premises);
    s.ask.witness = witness;
    s.each(|event| match &mut event.what {
        What::Write(write) => write.mode = witness,
        What::CycleBegan { witness: mode, .. } => *mode = witness,
        _ => {}
    });
    let read = What::ReadHeld {
        connection: u64::from(b'a'),
        value: READ,
        version: Some(Token(1)),
    };
    s.filled(700.0, "a1", READ - 2, 1, true);
    s.fault("a1", FaultKind::HoldRead, &phases(794.0, 795.0, THAW - 1.0));
    s.of_owner(795.0, "a1", read);
    s.paused("a1", FaultKind::PauseTree, PAUSE, THAW);
    s.said(THAW + 1.0, "a1", OwnerEvent::Lost);
    if let Some((version, accepted)) = fill {
        s.filled(THAW + 2.0, "a1", READ, version, accepted);
    }
    taken_over(&mut s, "a1");
    s
}

/// `b1` waits and is paused for longer than the TTL while `a1` holds; later `a1` lets go.
#[must_use]
pub fn waiting(thaw: f64, released: f64) -> Story {
    let premises = [
        P::Exercised,
        P::WaiterRan,
        P::FrozenWhileOtherHeld,
        P::Thawed,
        P::KeyFreed,
    ];
    let mut s = Story::new(ScenarioId::PauseWaiting, &premises);
    s.free(0.0).started(1.0, "a1").started(5.0, "b1");
    s.granted(100.0, "a1#1", 1).acquired(100.0, "a1", 1);
    s.said(110.0, "b1", OwnerEvent::Waiting).cycle(111.0, "b1");
    s.works(120.0, released, "a1", 1).renews(250.0, released, "a1");
    s.paused("b1", FaultKind::PauseTree, PAUSE, thaw);
    if released < OVER {
        s.said(released + 1.0, "a1", OwnerEvent::Released).free(released + 5.0);
        s.granted(released + 20.0, "b1#2", 2)
            .acquired(released + 20.0, "b1", 2)
            .works(released + 30.0, 3600.0, "b1", 2)
            .renews(released + 270.0, 3600.0, "b1");
    }
    s.end_cycle(3500.0).watched(0.0, 3700.0);
    s
}

/// `a1` is killed; `b1` takes over; a supervisor starts `a2`.
#[must_use]
pub fn killed() -> Story {
    let premises = [P::Exercised, P::Dead, P::Expired, P::TakenOver];
    let mut s = held_until_pause(ScenarioId::Killed, &premises);
    let kill = [(FaultPhase::Asked, PAUSE - 1.0), (FaultPhase::Confirmed, PAUSE)];
    s.fault("a1", FaultKind::KillTree, &kill)
        .ended(PAUSE + 1.0, "a1", true)
        .started(1000.0, "a2");
    taken_over(&mut s, "a2");
    s
}

/// Nothing passes between `a1` and the store until 2000; it stops by its own clock.
#[must_use]
pub fn blackhole() -> Story {
    let premises = [P::Exercised, P::Swallowed, P::Expired, P::TakenOver, P::Healed];
    let mut s = held_until_pause(ScenarioId::Blackhole, &premises);
    s.fault("a1", FaultKind::Blackhole, &phases(PAUSE - 1.0, PAUSE, THAW));
    s.wire(1000.0, "a1", WireSeen::RequestSwallowed)
        .works(PAUSE + 10.0, 1650.0, "a1", 1)
        .said(1100.0, "a1", OwnerEvent::RenewFailed)
        .said(1690.0, "a1", OwnerEvent::Lost);
    taken_over(&mut s, "a1");
    s
}

/// `a1` sends a renewal at 749 and is paused before it reads the answer, which waits for it at the thaw.
#[must_use]
pub fn pause_renewing() -> Story {
    let premises = [
        P::Exercised,
        P::AnswerUnread,
        P::Frozen,
        P::Expired,
        P::TakenOver,
        P::Thawed,
    ];
    let mut s = held_until_pause(ScenarioId::PauseRenewing, &premises);
    s.without(|event| matches!(&event.what, What::Said(_)) && event.at == about(750.0));
    s.attempt(749.0, "a1", OwnerEvent::RenewSent, 3);
    s.fault("a1", FaultKind::DelayAnswers, &phases(739.0, 740.0, 811.0));
    s.wire(751.0, "a1", WireSeen::AnswerSwallowed)
        .wire(810.0, "a1", WireSeen::Delivered);
    s.paused("a1", FaultKind::PauseTree, PAUSE, THAW);
    s.said(THAW + 1.0, "a1", OwnerEvent::Lost);
    taken_over(&mut s, "a1");
    s
}

/// The network hurts `a1` at 800 and it keeps its lease.
#[must_use]
pub fn network(scenario: ScenarioId) -> Story {
    let (kind, hurt) = match scenario {
        ScenarioId::Reset => (FaultKind::Reset, P::WasReset),
        _ => (FaultKind::IdleDrop, P::DroppedSilently),
    };
    let mut s = held_until_pause(scenario, &[P::Exercised, hurt, P::OwnerRan]);
    s.ask.availability = true;
    s.fault("a1", kind, &phases(PAUSE - 1.0, PAUSE, PAUSE + 300.0));
    match scenario {
        ScenarioId::Reset => s.wire(PAUSE + 0.5, "a1", WireSeen::Reset),
        _ => s
            .wire(PAUSE + 0.5, "a1", WireSeen::Forgotten)
            .wire(1000.0, "a1", WireSeen::RequestSwallowed),
    };
    s.wire(1002.0, "a1", WireSeen::Opened);
    s.works(PAUSE + 10.0, OVER + 100.0, "a1", 1)
        .renews(1005.0, OVER + 100.0, "a1");
    s.end_cycle(OVER).watched(0.0, OVER + 200.0);
    s
}

/// The key is deleted at 404; `a1` is refused at 502, and acquires anew at 2400.
#[must_use]
pub fn key_deleted(over: f64) -> Story {
    let mut s = Story::new(ScenarioId::KeyDeleted, &[P::Exercised, P::EndedEarly, P::OwnerRan]);
    s.free(0.0)
        .started(1.0, "a1")
        .granted(100.0, "a1#1", 1)
        .acquired(100.0, "a1", 1)
        .cycle(101.0, "a1");
    s.works(110.0, 500.0, "a1", 1).renews(250.0, 400.0, "a1");
    s.lab(404.0, Deed::Deleted, "a1#1", 1).free(410.0);
    s.said_with(502.0, "a1", OwnerEvent::RenewFailed, |said| said.definite = Some(true));
    s.said(503.0, "a1", OwnerEvent::Lost);
    s.end_cycle(over);
    s.granted(2400.0, "a1#2", 2)
        .acquired(2400.0, "a1", 2)
        .works(2410.0, 2900.0, "a1", 2);
    s.watched(0.0, 3000.0);
    s
}

/// The key is deleted right after a renewal that no look shows; no later one is answered, and the owner works `until`.
#[must_use]
pub fn deleted_and_unanswered(until: f64) -> Story {
    let mut s = key_deleted(2300.0);
    s.without(|event| {
        matches!(&event.what, What::Said(said) if matches!(said.event, OwnerEvent::RenewFailed | OwnerEvent::Lost))
    });
    s.said(402.0, "a1", OwnerEvent::Renewed);
    for ms in [752.0, 1002.0] {
        s.said(ms, "a1", OwnerEvent::RenewFailed);
    }
    s.works(510.0, until, "a1", 1).said(until + 5.0, "a1", OwnerEvent::Lost);
    s
}

/// `a1` is asked to end at 800, releases and exits; `a2` follows.
#[must_use]
pub fn clean_release() -> Story {
    let mut s = held_until_pause(ScenarioId::CleanRelease, &[P::Exercised, P::TermWhileHeld, P::KeyFree]);
    s.ask.availability = true;
    let term = [(FaultPhase::Asked, PAUSE - 1.0), (FaultPhase::Confirmed, PAUSE)];
    s.fault("a1", FaultKind::Terminate, &term);
    s.said(PAUSE + 3.0, "a1", OwnerEvent::Released)
        .free(PAUSE + 5.0)
        .ended(PAUSE + 10.0, "a1", false);
    s.started(1000.0, "a2");
    s.granted(1100.0, "a2#2", 2)
        .acquired(1100.0, "a2", 2)
        .works(1110.0, 2100.0, "a2", 2)
        .renews(1350.0, 2100.0, "a2");
    s.end_cycle(1800.0).watched(0.0, 2200.0);
    s
}

/// `a1` is asked to end at 800 and ends without a release that the store knows of; its last look before that took long
/// where the store is `slow`.
#[must_use]
pub fn left_at_the_end(slow: bool) -> Story {
    let mut s = held_until_pause(ScenarioId::CleanRelease, &[P::Exercised, P::TermWhileHeld]);
    s.ask.availability = true;
    let term = [(FaultPhase::Asked, PAUSE - 1.0), (FaultPhase::Confirmed, PAUSE)];
    s.fault("a1", FaultKind::Terminate, &term);
    s.said(PAUSE + 62.0, "a1", OwnerEvent::Lost)
        .shown(PAUSE + 65.0, |_| ())
        .ended(PAUSE + 70.0, "a1", false);
    if slow {
        s.each(|event| {
            if matches!(event.what, What::Reading(_)) && event.at == about(PAUSE + 65.0) {
                event.at = Moment::between(at(PAUSE + 2.0), at(PAUSE + 65.0));
            }
        });
    }
    s.started(1000.0, "a2").free(EXPIRY + 4.0);
    s.granted(1800.0, "a2#2", 2)
        .acquired(1800.0, "a2", 2)
        .works(1810.0, 2700.0, "a2", 2)
        .renews(2050.0, 2700.0, "a2");
    s.end_cycle(2500.0).watched(0.0, 2800.0);
    s
}

/// The children of `a1`, which work, are stopped; its parent holds the lease on.
#[must_use]
pub fn child_only(kept: bool) -> Story {
    let mut s = held_until_pause(
        ScenarioId::ChildOnly,
        &[P::Exercised, P::Frozen, P::LeaseKept, P::Thawed],
    );
    s.paused("a1", FaultKind::PauseChild, PAUSE, THAW);
    if kept {
        s.renews(1000.0, 3400.0, "a1").works(THAW + 5.0, 3400.0, "a1", 1);
    } else {
        s.free(EXPIRY + 4.0).said(1700.0, "a1", OwnerEvent::Lost);
        s.granted(2200.0, "a1#2", 2)
            .acquired(2200.0, "a1", 2)
            .works(2210.0, 3400.0, "a1", 2)
            .renews(2450.0, 3400.0, "a1");
    }
    s.end_cycle(OVER).watched(0.0, 3450.0);
    s
}

/// The wall clock of `a1` is stepped back before it is paused.
#[must_use]
pub fn clock_back(step: bool) -> Story {
    let mut s = super::pauses::over_ttl();
    s.ask.scenario = ScenarioId::ClockBack;
    s.ask.availability = true;
    s.ask.twin = !step;
    s.ask.premises = vec![
        P::Exercised,
        P::ShimMapped,
        P::WallReadsCounted,
        P::Frozen,
        P::Expired,
        P::TakenOver,
    ];
    let offset = if step { -3_600_000_000_000 } else { 0 };
    s.shim(798.5, "a1", 10, offset).shim(2900.0, "a1", 20, offset);
    if step {
        s.fault("a1", FaultKind::ClockStep, &phases(797.0, 798.0, 2950.0));
    }
    s
}

/// The rig's self-check: writes with these tokens, accepted or not, and the restart after so many.
#[must_use]
pub fn fence(writes: &[(u64, bool)], restart_after: Option<usize>) -> Story {
    let mut s = Story::new(ScenarioId::StaleToken, &[P::ReplayRejected]);
    s.ask.witness = WitnessMode::Enforce;
    s.cycle(1.0, "lab");
    for (place, (token, accepted)) in writes.iter().enumerate() {
        s.wrote_with(10.0 + 10.0 * place as f64, "lab", *token, |write| {
            write.accepted = *accepted;
            write.replay = true;
        });
    }
    if let Some(after) = restart_after {
        let highest = Some(Token(2));
        s.of_owner(5.0 + 10.0 * after as f64, "lab", What::WitnessRestarted { highest });
    }
    s.end_cycle(100.0).watched(0.0, 120.0).free(0.0);
    s
}

fn phases(asked: f64, confirmed: f64, undone: f64) -> [(FaultPhase, f64); 3] {
    [
        (FaultPhase::Asked, asked),
        (FaultPhase::Confirmed, confirmed),
        (FaultPhase::Undone, undone),
    ]
}
