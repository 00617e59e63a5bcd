//! A sound owner under overload is never accused: late printing, a starved owner, a slow store, restarts,
//! clocks that creep, tokens of its own.

mod story;

use leaseproof_model::event::{OwnerEvent, Reading, What, WireSeen};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::Token;
use leaseproof_model::scenario::ScenarioId;
use leaseproof_model::verdict::Verdict;
use std::time::Duration;
use story::pauses::{self, PAUSE, THAW};
use story::{Story, about, accusations, at, scenarios};

fn readings(s: &mut Story, mut change: impl FnMut(Moment, &mut Reading)) {
    s.each(|event| {
        if let What::Reading(reading) = &mut event.what {
            change(event.at, reading);
        }
    });
}

/// The store shows random values and no tokens.
fn stranger(s: &mut Story) {
    readings(s, |_, reading| {
        reading.counter = None;
        if let Some(held) = &mut reading.held {
            held.holder = format!("value#{}f00", held.token.map_or(0, |token| token.0)).into();
            held.token = None;
        }
    });
    s.each(|event| match &mut event.what {
        What::Said(said) => said.token = None,
        What::Write(write) => write.token = None,
        _ => {}
    });
    s.ask.store_shows_token = false;
}

/// What a sound owner did, in a record that looks bad for it.
type Sound = (&'static str, fn() -> Story);

const SOUND: &[Sound] = &[
    (
        "it keeps one value for all its grants, and says `acquired` without a stamp",
        || {
            let mut s = pauses::over_ttl();
            readings(&mut s, |_, reading| {
                reading.counter = None;
                if let Some(held) = &mut reading.held {
                    let owner = if held.token == Some(Token(2)) { "b1" } else { "a1" };
                    held.holder = format!("value#{owner}").into();
                    held.token = None;
                }
            });
            s.each(|event| match &mut event.what {
                What::Said(said) => {
                    (said.token, said.boot) = (None, None);
                    // It arrived then, and may have been said before the grant's first look.
                    event.at.earliest = event.at.earliest.minus(Duration::from_millis(18));
                }
                What::Write(write) => write.token = None,
                _ => {}
            });
            s.ask.store_shows_token = false;
            s
        },
    ),
    (
        "its acquire that went unanswered was applied late, under the value that it keeps",
        || {
            let mut s = pauses::over_ttl();
            s.without(|event| event.at.earliest > at(3311.0));
            s.granted_for(3314.0, "a1#3", 3, 12.0)
                .free(3326.0)
                .granted(3330.0, "a1#3", 3);
            s.said(3330.0, "a1", OwnerEvent::Acquired);
            s.each(|event| {
                if event.at.earliest >= at(3330.0) && matches!(event.what, What::Said(_)) {
                    event.at.earliest = event.at.earliest.minus(Duration::from_millis(18));
                }
            });
            s.works(3340.0, 3600.0, "a1", 3).watched(0.0, 3700.0);
            readings(&mut s, |_, reading| {
                if let Some(held) = &mut reading.held {
                    let owner = if held.token == Some(Token(2)) { "b1" } else { "a1" };
                    held.holder = format!("value#{owner}").into();
                    held.token = None;
                }
            });
            s.each(|event| match &mut event.what {
                What::Said(said) => said.token = None,
                What::Write(write) => write.token = None,
                _ => {}
            });
            s.ask.store_shows_token = false;
            s
        },
    ),
    ("its lines come in bursts, without stamps", || {
        let mut s = pauses::within_margin();
        s.each(|event| {
            if let What::Said(said) = &mut event.what {
                said.boot = None;
                let burst = Duration::from_millis(900).as_nanos() as u64;
                let since = event.at.latest.0 - at(0.0).0;
                // The first lines come at once, so that nothing says how late the others are.
                if since > 200_000_000 {
                    event.at = about((since.div_ceil(burst) * burst) as f64 / 1e6);
                }
            }
        });
        s
    }),
    (
        "its stamps are of a clock that had stood still before it started",
        || {
            let mut s = pauses::over_ttl();
            s.each(|event| {
                if let What::Said(said) = &mut event.what {
                    said.boot = Some(leaseproof_model::clock::BootNanos(1000 + event.at.latest.0 / 1000));
                }
            });
            s
        },
    ),
    ("its stamps are of whole seconds", || {
        let mut s = pauses::over_ttl();
        s.each(|event| {
            if let What::Said(said) = &mut event.what {
                let second = 1_000_000_000;
                said.boot = Some(leaseproof_model::clock::BootNanos(event.at.latest.0 / second * second));
            }
        });
        s
    }),
    ("its two threads print out of order at the release", || {
        let mut s = scenarios::clean_release();
        s.said_with(PAUSE + 4.0, "a1", OwnerEvent::Renewed, |said| {
            said.thread = Some("renewer".to_owned());
        });
        s
    }),
    ("it releases when its work is done", || {
        let mut s = pauses::within_margin();
        s.without(|event| event.at.earliest > at(1500.0));
        s.said(1501.0, "a1", OwnerEvent::Released).free(1503.0);
        s.granted(1600.0, "a1#2", 2).acquired(1600.0, "a1", 2);
        s.works(1610.0, 3000.0, "a1", 2).renews(1850.0, 3000.0, "a1");
        s.end_cycle(2000.0).watched(0.0, 3050.0);
        s
    }),
    ("the store is started again without its data", || {
        let mut s = pauses::within_margin();
        s.without(|event| event.at.earliest > at(1500.0));
        s.free(1505.0);
        readings(&mut s, |at, reading| {
            if at.earliest > story::at(1500.0) {
                reading.epoch = Some("another run".to_owned());
            }
        });
        s.said_with(1750.0, "a1", OwnerEvent::RenewFailed, |said| said.definite = Some(true));
        s.said(1751.0, "a1", OwnerEvent::Lost);
        s.end_cycle(2000.0).watched(0.0, 2100.0);
        s
    }),
    ("its tokens come from elsewhere, and the lab counts its own", || {
        let mut s = pauses::and_gone();
        readings(&mut s, |at, reading| {
            reading.counter = (at.earliest > story::at(1799.0)).then_some(Token(1));
            if let Some(held) = &mut reading.held {
                held.token = None;
            }
        });
        s
    }),
    ("it says that it acquired when its lease was already another's", || {
        // Paused between acquire and print; the next holder prints late, too.
        let mut s = pauses::over_ttl();
        stranger(&mut s);
        s.without(|event| {
            matches!(&event.what, What::Said(said) if said.event == OwnerEvent::Acquired)
                && event.at.earliest < at(3000.0)
        });
        s.said(THAW + 0.5, "a1", OwnerEvent::Acquired);
        s.said(THAW + 80.0, "b1", OwnerEvent::Acquired);
        s
    }),
    ("a connection that is no longer usable is no refusal", || {
        let mut s = scenarios::key_deleted(1500.0);
        s.without(|event| matches!(&event.what, What::Said(said) if said.event == OwnerEvent::RenewFailed));
        s.without(|event| matches!(&event.what, What::Said(said) if said.event == OwnerEvent::Lost));
        s.said_with(502.0, "a1", OwnerEvent::RenewFailed, |said| {
            said.reason = Some("the connection is no longer usable".to_owned());
        });
        s.works(510.0, 1200.0, "a1", 1).said(1200.0, "a1", OwnerEvent::Lost);
        s
    }),
    ("its release goes unanswered, where the store is slow", || {
        scenarios::left_at_the_end(true)
    }),
    (
        "a last renewal that no look shows, and no answer after the key was deleted",
        || scenarios::deleted_and_unanswered(1390.0),
    ),
    ("it gives up early, when nobody has answered it for long", || {
        let mut s = pauses::within_margin();
        s.ask.availability = false;
        s.without(|event| event.at.earliest > at(1204.0));
        s.works(1210.0, 1500.0, "a1", 1).said(1560.0, "a1", OwnerEvent::Lost);
        s.free(1753.0).end_cycle(2000.0).watched(0.0, 2100.0);
        s
    }),
    ("the clock of the store's host creeps", || {
        let mut s = pauses::after_loss();
        pauses::lab_frees(&mut s);
        s.granted_for(2500.0, "lab#2", 2, 9303.0);
        readings(&mut s, |at, reading| {
            let creep = if at.earliest > story::at(2400.0) { -3_000_000 } else { 0 };
            let now = i64::try_from(at.earliest.0).expect("a small number");
            reading.server_ns = Some(now + creep);
        });
        s
    }),
    ("the store answers late, and its word that the key is gone too", || {
        let mut s = scenarios::key_deleted(1500.0);
        s.without(|event| {
            matches!(&event.what, What::Said(said) if matches!(said.event, OwnerEvent::RenewFailed | OwnerEvent::Lost))
        });
        // What the observer asked at 500 was answered at 790, and so was the owner.
        readings(&mut s, |_, _| ());
        s.free(790.0).each(|event| {
            if event.at == about(790.0) {
                event.at = Moment::between(at(500.0), at(790.0));
            }
        });
        s.works(510.0, 1130.0, "a1", 1);
        s.said_with(1135.0, "a1", OwnerEvent::RenewFailed, |said| said.definite = Some(true));
        s
    }),
    (
        "a write that it began in time is sent late, where the rig was late too",
        || {
            let mut s = pauses::over_ttl();
            s.wrote_with(THAW + 600.0, "a1", 1, |write| write.connection = 77);
            let (by, what) = (Duration::from_millis(700), "sampling the store".to_owned());
            s.note(THAW + 500.0, What::RigLate { by, what });
            s
        },
    ),
    ("its renewal is passed on late, when it stands still already", || {
        let mut s = pauses::over_ttl();
        s.wire(PAUSE + 150.0, "a1", WireSeen::Request)
            .renewed_at(PAUSE + 155.0, "a1#1", 1);
        s
    }),
    ("the same in a cycle in which the rig was late", || {
        let mut s = pauses::over_ttl();
        s.renewed_at(PAUSE + 155.0, "a1#1", 1);
        let (by, what) = (Duration::from_millis(300), "sampling the store".to_owned());
        s.note(PAUSE + 300.0, What::RigLate { by, what });
        s
    }),
    ("its grants are so short that no look shows them", || short_grants(true)),
    ("the same, and it says nothing", || short_grants(false)),
    ("a short grant after a long one, and it says nothing", || {
        let mut s = pauses::held_until_pause(ScenarioId::PauseUncontested, &[]);
        s.free(810.0).counted(1660.0, 2).wrote(1655.0, "a1", 2);
        s.without(|event| matches!(event.what, What::Said(_)));
        s.watched(0.0, 1800.0);
        s
    }),
    ("it renews for less than it acquired for", || {
        let mut s = Story::new(ScenarioId::PauseUncontested, &[]);
        s.free(0.0).started(1.0, "a1");
        s.granted_for(100.0, "a1#1", 1, 3000.0).acquired(100.0, "a1", 1);
        s.shown(350.0, |held| held.expires = Some(about(848.0)));
        s.said(350.0, "a1", OwnerEvent::Renewed);
        s.shown(360.0, |_| ()).watched(0.0, 600.0);
        s
    }),
];

/// Every 200 ms `a1` acquires, writes and releases between two looks; the counter tells.
fn short_grants(says: bool) -> Story {
    let mut s = Story::new(ScenarioId::PauseUncontested, &[]);
    s.free(0.0).started(1.0, "a1");
    s.granted(50.0, "a1#1", 1).free(60.0);
    for round in 1..6 {
        let (ms, token) = (
            200.0 * f64::from(round),
            u64::try_from(round).expect("a small number") + 1,
        );
        if says {
            s.acquired(ms + 1.0, "a1", token);
            s.said(ms + 4.0, "a1", OwnerEvent::Released);
        }
        s.wrote(ms + 2.0, "a1", token).counted(ms + 6.0, token);
    }
    s.watched(0.0, 1300.0);
    s
}

#[test]
fn a_sound_owner_is_not_accused() {
    let mut wrong = Vec::new();
    for (name, story) in SOUND {
        let judged = story().judged();
        let sure = accusations(&judged).iter().any(|code| !code.ends_with('?'));
        if sure || judged.verdict == Verdict::Violated {
            wrong.push(format!("{name}: {} {:#?}", judged.verdict, judged.findings));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `b1` released; `a1`, which had waited for long, gets the lease, finds its validity over, and lets it go again.
fn given_up_after_a_release(says_lost: bool) -> Story {
    let mut s = pauses::over_ttl();
    s.without(|event| event.at.earliest > at(3315.0));
    s.granted(3330.0, "a1#3", 3).acquired(3330.0, "a1", 3);
    if says_lost {
        s.said(3331.0, "a1", OwnerEvent::Lost);
    }
    s.free(3400.0);
    s.granted(3420.0, "a1#4", 4).acquired(3420.0, "a1", 4);
    s.works(3425.0, 3700.0, "a1", 4).watched(0.0, 3800.0);
    s
}

#[test]
fn a_lease_that_its_holder_gave_up_was_taken_by_nobody() {
    let codes = |story: Story| story::codes(&story.judged());
    let lost = codes(given_up_after_a_release(true));
    assert!(!lost.contains(&"LP011".to_owned()), "{lost:?}");
    // Its holder says nothing of a loss, and another released right then.
    let taken = codes(given_up_after_a_release(false));
    assert!(taken.contains(&"LP011".to_owned()), "{taken:?}");
}
