//! A sound owner under overload is never accused: late printing, a starved owner, a slow store, restarts,
//! clocks that creep, tokens of its own. And what was not shown is not proven.

mod story;

use leaseproof_judge::{Policy, judge};
use leaseproof_model::event::{Deed, FaultKind, FaultPhase, OwnerEvent, Reading, What};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::Token;
use leaseproof_model::scenario::PremiseName as P;
use leaseproof_model::verdict::Verdict;
use std::time::Duration;
use story::pauses::{self, OVER, PAUSE, THAW};
use story::{Story, about, accusations, at, repeat, scenarios};

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
];

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

/// Three cycles of a story, one after the other.
fn thrice(story: &Story) -> leaseproof_model::history::History {
    let one = story.history();
    let mut events = Vec::new();
    for round in 0..3 {
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
    let (stepped, twin) = (thrice(&stepped), thrice(&scenarios::clock_back(false)));
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
    assert!(says(&idle).contains("acquired the grant of a1#3"), "{}", says(&idle));
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
