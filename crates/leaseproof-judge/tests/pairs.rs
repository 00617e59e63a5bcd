//! A rule that can't fail is a defect, and so is one that always does: for each there is a record that
//! shows it and one, close to it, that doesn't. With the rule switched off its record shows it no more.

mod story;

use leaseproof_judge::{Policy, judge};
use leaseproof_model::event::{OwnerEvent, What};
use leaseproof_model::finding::Subject;
use leaseproof_model::history::History;
use leaseproof_model::name::Token;
use leaseproof_model::rule;
use leaseproof_model::scenario::{ScenarioId, WitnessMode};
use leaseproof_model::verdict::ScenarioVerdict;
use std::time::Duration;
use story::flaws::*;
use story::pauses::{self, THAW};
use story::{Story, scenarios};

/// The rule, the record that does not show it, and the one that does.
type Pair = (&'static str, fn() -> Story, fn() -> Story);

const ENFORCE: WitnessMode = WitnessMode::Enforce;
const RECORD: WitnessMode = WitnessMode::Record;

/// Rules that look at something that no record of a scenario holds yet.
const OUT_OF_SCOPE: &[&str] = &["LP023", "LP025"];

const PAIRS: &[Pair] = &[
    ("LP001", straddling, late),
    ("LP002", straddling, late),
    (
        "LP002",
        || fence(&[(1, true), (2, true), (1, false)]),
        || fence(&[(1, true), (2, true), (1, true)]),
    ),
    // A stale value in a cache that fences is the cache's; without a version, or with a newer one, its owner's.
    (
        "LP002",
        || scenarios::cache_fill(ENFORCE, Some((1, false))),
        || scenarios::cache_fill(ENFORCE, Some((1, true))),
    ),
    (
        "LP002",
        || scenarios::cache_fill(RECORD, Some((1, true))),
        || scenarios::cache_fill(RECORD, Some((0, true))),
    ),
    (
        "LP002",
        || scenarios::cache_fill(ENFORCE, None),
        || scenarios::cache_fill(ENFORCE, Some((2, true))),
    ),
    ("LP003", pauses::over_ttl, || tokens(|token| *token = Some(Token(1)))),
    ("LP004", straddling, late),
    ("LP005", pauses::within_margin, never_extended),
    ("LP006", || refused(THAW + 4.0), || refused(2900.0)),
    ("LP007", straddling, late),
    ("LP008", || claimed_late(false), || claimed_late(true)),
    ("LP009", || scenarios::clock_back(true), stepped_and_late),
    ("LP010", || touched(false), || touched(true)),
    ("LP011", || released_late(false), || released_late(true)),
    ("LP012", pauses::over_ttl, without_ttl),
    ("LP013", || dropped(true), || dropped(false)),
    ("LP013", || unanswered(true), || unanswered(false)),
    ("LP013", || unread(true), || unread(false)),
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
    ("LP022", || granted_in_steps(900.0), || granted_in_steps(860.0)),
    (
        "LP022",
        || granted_and_seen_late(1000.0),
        || granted_and_seen_late(900.0),
    ),
    ("LP024", pauses::over_ttl, without_token),
    (
        "LP026",
        || fence(&[(1, true), (2, true), (1, false)]),
        || fence(&[(1, true), (2, false)]),
    ),
];

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

/// Whose a stale value in a cache is.
#[test]
fn a_stale_fill_is_charged_to_whom_it_could_be_refused_by() {
    for (mode, version, subject) in [
        (ENFORCE, 1, Some(Subject::Resource)),
        (ENFORCE, 0, Some(Subject::Owner)),
        (ENFORCE, 2, Some(Subject::Owner)),
        (RECORD, 1, None),
        (RECORD, 0, Some(Subject::Owner)),
        (RECORD, 2, Some(Subject::Owner)),
    ] {
        let judged = scenarios::cache_fill(mode, Some((version, true))).judged();
        let mut subjects = judged.findings.iter().filter(|it| it.rule == "LP002");
        let found = subjects.next();
        assert_eq!(found.map(|it| it.subject), subject, "{mode:?} {version}: {judged:#?}");
        let owner = found.and_then(|it| it.owner.as_deref());
        assert_eq!(owner.is_some(), subject == Some(Subject::Owner), "{found:?}");
        assert!(subjects.next().is_none(), "{judged:#?}");
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
