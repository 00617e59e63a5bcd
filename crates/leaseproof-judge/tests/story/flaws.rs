//! What flawed owners, stores and resources do, and what comes close to it and is sound.

use super::pauses::{self, EXPIRY, OVER, THAW};
use super::{Story, at, scenarios, server};
use leaseproof_model::clock::{MonoNanos, Stamp, WallNanos};
use leaseproof_model::event::{Coverage, Deed, FaultKind, FaultPhase, OwnerEvent, Source, What, WireSeen, WithinSeen};
use leaseproof_model::name::{ProcessId, Token};
use leaseproof_model::scenario::ScenarioId;
use std::time::Duration;

#[must_use]
pub fn over_ttl(change: impl FnOnce(&mut Story)) -> Story {
    let mut s = pauses::over_ttl();
    change(&mut s);
    s
}

#[must_use]
pub fn straddling() -> Story {
    over_ttl(|s| _ = s.wrote(THAW + 2.0, "a1", 1))
}

#[must_use]
pub fn late() -> Story {
    over_ttl(|s| _ = s.works(THAW + 2.0, 2900.0, "a1", 1))
}

/// `a1` is refused right after the thaw, and writes until then.
#[must_use]
pub fn refused(until: f64) -> Story {
    over_ttl(|s| {
        s.said_with(THAW + 2.0, "a1", OwnerEvent::RenewFailed, |said| {
            said.definite = Some(true);
        });
        s.works(THAW + 3.0, until, "a1", 1);
    })
}

/// `a1` is asked to release while the lab holds; the lab's lease is gone then, or not.
#[must_use]
pub fn released_late(gone: bool) -> Story {
    let mut s = pauses::after_loss();
    s.ask.scenario = ScenarioId::ReleaseAfterLoss;
    let term = [(FaultPhase::Asked, 1810.0), (FaultPhase::Confirmed, 1811.0)];
    s.fault("a1", FaultKind::Terminate, &term);
    s.said(2005.0, "a1", OwnerEvent::Released).ended(2006.0, "a1", true);
    if !gone {
        s.lab(2999.0, Deed::Released, "lab#2", 2);
    }
    s.free(if gone { 2010.0 } else { 3000.0 });
    s.end_cycle(3100.0).watched(0.0, 3200.0);
    s
}

/// `a1` claims, at 2002, the renewal that it sent at 749: until a TTL after the answer, less a drift of 50, or after
/// its request.
#[must_use]
pub fn claimed_late(from_answer: bool) -> Story {
    let mut s = scenarios::pause_renewing();
    s.said_with(THAW + 2.0, "a1", OwnerEvent::Renewed, |said| {
        said.attempt = Some(3);
        said.valid_until = Some(at(if from_answer { THAW + 2.0 } else { 749.0 } + 950.0));
    });
    s
}

/// The connection is forgotten and the lease lost; `a1` says that a renewal failed, or not.
#[must_use]
pub fn dropped(noticed: bool) -> Story {
    let mut s = pauses::held_until_pause(ScenarioId::IdleDrop, &[]);
    s.ask.availability = true;
    let phases = [(FaultPhase::Asked, 799.0), (FaultPhase::Confirmed, 800.0)];
    s.fault("a1", FaultKind::IdleDrop, &phases);
    s.wire(801.0, "a1", WireSeen::Forgotten)
        .wire(1000.0, "a1", WireSeen::RequestSwallowed);
    if noticed {
        s.said(1110.0, "a1", OwnerEvent::RenewFailed);
    }
    s.free(EXPIRY + 4.0).said(EXPIRY - 60.0, "a1", OwnerEvent::Lost);
    s.end_cycle(OVER).watched(0.0, OVER + 100.0);
    s
}

/// The store stands still, `a1` writes on past its TTL, and what it sent at 1000 gets no answer: it says so, or not.
#[must_use]
pub fn unanswered(noticed: bool) -> Story {
    let mut s = server::paused_and_wrote_until(1995.0);
    s.wire(1000.0, "a1", WireSeen::Request);
    if !noticed {
        s.without(|event| matches!(&event.what, What::Said(said) if said.event == OwnerEvent::RenewFailed));
    }
    s
}

/// The part of `a1` that holds stands still, and the part that works writes on beside `b1`. What that one sent to the
/// other at 1000 lies there unread: it connects anew, or not.
#[must_use]
pub fn unread(noticed: bool) -> Story {
    over_ttl(|s| {
        s.works(pauses::PAUSE + 10.0, THAW, "a1", 1);
        s.within(805.0, "a1", "one", WithinSeen::Stood)
            .within(1000.0, "a1", "one", WithinSeen::Unread(120));
        if noticed {
            s.within(1200.0, "a1", "two", WithinSeen::Opened);
        }
        s.each(|event| {
            if let What::Fault(fault) = &mut event.what {
                fault.kind = FaultKind::PauseParent;
                fault.processes = vec![ProcessId {
                    pid: 31,
                    start_ticks: 7,
                }];
            }
        });
    })
}

/// After `b1` released at 3305 its renewer says that a renewal succeeded.
#[must_use]
pub fn renewed_after_release(ms: f64) -> Story {
    over_ttl(|s| _ = s.said(ms, "b1", OwnerEvent::Renewed))
}

/// The process of `a1` ended at 1100 and its lease is extended then.
#[must_use]
pub fn renewed_after_end(ms: f64) -> Story {
    let mut s = pauses::held_until_pause(ScenarioId::Killed, &[]);
    s.ended(1100.0, "a1", false).renewed(ms).watched(0.0, 2000.0);
    s
}

