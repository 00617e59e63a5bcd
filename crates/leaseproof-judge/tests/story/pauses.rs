//! The sound story of each pause: tests tell what a flawed owner does otherwise.

use super::{Ms, Story};
use leaseproof_model::event::{FaultKind, OwnerEvent};
use leaseproof_model::scenario::{PremiseName as P, ScenarioId};

/// When the pause begins.
pub const PAUSE: Ms = 800.0;
/// The last renewal was at 750, so that this is the expiry.
pub const EXPIRY: Ms = 1748.0;
/// When the successor's grant is seen.
pub const TAKEOVER: Ms = 1765.0;
/// When the paused owner runs again.
pub const THAW: Ms = 2000.0;
/// When the cycle is over.
pub const OVER: Ms = 3000.0;

/// `a1` holds with token 1 and works until it is paused; `b1` takes over with token 2; `a1` notices.
/// Later `b1` releases and `a1` works again with token 3.
#[must_use]
pub fn over_ttl() -> Story {
    let mut s = held_until_pause(
        ScenarioId::PauseOverTtl,
        &[
            P::Exercised,
            P::Frozen,
            P::Expired,
            P::TakenOver,
            P::Thawed,
            P::RigOnTime,
        ],
    );
    s.started(5.0, "b1").said(6.0, "b1", OwnerEvent::Waiting);
    s.paused("a1", FaultKind::PauseTree, PAUSE, THAW);
    s.free(EXPIRY + 4.0);
    s.granted(TAKEOVER, "b1#2", 2).acquired(TAKEOVER, "b1", 2);
    s.works(TAKEOVER + 5.0, 3300.0, "b1", 2)
        .renews(TAKEOVER + 250.0, 3300.0, "b1");
    s.said(THAW + 1.0, "a1", OwnerEvent::Lost);
    s.end_cycle(OVER);
    s.free(3310.0).said(3305.0, "b1", OwnerEvent::Released);
    s.granted(3330.0, "a1#3", 3)
        .acquired(3330.0, "a1", 3)
        .works(3340.0, 3600.0, "a1", 3);
    s.watched(0.0, 3700.0);
    s
}

/// Up to the pause: `a1` holds since 100 with token 1, renews and writes.
#[must_use]
pub fn held_until_pause(scenario: ScenarioId, premises: &[P]) -> Story {
    let mut s = Story::new(scenario, premises);
    s.free(0.0).started(1.0, "a1");
    s.granted(100.0, "a1#1", 1).acquired(100.0, "a1", 1);
    s.cycle(101.0, "a1");
    s.works(110.0, PAUSE, "a1", 1).renews(250.0, PAUSE, "a1");
    s
}

/// Paused for less than the margin; the lease is kept.
#[must_use]
pub fn within_margin() -> Story {
    kept_until(1200.0)
}

/// Paused until `thaw`; the lease is kept.
#[must_use]
pub fn kept_until(thaw: Ms) -> Story {
    let mut s = held_until_pause(
        ScenarioId::PauseWithinMargin,
        &[P::Exercised, P::Frozen, P::BelowMargin, P::Thawed],
    );
    s.ask.availability = true;
    s.paused("a1", FaultKind::PauseTree, PAUSE, thaw);
    s.renews(thaw + 5.0, 3000.0, "a1").works(thaw + 10.0, 3000.0, "a1", 1);
    s.end_cycle(2000.0);
    s.watched(0.0, 3050.0);
    s
}

/// Paused until expired; the lab takes and frees the lease; `a1` acquires anew.
#[must_use]
pub fn and_gone() -> Story {
    let mut s = held_until_pause(
        ScenarioId::PauseAndGone,
        &[P::Exercised, P::Frozen, P::Expired, P::Taken, P::FreeAgain, P::Thawed],
    );
    s.paused("a1", FaultKind::PauseTree, PAUSE, THAW);
    s.free(EXPIRY + 4.0);
    s.lab(1799.0, leaseproof_model::event::Deed::Acquired, "lab#2", 2)
        .granted(1800.0, "lab#2", 2);
    s.lab(1899.0, leaseproof_model::event::Deed::Released, "lab#2", 2)
        .free(1900.0);
    s.said(THAW + 1.0, "a1", OwnerEvent::Lost);
    s.granted(2200.0, "a1#3", 3).acquired(2200.0, "a1", 3);
    s.works(2210.0, 3400.0, "a1", 3).renews(2450.0, 3400.0, "a1");
    s.end_cycle(OVER);
    s.watched(0.0, 3450.0);
    s
}

/// Paused until expired; the lab takes the lease for ten TTLs and frees it at 3000.
#[must_use]
pub fn after_loss() -> Story {
    let mut s = held_until_pause(
        ScenarioId::RenewAfterLoss,
        &[P::Exercised, P::Frozen, P::Expired, P::Thawed, P::LabHeldThroughout],
    );
    s.paused("a1", FaultKind::PauseTree, PAUSE, THAW);
    s.free(EXPIRY + 4.0);
    s.lab(1799.0, leaseproof_model::event::Deed::Acquired, "lab#2", 2)
        .granted_for(1800.0, "lab#2", 2, 10_000.0);
    s.said(THAW + 1.0, "a1", OwnerEvent::Lost);
    s
}

/// The end of [`after_loss`], where nobody touched the lab's lease.
pub fn lab_frees(s: &mut Story) {
    s.lab(2999.0, leaseproof_model::event::Deed::Released, "lab#2", 2)
        .free(3000.0);
    s.granted(3100.0, "a1#3", 3)
        .acquired(3100.0, "a1", 3)
        .works(3110.0, 3600.0, "a1", 3)
        .renews(3350.0, 3600.0, "a1");
    s.end_cycle(3500.0);
    s.watched(0.0, 3650.0);
}
