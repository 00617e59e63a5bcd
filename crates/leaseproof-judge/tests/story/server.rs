//! The sound story of each fault of the store's own server.

use super::pauses::{OVER, PAUSE, THAW, held_until_pause};
use super::{Ms, Story, at};
use leaseproof_model::event::{FaultKind, MemberRole, OwnerEvent, Role, Roles, What};
use leaseproof_model::name::ProcessId;
use leaseproof_model::scenario::{PremiseName as P, ScenarioId};

/// The server stops at 800 and goes on at 2000: `a1` hears nothing, stops by its own clock, and acquires anew.
#[must_use]
pub fn paused() -> Story {
    paused_and_wrote_until(1690.0)
}

/// The same, and `a1` writes on until then.
#[must_use]
pub fn paused_and_wrote_until(until: Ms) -> Story {
    let premises = [P::Exercised, P::StoreDown, P::StoreBack];
    let mut s = held_until_pause(ScenarioId::StorePaused, &premises);
    s.store_fault(FaultKind::PauseStore, PAUSE, THAW);
    s.works(PAUSE + 10.0, until, "a1", 1)
        .said(1100.0, "a1", OwnerEvent::RenewFailed)
        .said(until, "a1", OwnerEvent::Lost);
    s.free(THAW + 4.0);
    again(&mut s, THAW + 20.0);
    // Nobody could look while it stood still.
    s.watched(0.0, PAUSE - 4.0).watched(THAW + 4.0, 3700.0);
    s
}

/// `a1` acquires anew with token 2, and works to the end.
fn again(s: &mut Story, ms: Ms) {
    s.granted(ms, "a1#2", 2).acquired(ms, "a1", 2);
    s.works(ms + 5.0, 3600.0, "a1", 2).renews(ms + 250.0, 3600.0, "a1");
    s.end_cycle(OVER);
}

/// The server is killed at 800 and answers again at 1000: with its data the lease goes on, without it is gone.
#[must_use]
pub fn restarted(with_data: bool) -> Story {
    let premises = [P::Exercised, P::StoreDown, P::StoreBack];
    let mut s = held_until_pause(ScenarioId::StoreRestarted, &premises);
    let kind = match with_data {
        true => FaultKind::RestartStore,
        false => FaultKind::EmptyStore,
    };
    s.store_fault(kind, PAUSE, 1000.0);
    if with_data {
        s.works(PAUSE + 10.0, 3600.0, "a1", 1).renews(1010.0, 3600.0, "a1");
        s.end_cycle(OVER);
    } else {
        s.free(1004.0);
        s.said_with(1010.0, "a1", OwnerEvent::RenewFailed, |said| said.definite = Some(true));
        s.said(1011.0, "a1", OwnerEvent::Lost);
        s.granted(1030.0, "a1#2", 1).acquired(1030.0, "a1", 1);
        s.works(1035.0, 3600.0, "a1", 1).renews(1280.0, 3600.0, "a1");
        s.end_cycle(OVER);
    }
    s.watched(0.0, PAUSE - 4.0).watched(1004.0, 3700.0);
    s.each(|event| {
        if let What::Reading(reading) = &mut event.what
            && event.at.earliest > at(1000.0)
        {
            reading.epoch = Some("another run".to_owned());
        }
    });
    s
}

/// The server's clock steps by an hour at 800, and every lease is over.
#[must_use]
pub fn stepped() -> Story {
    let premises = [P::Exercised, P::StoreStepped, P::OwnerRan];
    let mut s = held_until_pause(ScenarioId::StoreClock, &premises);
    s.store_fault(FaultKind::StepStoreClock, PAUSE, OVER - 10.0);
    s.free(PAUSE + 4.0);
    s.said_with(1000.0, "a1", OwnerEvent::RenewFailed, |said| said.definite = Some(true));
    s.said(1001.0, "a1", OwnerEvent::Lost);
    again(&mut s, 1020.0);
    s.watched(0.0, 3700.0);
    s.each(|event| {
        let now = i64::try_from(event.at.earliest.0).expect("a small number");
        let step = if event.at.earliest > at(PAUSE) {
            3_600_000_000_000
        } else {
            0
        };
        if let What::Reading(reading) = &mut event.what {
            reading.server_ns = Some(now + step);
        }
    });
    s
}