/// `b1` says `lost` in the middle of its lease, after a renewal that failed or without one.
#[must_use]
pub fn gave_up(failed: bool) -> Story {
    over_ttl(|s| {
        if failed {
            s.said(3250.0, "b1", OwnerEvent::RenewFailed);
        }
        s.said(3260.0, "b1", OwnerEvent::Lost);
    })
}

/// The store is another one from 1000 on, and has the lease, or not.
#[must_use]
pub fn moved(lost: bool) -> Story {
    let mut s = pauses::within_margin();
    s.ask.availability = false;
    if lost {
        s.without(|event| event.at.earliest > at(1204.0)).free(1210.0);
        s.watched(0.0, 1400.0);
    }
    s.each(|event| {
        if let What::Reading(reading) = &mut event.what
            && event.at.earliest > at(1204.0)
        {
            reading.epoch = Some("another run".to_owned());
        }
    });
    s
}

/// The server's clock, `by` milliseconds further from the thaw on.
#[must_use]
pub fn server_clock(by: i64) -> Story {
    over_ttl(|s| {
        s.each(|event| {
            let step = if event.at.earliest > at(THAW) {
                by * 1_000_000
            } else {
                0
            };
            let now = i64::try_from(event.at.earliest.0).expect("a small number");
            if let What::Reading(reading) = &mut event.what {
                reading.server_ns = Some(now + step);
            }
        });
    })
}

/// The host's wall clock, `by` milliseconds further from the thaw on.
#[must_use]
pub fn host_clock(by: i64) -> Story {
    over_ttl(|s| {
        s.each(|event| {
            let step = if event.at.earliest > at(THAW) {
                by * 1_000_000
            } else {
                0
            };
            let boot = event.at.latest;
            let wall = i64::try_from(boot.0).expect("a small number") + step;
            event.stamp = Some(Stamp {
                boot,
                mono: MonoNanos(boot.0),
                wall: WallNanos(wall),
            });
        });
    })
}

/// The first grant of `a1` is for so long.
#[must_use]
pub fn granted_for(ttl: f64) -> Story {
    let mut s = Story::new(ScenarioId::PauseUncontested, &[]);
    s.free(0.0).started(1.0, "a1");
    s.granted_for(100.0, "a1#1", 1, ttl).acquired(100.0, "a1", 1);
    s.watched(0.0, 400.0);
    s
}

/// A grant whose commit was slow: 900 ms were left when it could be seen, of the TTL that its row states.
#[must_use]
pub fn granted_and_seen_late(stated: f64) -> Story {
    let mut s = Story::new(ScenarioId::PauseUncontested, &[]);
    s.free(0.0).started(1.0, "a1");
    s.granted_stating(100.0, "a1#1", 1, 900.0, Some(stated))
        .acquired(100.0, "a1", 1);
    s.watched(0.0, 400.0);
    s
}

/// Where a grant counts once its second step is done.
#[must_use]
pub fn granted_in_steps(ttl: f64) -> Story {
    let mut s = granted_for(ttl);
    s.ask.store.grants_in_steps = true;
    s
}

#[must_use]
pub fn dropped_output(dropped: u64) -> Story {
    over_ttl(|s| {
        let coverage = Coverage {
            source: Source::Owner,
            owner: Some("a1".into()),
            from: at(0.0),
            until: at(3600.0),
            longest_gap: Duration::ZERO,
            dropped,
        };
        s.note(3650.0, What::Coverage(coverage));
    })
}

#[must_use]
pub fn tokens(change: impl Fn(&mut Option<Token>)) -> Story {
    over_ttl(|s| {
        s.each(|event| match &mut event.what {
            What::Reading(reading) => {
                reading.counter = Some(Token(1));
                if let Some(held) = &mut reading.held {
                    change(&mut held.token);
                }
            }
            What::Write(write) => change(&mut write.token),
            What::Said(said) if said.token.is_some() => change(&mut said.token),
            _ => {}
        });
    })
}

#[must_use]
pub fn without_token() -> Story {
    over_ttl(|s| {
        s.each(|event| {
            if let What::Write(write) = &mut event.what {
                write.token = None;
            }
        });
    })
}

#[must_use]
pub fn without_ttl() -> Story {
    over_ttl(|s| {
        s.each(|event| {
            if let What::Reading(reading) = &mut event.what
                && let Some(held) = reading.held.as_mut().filter(|held| held.token == Some(Token(3)))
            {
                held.expires = None;
            }
        });
    })
}

#[must_use]
pub fn touched(lab_lease: bool) -> Story {
    let mut s = pauses::after_loss();
    if lab_lease {
        s.renewed(2010.0);
    }
    pauses::lab_frees(&mut s);
    s
}

#[must_use]
pub fn never_extended() -> Story {
    let mut s = pauses::within_margin();
    s.without(|event| matches!(event.what, What::Reading(_)) && event.at.earliest > at(300.0));
    s.ask.availability = false;
    s.free(1250.0);
    s
}

#[must_use]
pub fn fence(writes: &[(u64, bool)]) -> Story {
    scenarios::fence(writes, None)
}

#[must_use]
pub fn stepped_and_late() -> Story {
    let mut s = scenarios::clock_back(true);
    s.works(THAW + 2.0, 2900.0, "a1", 1);
    s
}
