//! The numbers leave less room than the stop, or the lateness, that was seen: expected by the configuration.

use super::{Draft, Part};
use crate::story::Story;
use crate::story::act::ActKind;
use crate::story::early;
use crate::story::fit::{Fit, contradicted, fit, is_the_losers};
use crate::story::stop::{How, Who};
use crate::words::span;
use leaseproof_evidence::record::Record;
use leaseproof_evidence::says::{OwnerSays, Says};
use leaseproof_model::diagnosis::{Boundary, Cited, Confidence};
use leaseproof_model::rule;
use leaseproof_model::truth::Truth;
use std::time::Duration;

pub fn causes(story: &Story<'_>) -> Vec<Draft> {
    let Some(margin) = story.numbers.margin() else {
        return Vec::new();
    };
    pause(story, margin)
        .or_else(|| worst_gap(story, margin))
        .into_iter()
        .chain(no_room(story, margin))
        .collect()
}

/// The plan's own numbers contradict each other: it names a worst pause that its margin does not hold.
fn no_room(story: &Story<'_>, margin: Duration) -> Option<Draft> {
    let plan = story.numbers.plan?;
    if margin > plan.worst_pause || story.loss.is_none() {
        return None;
    }
    Some(Draft {
        id: "budget-invalid",
        rule: &rule::LP019,
        confidence: Confidence::Certain,
        boundary: Boundary::Configuration,
        part: Part::Ground,
        weight: 41,
        says: format!(
            "the plan names a worst pause of {}, and its numbers leave {} ({}): a pause that it expects itself costs the lease",
            span(plan.worst_pause),
            span(margin),
            story.numbers.shown()
        ),
        evidence: numbers(story),
        against: Vec::new(),
    })
}

/// Whether the numbers alone are enough: they leave no room at all, the owner's silence was no longer than a TTL, so that
/// numbers with room would have borne it, and nothing on another side was.
pub fn is_the_numbers(story: &Story<'_>, drafts: &[Draft]) -> bool {
    let none = story.numbers.margin().is_some_and(|margin| margin.is_zero());
    let ttl = story.numbers.ttl.as_ref().map_or(Duration::ZERO, |ttl| ttl.value);
    let elsewhere = drafts.iter().any(|draft| {
        draft.part == Part::Trigger
            && draft.confidence != Confidence::Possible
            && !matches!(draft.boundary, Boundary::Runtime | Boundary::Configuration)
    });
    let long = story.stops.iter().any(|stop| {
        stop.shortest() > ttl
            && fit(story, stop) == Fit::Covers
            && is_the_losers(story, stop) != Truth::No
            && story
                .loss
                .as_ref()
                .and_then(|loss| contradicted(story, stop, loss.owner?))
                .is_none()
    });
    none && !elsewhere && !long && early::by_store(story) != Truth::Yes
}

/// The stop that was seen is longer than the margin.
fn pause(story: &Story<'_>, margin: Duration) -> Option<Draft> {
    let stop = story
        .stops
        .iter()
        .filter(|stop| stop.who != Who::Store && !matches!(stop.how, How::Killed { .. }) && stop.took > margin)
        .filter(|stop| {
            is_the_losers(story, stop) != Truth::No && matches!(fit(story, stop), Fit::Covers | Fit::Unplaced)
        })
        .filter(|stop| {
            let loser = story.loss.as_ref().and_then(|loss| loss.owner);
            loser.is_none_or(|loser| contradicted(story, stop, loser).is_none())
        })
        .max_by_key(|stop| {
            (
                fit(story, stop),
                !matches!(stop.how, How::Gap { .. }),
                is_the_losers(story, stop) == Truth::Yes,
            )
        })?;
    let sure = fit(story, stop) == Fit::Covers && is_the_losers(story, stop) == Truth::Yes && story.loss.is_some();
    let gap = matches!(stop.how, How::Gap { .. });
    // What is only a silence is no surer here than as the stop itself.
    let silent = || super::silence::causes(story).first().map(|draft| draft.confidence);
    let kept = story.loss.is_none() && !story.grants.is_empty();
    let mut evidence: Vec<Cited> = numbers(story);
    evidence.extend(stop.lines.iter().map(|record| story.cite(record)));
    Some(Draft {
        id: "pause-exceeds-margin",
        rule: &rule::LP007,
        confidence: match gap {
            _ if kept => Confidence::Possible,
            true => silent().unwrap_or(Confidence::Possible).max(Confidence::Likely),
            false if sure => Confidence::Certain,
            false => Confidence::Likely,
        },
        boundary: Boundary::Configuration,
        part: Part::Ground,
        weight: 40,
        says: format!(
            "expected by the numbers: a {} of {} is longer than the margin of {} ({}); {}",
            if gap { "silence, if it was a stop," } else { "stop" },
            span(stop.took),
            span(margin),
            story.numbers.shown(),
            match story.numbers.ttl.as_ref() {
                _ if kept => "this time the lease was kept: where in its heartbeat a stop falls is luck",
                Some(ttl) if stop.shortest() >= ttl.value => "any owner would have lost the lease",
                _ => "an owner can lose its lease by it, wherever its fault lies",
            }
        ),
        evidence,
        against: Vec::new(),
    })
}