/// When another leads.
const LEADS: Ms = 1200.0;

/// The leader, process 31, stops at 800; process 32 leads from 1200 on, and gives the lease its whole time again; the
/// first goes on at 1260. `a1` keeps its lease.
#[must_use]
pub fn failover() -> Story {
    let premises = [P::Exercised, P::LeaderStopped, P::AnotherLeads, P::StoreBack];
    let mut s = held_until_pause(ScenarioId::StoreFailover, &premises);
    s.note(PAUSE - 10.0, What::Roles(roles(Some(31), 2, &[])));
    s.store_fault(FaultKind::PauseLeader, PAUSE, LEADS + 60.0);
    s.note(LEADS - 10.0, What::Roles(roles(None, 2, &[31])));
    s.note(LEADS, What::Roles(roles(Some(32), 3, &[31])));
    s.works(PAUSE + 10.0, 3600.0, "a1", 1);
    s.said(1100.0, "a1", OwnerEvent::RenewFailed);
    s.renewed(LEADS + 4.0).renews(1310.0, 3600.0, "a1");
    s.end_cycle(OVER);
    s.watched(0.0, PAUSE - 4.0).watched(LEADS + 4.0, 3700.0);
    s.each(|event| match &mut event.what {
        What::Reading(reading) if event.at.earliest > at(LEADS) => reading.epoch = Some("term 3".to_owned()),
        What::Fault(fault) => {
            fault.processes = vec![process(31)];
        }
        _ => {}
    });
    s
}

/// Three members, of which `leader` leads in `term`, and those in `silent` don't answer.
fn roles(leader: Option<u32>, term: u64, silent: &[u32]) -> Roles {
    let member = |pid: u32| MemberRole {
        process: process(pid),
        role: (!silent.contains(&pid)).then_some(Role {
            leads: leader == Some(pid),
            term,
        }),
    };
    Roles {
        members: [31, 32, 33].map(member).into(),
    }
}

fn process(pid: u32) -> ProcessId {
    ProcessId { pid, start_ticks: 7 }
}

/// The server's clock steps back at 800, and its remaining TTLs read below zero from then on; the lease
/// lives. (Recorded of an etcd 3.4.)
#[must_use]
pub fn reads_below_zero() -> Story {
    let premises = [P::Exercised, P::OwnerRan];
    let mut s = held_until_pause(ScenarioId::StoreClock, &premises);
    s.ask.store.late_bound = std::time::Duration::from_millis(100);
    s.store_fault(FaultKind::StepStoreClock, PAUSE, OVER - 10.0);
    s.works(PAUSE + 10.0, 3600.0, "a1", 1).renews(1000.0, 3600.0, "a1");
    s.end_cycle(OVER);
    s.watched(0.0, 3700.0);
    s.each(|event| {
        if let What::Reading(reading) = &mut event.what
            && event.at.earliest > at(PAUSE)
            && let Some(held) = &mut reading.held
        {
            held.expires = Some(super::about(0.0));
        }
    });
    s
}

/// The same on a store whose rows outlive their lease: from 804 on the row is over by the clock that stepped.
#[must_use]
pub fn stepped_beside_a_row() -> Story {
    let mut s = stepped();
    s.each(|event| {
        if let What::Reading(reading) = &mut event.what
            && reading.held.is_none()
            && event.at.earliest > at(PAUSE)
        {
            reading.held = Some(leaseproof_model::event::Held {
                holder: "a1#1".into(),
                token: Some(leaseproof_model::name::Token(1)),
                expires: Some(super::about(0.0)),
                bound: None,
                ttl: None,
                expired: true,
                granted: None,
                renewed: None,
                write_lock: true,
            });
        }
    });
    s
}

