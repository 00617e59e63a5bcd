//! A rule that can't fail is a defect, and so is one that always does: for each there is a record that
//! shows it and one, close to it, that doesn't. With the rule switched off its record shows it no more.

mod story;

use leaseproof_judge::{Policy, judge};
use leaseproof_model::clock::{MonoNanos, Stamp, WallNanos};
use leaseproof_model::event::{Coverage, Deed, FaultKind, FaultPhase, OwnerEvent, Source, What, WireSeen};
use leaseproof_model::history::History;
use leaseproof_model::name::Token;
use leaseproof_model::rule;
use leaseproof_model::scenario::ScenarioId;
use leaseproof_model::verdict::ScenarioVerdict;
use std::time::Duration;
use story::pauses::{self, EXPIRY, OVER, THAW};
use story::{Story, at, scenarios};

/// The rule, the record that does not show it, and the one that does.
type Pair = (&'static str, fn() -> Story, fn() -> Story);

/// Rules that look at something that no record of a scenario holds yet.
const OUT_OF_SCOPE: &[&str] = &["LP008", "LP023", "LP025"];

fn over_ttl(change: impl FnOnce(&mut Story)) -> Story {
    let mut s = pauses::over_ttl();
    change(&mut s);
    s
}

fn straddling() -> Story {
    over_ttl(|s| _ = s.wrote(THAW + 2.0, "a1", 1))
}

fn late() -> Story {
    over_ttl(|s| _ = s.works(THAW + 2.0, 2900.0, "a1", 1))
}

/// `a1` is refused right after the thaw, and writes until then.
fn refused(until: f64) -> Story {
    over_ttl(|s| {
        s.said_with(THAW + 2.0, "a1", OwnerEvent::RenewFailed, |said| {
            said.definite = Some(true);
        });
        s.works(THAW + 3.0, until, "a1", 1);
    })
}

/// `a1` is asked to release while the lab holds; the lab's lease is gone then, or not.
fn released_late(gone: bool) -> Story {
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

/// The connection is forgotten and the lease lost; `a1` says that a renewal failed, or not.
fn dropped(noticed: bool) -> Story {
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

/// After `b1` released at 3305 its renewer says that a renewal succeeded.
fn renewed_after_release(ms: f64) -> Story {
    over_ttl(|s| _ = s.said(ms, "b1", OwnerEvent::Renewed))
}

/// The process of `a1` ended at 1100 and its lease is extended then.
fn renewed_after_end(ms: f64) -> Story {
    let mut s = pauses::held_until_pause(ScenarioId::Killed, &[]);
    s.ended(1100.0, "a1", false).renewed(ms).watched(0.0, 2000.0);
    s
}

/// `b1` says `lost` in the middle of its lease, after a renewal that failed or without one.
fn gave_up(failed: bool) -> Story {
    over_ttl(|s| {
        if failed {
            s.said(3250.0, "b1", OwnerEvent::RenewFailed);
        }
        s.said(3260.0, "b1", OwnerEvent::Lost);
    })
}

/// The store is another one from 1000 on, and has the lease, or not.
fn moved(lost: bool) -> Story {
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
fn server_clock(by: i64) -> Story {
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
fn host_clock(by: i64) -> Story {
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
fn granted_for(ttl: f64) -> Story {
    let mut s = Story::new(ScenarioId::PauseUncontested, &[]);
    s.free(0.0).started(1.0, "a1");
    s.granted_for(100.0, "a1#1", 1, ttl).acquired(100.0, "a1", 1);
    s.watched(0.0, 400.0);
    s
}

fn dropped_output(dropped: u64) -> Story {
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

fn tokens(change: impl Fn(&mut Option<Token>)) -> Story {
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

fn without_token() -> Story {
    over_ttl(|s| {
        s.each(|event| {
            if let What::Write(write) = &mut event.what {
                write.token = None;
            }
        });
    })
}

fn without_ttl() -> Story {
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

fn touched(lab_lease: bool) -> Story {
    let mut s = pauses::after_loss();
    if lab_lease {
        s.renewed(2010.0);
    }
    pauses::lab_frees(&mut s);
    s
}

fn never_extended() -> Story {
    let mut s = pauses::within_margin();
    s.without(|event| matches!(event.what, What::Reading(_)) && event.at.earliest > at(300.0));
    s.ask.availability = false;
    s.free(1250.0);
    s
}

const PAIRS: &[Pair] = &[
    ("LP001", straddling, late),
    ("LP002", straddling, late),
    (
        "LP002",
        || fence(&[(1, true), (2, true), (1, false)]),
        || fence(&[(1, true), (2, true), (1, true)]),
    ),
    ("LP003", pauses::over_ttl, || tokens(|token| *token = Some(Token(1)))),
    ("LP004", straddling, late),
    ("LP005", pauses::within_margin, never_extended),
    ("LP006", || refused(THAW + 4.0), || refused(2900.0)),
    ("LP007", straddling, late),
    ("LP009", || scenarios::clock_back(true), stepped_and_late),
    ("LP010", || touched(false), || touched(true)),
    ("LP011", || released_late(false), || released_late(true)),
    ("LP012", pauses::over_ttl, without_ttl),
    ("LP013", || dropped(true), || dropped(false)),
    (
        "LP014",
        || renewed_after_release(3306.0),
        || renewed_after_release(3600.0),
    ),
    ("LP014", || renewed_after_end(1150.0), || renewed_after_end(1300.0)),
    ("LP015", straddling, late),
    ("LP016", || gave_up(true), || gave_up(false)),
    ("LP017", || moved(false), || moved(true)),
    ("LP018", || server_clock(8), || server_clock(30)),
    ("LP018", || host_clock(20), || host_clock(100)),
    ("LP019", pauses::over_ttl, || {
        over_ttl(|s| s.ask.budget.worst_pause = Duration::from_millis(600))
    }),
    ("LP020", pauses::over_ttl, || over_ttl(|s| s.complete = false)),
    ("LP020", || dropped_output(0), || dropped_output(3)),
    ("LP020", pauses::over_ttl, || {
        over_ttl(|s| {
            _ = s.note(
                3650.0,
                What::Abandoned {
                    why: "it went away".to_owned(),
                },
            )
        })
    }),
    ("LP020", pauses::over_ttl, || {
        over_ttl(|s| _ = s.without(|it| matches!(it.what, What::Reading(_) | What::Coverage(_))))
    }),
    ("LP020", pauses::over_ttl, || {
        over_ttl(|s| {
            _ = s
                .without(|it| matches!(it.what, What::Coverage(_)))
                .watched(0.0, 2500.0)
        })
    }),
    ("LP020", pauses::over_ttl, || over_ttl(|s| _ = s.started(3500.0, "c1"))),
    (
        "LP021",
        || over_ttl(|s| _ = s.said(300.0, "b1", OwnerEvent::Waiting)),
        || over_ttl(|s| _ = s.acquired(300.0, "b1", 9)),
    ),
    ("LP022", || granted_for(1020.0), || granted_for(1100.0)),
    ("LP022", || granted_for(980.0), || granted_for(900.0)),
    ("LP024", pauses::over_ttl, without_token),
    (
        "LP026",
        || fence(&[(1, true), (2, true), (1, false)]),
        || fence(&[(1, true), (2, false)]),
    ),
];

fn fence(writes: &[(u64, bool)]) -> Story {
    scenarios::fence(writes, None)
}

fn stepped_and_late() -> Story {
    let mut s = scenarios::clock_back(true);
    s.works(THAW + 2.0, 2900.0, "a1", 1);
    s
}

/// A stepped clock is judged by contrast with its unstepped twin.
fn judged(history: &History, policy: &Policy) -> ScenarioVerdict {
    let twin = (history.ask.scenario == ScenarioId::ClockBack).then(|| scenarios::clock_back(false).history());
    judge(history, twin.as_ref(), policy)
}

fn shows(history: &History, code: &str, policy: &Policy) -> bool {
    let judged = judged(history, policy);
    judged
        .findings
        .iter()
        .any(|it| it.rule == code && it.certainty.is_yes())
}

#[test]
fn every_rule_has_its_pair() {
    for rule in rule::ALL {
        let paired = PAIRS.iter().any(|(code, ..)| *code == rule.code);
        assert_eq!(paired, !OUT_OF_SCOPE.contains(&rule.code), "{}", rule.code);
    }
}

#[test]
fn each_rule_is_shown_by_its_record_alone_and_not_when_it_is_off() {
    for (place, (code, sound, flawed)) in PAIRS.iter().enumerate() {
        let off = Policy {
            rules_off: [(*code).to_owned()].into(),
            ..Policy::default()
        };
        let on = Policy::default();
        let (sound, flawed) = (sound().history(), flawed().history());
        let found = judged(&sound, &on).findings;
        assert!(found.iter().all(|it| it.rule != *code), "{code} ({place}): {found:#?}");
        assert!(
            shows(&flawed, code, &on),
            "{code} ({place}): {:#?}",
            judged(&flawed, &on).findings
        );
        let left = judged(&flawed, &off).findings;
        assert!(left.iter().all(|it| it.rule != *code), "{code} ({place}): {left:#?}");
    }
}
