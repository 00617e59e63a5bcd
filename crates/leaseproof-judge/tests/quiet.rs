//! Owners that say less, or say it otherwise: none of them is accused for its words.

mod story;

use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{OwnerEvent, What};
use leaseproof_model::name::Token;
use leaseproof_model::scenario::ScenarioId;
use leaseproof_model::verdict::Verdict;
use story::pauses;
use story::{Story, accusations, at, scenarios};

/// What it does, its story, and the verdict.
type Quiet = (&'static str, fn() -> Story, Verdict);

const QUIET: &[Quiet] = &[
    (
        "it renews, and releases before the next look without a word",
        || {
            let mut s = Story::new(ScenarioId::PauseUncontested, &[]);
            s.free(0.0).started(1.0, "a1");
            s.granted(100.0, "a1#1", 1)
                .acquired(100.0, "a1", 1)
                .renews(350.0, 400.0, "a1");
            s.attempt(601.0, "a1", OwnerEvent::RenewSent, 7)
                .attempt(603.0, "a1", OwnerEvent::Renewed, 7);
            s.free(610.0);
            s.granted(900.0, "a1#2", 2)
                .acquired(900.0, "a1", 2)
                .watched(0.0, 1000.0);
            s
        },
        Verdict::CannotTell,
    ),
    (
        "it lets go without a word while availability is asked about",
        || {
            let mut s = pauses::within_margin();
            s.without(|event| event.at.earliest > at(1500.0));
            s.free(1503.0);
            s.granted(1600.0, "a1#2", 2).acquired(1600.0, "a1", 2);
            s.works(1610.0, 3000.0, "a1", 2).renews(1850.0, 3000.0, "a1");
            s.end_cycle(2000.0).watched(0.0, 3050.0);
            s
        },
        Verdict::CannotTell,
    ),
    (
        "it says `lost` when it is asked to end, and then releases",
        || {
            // Some looks later than the plain story has it.
            let mut s = scenarios::clean_release();
            s.without(|event| event.at.earliest > at(802.0) && event.at.earliest < at(820.0));
            s.without(|event| event.at.earliest > at(1050.0) && matches!(event.what, What::Reading(_)));
            s.said(pauses::PAUSE + 1.0, "a1", OwnerEvent::Lost);
            s.said(828.0, "a1", OwnerEvent::Released)
                .free(830.0)
                .ended(835.0, "a1", false);
            s.granted(1100.0, "a2#2", 2).renews(1350.0, 2100.0, "a2");
            s
        },
        Verdict::Proven,
    ),
    (
        "it stamps its renewals with the moment of sending, and the store takes its time",
        || {
            let mut s = pauses::held_until_pause(ScenarioId::PauseUncontested, &[]);
            s.without(|event| event.at.earliest > at(500.0) && !matches!(event.what, What::Coverage(_)));
            s.watched(0.0, 900.0)
                .shown(740.0, |_| ())
                .shown(772.0, |held| held.expires = Some(story::about(1765.0)));
            s.attempt(738.0, "a1", OwnerEvent::RenewSent, 7);
            s.said_with(776.0, "a1", OwnerEvent::Renewed, |said| {
                (said.boot, said.attempt) = (Some(at(738.0)), Some(7));
            });
            s
        },
        Verdict::CannotTell,
    ),
    (
        "the same of its acquires, where the store shows random values",
        || {
            let mut s = pauses::over_ttl();
            s.each(|event| {
                if let What::Reading(reading) = &mut event.what
                    && let Some(held) = &mut reading.held
                {
                    held.holder = format!("value#{}f00", held.token.map_or(0, |token| token.0)).into();
                }
            });
            s.without(|event| {
                matches!(&event.what, What::Said(said) if said.event == OwnerEvent::Acquired && said.token != Some(Token(2)))
            });
            sent(&mut s, 101.0, 80.0, OwnerEvent::Acquired, 1);
            sent(&mut s, 3332.0, 3312.0, OwnerEvent::Acquired, 3);
            s
        },
        Verdict::Proven,
    ),
];

/// Said at `ms`, and stamped with the moment of sending.
fn sent(s: &mut Story, ms: f64, stamp: f64, event: OwnerEvent, token: u64) {
    let stamp: BootNanos = at(stamp);
    s.said_with(ms, "a1", event, |said| {
        said.boot = Some(stamp);
        said.token = Some(Token(token));
    });
}

#[test]
fn nobody_is_accused_for_its_words() {
    let mut wrong = Vec::new();
    for (name, story, verdict) in QUIET {
        let judged = story().judged();
        if !accusations(&judged).is_empty() || judged.verdict != *verdict {
            wrong.push(format!("{name}: {} {:#?}", judged.verdict, judged.findings));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