/// `a1` releases at 705 and `b1` is granted token 2 right before the leader stops: no look shows that, and the next
/// leader knows nothing of it. `b1` writes on until `until`, and is granted the lease anew after that.
#[must_use]
pub fn lost_with_its_leader(until: Ms) -> Story {
    let mut s = Story::new(ScenarioId::StoreFailover, &[]);
    s.free(0.0).started(1.0, "a1").started(2.0, "b1");
    s.granted(100.0, "a1#1", 1).acquired(100.0, "a1", 1);
    s.cycle(101.0, "a1");
    s.works(110.0, 700.0, "a1", 1).renews(250.0, 700.0, "a1");
    s.said(705.0, "a1", OwnerEvent::Released).free(710.0).free(PAUSE - 4.0);
    s.acquired(PAUSE - 2.0, "b1", 2).works(PAUSE - 1.0, until, "b1", 2);
    s.note(PAUSE - 10.0, What::Roles(roles(Some(31), 2, &[])));
    s.store_fault(FaultKind::PauseLeader, PAUSE, LEADS + 60.0);
    s.note(LEADS - 10.0, What::Roles(roles(None, 2, &[31])));
    s.note(LEADS, What::Roles(roles(Some(32), 3, &[31])));
    let mut ms = LEADS + 4.0;
    while ms < until + 20.0 {
        s.free(ms);
        ms += super::LOOK;
    }
    s.said(until + 1.0, "b1", OwnerEvent::Lost);
    s.granted(until + 30.0, "b1#3", 3).acquired(until + 30.0, "b1", 3);
    s.works(until + 40.0, until + 600.0, "b1", 3);
    s.end_cycle(until + 500.0);
    s.watched(0.0, PAUSE - 4.0).watched(LEADS + 4.0, until + 620.0);
    s.each(|event| match &mut event.what {
        What::Reading(reading) if event.at.earliest > at(LEADS) => reading.epoch = Some("term 3".to_owned()),
        What::Fault(fault) => fault.processes = vec![process(31)],
        _ => {}
    });
    s
}

/// The same looks and words where one leader led throughout.
#[must_use]
pub fn never_granted(until: Ms) -> Story {
    let mut s = lost_with_its_leader(until);
    s.without(|event| matches!(event.what, What::Fault(_) | What::Roles(_) | What::Coverage(_)));
    let mut ms = PAUSE;
    while ms < LEADS {
        s.free_then(ms);
        ms += super::LOOK;
    }
    s.watched(0.0, until + 620.0);
    s.each(|event| {
        if let What::Reading(reading) = &mut event.what {
            reading.epoch = Some("run".to_owned());
        }
    });
    s
}

/// The leader stops at 800 and another leads from 1800 on, when the lease is over: `a1` acquires it anew, and
/// releases it within a TTL of that.
#[must_use]
pub fn acquired_anew_at_the_next_leader() -> Story {
    const NEXT: Ms = 1800.0;
    let premises = [P::Exercised, P::LeaderStopped, P::AnotherLeads, P::StoreBack];
    let mut s = held_until_pause(ScenarioId::StoreFailover, &premises);
    s.note(PAUSE - 10.0, What::Roles(roles(Some(31), 2, &[])));
    s.store_fault(FaultKind::PauseLeader, PAUSE, NEXT + 60.0);
    s.note(NEXT - 10.0, What::Roles(roles(None, 2, &[31])));
    s.note(NEXT, What::Roles(roles(Some(32), 3, &[31])));
    s.works(PAUSE + 10.0, 1690.0, "a1", 1);
    s.said(1100.0, "a1", OwnerEvent::RenewFailed)
        .said(1695.0, "a1", OwnerEvent::Lost);
    s.free(NEXT + 4.0)
        .granted(NEXT + 30.0, "a1#2", 2)
        .acquired(NEXT + 30.0, "a1", 2);
    s.works(NEXT + 40.0, 2590.0, "a1", 2).renews(NEXT + 280.0, 2590.0, "a1");
    s.end_cycle(2550.0)
        .said(2600.0, "a1", OwnerEvent::Released)
        .free(2605.0);
    s.watched(0.0, PAUSE - 4.0).watched(NEXT + 4.0, 2700.0);
    s.each(|event| match &mut event.what {
        What::Reading(reading) if event.at.earliest > at(NEXT) => reading.epoch = Some("term 3".to_owned()),
        What::Fault(fault) => fault.processes = vec![process(31)],
        _ => {}
    });
    s
}
