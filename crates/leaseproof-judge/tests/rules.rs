//! Each story with its verdict and the codes that accuse: more than a rule's own pair, the whole answer.

mod story;

use leaseproof_model::event::{Deed, OwnerEvent, What};
use leaseproof_model::name::Token;
use leaseproof_model::scenario::{PremiseName as P, ScenarioId};
use leaseproof_model::verdict::Verdict;
use story::pauses::{self, OVER, THAW};
use story::{Story, accusations, at, flaws, scenarios};

/// A story, what it must come to, and the codes that accuse.
type Case = (&'static str, fn() -> Story, Verdict, &'static [&'static str]);

use Verdict::{CannotTell, Proven, Violated};

fn over_ttl(change: impl FnOnce(&mut Story)) -> Story {
    let mut s = pauses::over_ttl();
    change(&mut s);
    s
}

/// `a1` does not notice its loss: `Lost` is never said.
fn unnoticed(s: &mut Story) {
    s.without(|event| matches!(&event.what, What::Said(said) if said.event == OwnerEvent::Lost));
}

const CASES: &[Case] = &[
    ("over-ttl-ok", pauses::over_ttl, Proven, &[]),
    ("within-margin-ok", pauses::within_margin, Proven, &[]),
    ("and-gone-ok", pauses::and_gone, Proven, &[]),
    (
        "after-loss-ok",
        || {
            let mut s = pauses::after_loss();
            pauses::lab_frees(&mut s);
            s
        },
        Proven,
        &[],
    ),
    ("straddling-write-ok", flaws::straddling, Proven, &[]),
    (
        "straddling-write-of-two-connections-ok",
        || {
            over_ttl(|s| {
                s.wrote(THAW + 2.0, "a1", 1)
                    .wrote_with(THAW + 3.0, "a1", 1, |write| write.connection = 9);
            })
        },
        Proven,
        &[],
    ),
    (
        "straddling-claim-ok",
        // A renewal that was answered before the pause is claimed after it.
        || over_ttl(|s| _ = s.said(THAW + 0.5, "a1", OwnerEvent::Renewed)),
        Proven,
        &[],
    ),
    (
        "LP004-LP001-LP002-bad",
        flaws::late,
        Violated,
        &["LP001", "LP002", "LP004"],
    ),
    (
        "LP004-in-a-burst-bad",
        // The third write on one connection follows one that itself began after the lease was due.
        || over_ttl(|s| _ = s.works(THAW + 2.0, THAW + 130.0, "a1", 1)),
        Violated,
        &["LP001", "LP002", "LP004"],
    ),
    (
        "LP004-uncontested-bad",
        || {
            over_ttl(|s| {
                s.works(THAW + 2.0, 2900.0, "a1", 1);
                s.without(|event| {
                    event.at.earliest < at(OVER)
                        && (event.owner.as_ref().is_some_and(|it| it.as_str() == "b1")
                            || matches!(&event.what, What::Reading(it) if it.held.as_ref().is_some_and(|it| it.token == Some(Token(2)))))
                });
            })
        },
        Violated,
        &["LP004"],
    ),
    (
        "LP006-bad",
        || {
            over_ttl(|s| {
                unnoticed(s);
                s.said_with(THAW + 2.0, "a1", OwnerEvent::RenewFailed, |said| {
                    said.definite = Some(true);
                    said.reason = Some("not the holder".to_owned());
                });
                s.works(THAW + 2.0, 2900.0, "a1", 1);
            })
        },
        Violated,
        &["LP001", "LP002", "LP004", "LP006"],
    ),
    (
        "LP003-bad",
        || flaws::tokens(|token| *token = Some(Token(1))),
        Violated,
        &["LP003"],
    ),
    ("LP005-bad", flaws::never_extended, Violated, &["LP004", "LP005"]),
    (
        "LP005-deleted-by-its-renewal-bad",
        || {
            let mut s = Story::new(ScenarioId::PauseUncontested, &[]);
            s.free(0.0)
                .started(1.0, "a1")
                .granted(100.0, "a1#1", 1)
                .acquired(100.0, "a1", 1)
                .cycle(101.0, "a1");
            s.free(400.0)
                .said(401.0, "a1", OwnerEvent::Renewed)
                .end_cycle(600.0)
                .watched(0.0, 800.0);
            s
        },
        Violated,
        &["LP005"],
    ),
    (
        "LP010-revived-bad",
        || {
            let mut s = pauses::and_gone();
            s.without(|event| event.at.earliest > at(2001.0));
            s.granted(2010.0, "a1#1", 1)
                .works(2011.0, 3300.0, "a1", 1)
                .renews(2260.0, 3300.0, "a1");
            s.end_cycle(OVER).watched(0.0, 3400.0);
            s
        },
        Violated,
        &["LP004", "LP010"],
    ),
    ("LP010-blind-renewal-bad", || flaws::touched(true), Violated, &["LP010"]),
    ("LP011-bad", || flaws::released_late(true), Violated, &["LP011"]),
    ("LP012-two-step-bad", flaws::without_ttl, Violated, &["LP012"]),
    (
        "LP014-bad",
        || over_ttl(|s| _ = s.said(3560.0, "b1", OwnerEvent::Renewed)),
        Proven,
        &["LP014"],
    ),
    (
        "LP016-bad",
        || {
            let mut s = pauses::within_margin();
            s.without(|event| event.at.earliest > at(1204.0));
            s.said(1203.0, "a1", OwnerEvent::Lost).free(1753.0);
            s.granted(1800.0, "a1#2", 2)
                .acquired(1800.0, "a1", 2)
                .works(1810.0, 2500.0, "a1", 2);
            s.renews(2050.0, 2500.0, "a1").end_cycle(2400.0).watched(0.0, 2600.0);
            s
        },
        Violated,
        &["LP016"],
    ),
    (
        "LP016-after-a-failure-ok",
        || {
            let mut s = pauses::over_ttl();
            s.said(3250.0, "b1", OwnerEvent::RenewFailed)
                .said(3260.0, "b1", OwnerEvent::Lost);
            s
        },
        Proven,
        &[],
    ),
    (
        "LP019-bad",
        || over_ttl(|s| s.ask.budget.worst_pause = std::time::Duration::from_millis(700)),
        Violated,
        &["LP019"],
    ),
    (
        "LP021-bad",
        || {
            over_ttl(|s| {
                s.said_with(300.0, "b1", OwnerEvent::Acquired, |_| ());
                s.works(310.0, 700.0, "b1", 0);
            })
        },
        Violated,
        &["LP021"],
    ),
    (
        "LP021-token-above-the-counter-bad",
        || over_ttl(|s| _ = s.acquired(300.0, "b1", 1000)),
        Violated,
        &["LP021"],
    ),
    ("LP024-notice-ok", flaws::without_token, Proven, &[]),
    (
        "LP024-required-bad",
        || {
            let mut s = flaws::without_token();
            s.ask.require_token = true;
            s
        },
        Violated,
        &["LP024"],
    ),
    (
        "LP002-without-tokens-bad",
        || {
            let mut s = flaws::without_token();
            s.works(THAW + 2.0, 2900.0, "a1", 0);
            s
        },
        Violated,
        &["LP001", "LP002", "LP004"],
    ),
    (
        "LP002-enforced-ok",
        || fence(&[(1, true), (2, true), (1, false), (2, true)]),
        Proven,
        &[],
    ),
    (
        "LP002-enforced-bad",
        || fence(&[(1, true), (2, true), (1, true)]),
        Violated,
        &["LP002"],
    ),
    (
        "LP026-bad",
        || fence(&[(1, true), (2, false), (1, true)]),
        Violated,
        &["LP002", "LP026"],
    ),
    ("key-deleted-ok", || deleted(550.0), Proven, &[]),
    ("key-deleted-bad", || deleted(2000.0), Violated, &["LP004"]),
    (
        "LP016-left-at-the-end-bad",
        || scenarios::left_at_the_end(false),
        Violated,
        &["LP016"],
    ),
    (
        "key-deleted-unanswered-bad",
        || scenarios::deleted_and_unanswered(1600.0),
        Violated,
        &["LP004"],
    ),
    (
        "never-exercised",
        || over_ttl(|s| _ = s.without(|it| matches!(it.what, What::Write(_)))),
        CannotTell,
        &[],
    ),
    (
        "nothing-watched",
        || over_ttl(|s| _ = s.without(|it| matches!(it.what, What::Reading(_) | What::Coverage(_)))),
        CannotTell,
        &[],
    ),
    ("cut-short", || over_ttl(|s| s.complete = false), CannotTell, &[]),
    (
        "cut-short-and-violated",
        || {
            over_ttl(|s| {
                s.complete = false;
                s.works(THAW + 2.0, 2900.0, "a1", 1);
            })
        },
        Violated,
        &["LP001", "LP002", "LP004"],
    ),
];

/// Writes at a resource that fences, in the rig's self-check.
fn fence(writes: &[(u64, bool)]) -> Story {
    let mut s = scenarios::fence(writes, None);
    s.ask.premises.clear();
    s
}

/// The key is deleted at 400; the owner writes on until `until`, and acquires anew only later.
fn deleted(until: f64) -> Story {
    let mut s = Story::new(ScenarioId::KeyDeleted, &[P::Exercised, P::EndedEarly, P::OwnerRan]);
    s.free(0.0)
        .started(1.0, "a1")
        .granted(100.0, "a1#1", 1)
        .acquired(100.0, "a1", 1)
        .cycle(101.0, "a1");
    s.works(110.0, until, "a1", 1).renews(250.0, 400.0, "a1");
    s.lab(404.0, Deed::Deleted, "a1#1", 1).free(410.0);
    if until < 1000.0 {
        s.said_with(502.0, "a1", OwnerEvent::RenewFailed, |said| said.definite = Some(true));
        s.said(503.0, "a1", OwnerEvent::Lost);
    }
    s.granted(2400.0, "a1#2", 2)
        .acquired(2400.0, "a1", 2)
        .works(2410.0, 2900.0, "a1", 2)
        .end_cycle(2800.0);
    s.watched(0.0, 3000.0);
    s
}

#[test]
fn each_story_is_judged_as_it_must_be() {
    let mut wrong = Vec::new();
    for (name, story, verdict, accused) in CASES {
        let judged = story().judged();
        if judged.verdict != *verdict || accusations(&judged) != *accused {
            let missing: Vec<_> = judged.premises.iter().filter(|it| !it.holds.is_yes()).collect();
            wrong.push(format!(
                "{name}: {} {:?}\n  findings {:#?}\n  missing {missing:#?}",
                judged.verdict,
                accusations(&judged),
                judged.findings
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