/// No stop is on record: the owner's own renewals came too late by themselves.
fn worst_gap(story: &Story<'_>, margin: Duration) -> Option<Draft> {
    let (heartbeat, ttl) = (
        story.numbers.heartbeat.as_ref()?.value,
        story.numbers.ttl.as_ref()?.value,
    );
    let (before, after, apart) = worst(story)?;
    let late = apart.saturating_sub(heartbeat);
    if late <= margin.mul_f64(0.8) {
        return None;
    }
    let over = apart >= ttl;
    let mut evidence = numbers(story);
    evidence.push(story.cite(before));
    evidence.push(story.cite_why(after, format!("{} later: {} late", span(apart), span(late))));
    Some(Draft {
        id: "late-renewal",
        rule: &rule::LP007,
        // That they came late says nothing of what made them late: never certain, and little where the owner tried.
        confidence: if failed(after) {
            Confidence::Possible
        } else {
            Confidence::Likely
        },
        boundary: Boundary::Configuration,
        part: Part::Ground,
        weight: if over { 29 } else { 45 },
        says: format!(
            "the worst gap between two renewals was {} ({} late), and the numbers leave {} ({}): {}",
            span(apart),
            span(late),
            span(margin),
            story.numbers.shown(),
            if failed(after) {
                "and the last of them failed"
            } else if over {
                "nothing need be broken for the lease to end there"
            } else {
                "it was close"
            }
        ),
        evidence,
        against: Vec::new(),
    })
}

fn failed(record: &Record) -> bool {
    matches!(record.says, Says::Owner(OwnerSays::RenewalFailed { .. }))
}

/// The widest distance of two renewals of one owner or one grant.
fn worst<'e>(story: &Story<'e>) -> Option<(&'e Record, &'e Record, Duration)> {
    let mut lists: Vec<Vec<&'e Record>> = Vec::new();
    for grant in &story.grants {
        lists.push(
            std::iter::once(grant.begun)
                .chain(grant.renewals.iter().copied())
                .collect(),
        );
    }
    for index in 0..story.owners.len() {
        lists.push(
            story
                .acts
                .iter()
                .filter(|act| act.owner == Some(index) && act.kind == ActKind::Renewed)
                .map(|act| act.by)
                .collect(),
        );
        let sent = story.owners.get(index).map(|owner| {
            owner
                .says
                .iter()
                .copied()
                .filter(|record| {
                    matches!(
                        record.says,
                        Says::Owner(
                            OwnerSays::RenewSent { .. } | OwnerSays::RenewalFailed { .. } | OwnerSays::Renewed { .. }
                        )
                    )
                })
                .collect()
        });
        lists.extend(sent);
    }
    let mut worst: Option<(&Record, &Record, Duration)> = None;
    for list in lists {
        for pair in list.windows(2) {
            let [before, after] = pair else { continue };
            let (Some(a), Some(b)) = (story.at(before), story.at(after)) else {
                continue;
            };
            let apart = Duration::from_nanos(b.middle().saturating_sub(a.middle()).max(0).unsigned_abs());
            if worst.is_none_or(|(.., known)| apart > known) {
                worst = Some((before, after, apart));
            }
        }
    }
    worst
}

fn numbers(story: &Story<'_>) -> Vec<Cited> {
    [&story.numbers.ttl, &story.numbers.heartbeat]
        .into_iter()
        .flatten()
        .filter_map(|number| Some(story.cite_why(number.by?, format!("{}, {}", span(number.value), number.from))))
        .collect()
}
