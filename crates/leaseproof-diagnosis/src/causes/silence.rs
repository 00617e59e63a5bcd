//! The owner did not run, by its own silence or its own late clock, and nothing on record says why.
//!
//! A gap says "did not run, or had nothing to say". It is sure only where the file beats by itself, or the client says
//! that it woke late. It is no cause of its own where somebody says who stopped it.

use super::{Draft, Part, cite};
use crate::story::Story;
use crate::story::asking::{rhythm, told_of_no_answer, waited};
use crate::story::fit::{Fit, contradicted, fit, is_the_losers, overdue, owner_ran, store_worked, surely_covers};
use crate::story::owner::Owner;
use crate::story::stop::{How, Stop, Who};
use crate::words::{clock, span};
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::when::{Interval, nanos};
use leaseproof_model::diagnosis::{Boundary, Cited, Confidence};
use leaseproof_model::rule;
use leaseproof_model::truth::Truth;
use std::time::Duration;

pub fn causes(story: &Story<'_>) -> Vec<Draft> {
    let silent =
        |stop: &&Stop<'_>| matches!(stop.how, How::Gap { .. } | How::WokeLate { .. }) && stop.who != Who::Store;
    let candidates: Vec<&Stop<'_>> = story
        .stops
        .iter()
        .filter(silent)
        .filter(|stop| fit(story, stop) != Fit::Apart && is_the_losers(story, stop) != Truth::No)
        .filter(|stop| !is_explained(story, stop))
        // Of one that is contradicted nothing follows, however wide it is.
        .filter(|stop| {
            let loser = story.loss.as_ref().and_then(|loss| loss.owner);
            loser.is_none_or(|loser| contradicted(story, stop, loser).is_none())
        })
        .collect();
    let best = candidates
        .iter()
        .max_by_key(|stop| (fit(story, stop), strength(story, stop), stop.took));
    best.and_then(|stop| draft(story, stop, &candidates))
        .into_iter()
        .collect()
}

/// How much a silence says: a client's own clock most, a file that beats by itself, then an owner's log.
fn strength(story: &Story<'_>, stop: &Stop<'_>) -> u8 {
    match stop.how {
        How::WokeLate { .. } => 3,
        _ if beats(story, stop) => 2,
        _ => 1,
    }
}

/// It is silent in its own log and at the resource, which both go on beyond; the store worked meanwhile and ended the lease
/// in time; and the owner was not waiting for an answer: one that waits is as silent.
fn nowhere(story: &Story<'_>, stop: &Stop<'_>, all: &[&Stop<'_>]) -> bool {
    let Who::Owner(index) = stop.who else { return false };
    let (Some(at), Some(began)) = (stop.span(), stop.began) else {
        return false;
    };
    // Silent at the resource alone, its host may have been cut off.
    if story.owners.get(index).is_some_and(Owner::is_mute) {
        return false;
    }
    let both = all.iter().any(|other| {
        other.who == stop.who
            && other.file != stop.file
            && is_of_one_file(story, other)
            && fit(story, other) == Fit::Covers
    });
    let merged = rhythm(story, index, began).is_some_and(|usual| nanos(stop.shortest()) > usual.saturating_mul(5))
        && resource_went_on(story, at);
    let waited = match waited(story, index, began) {
        Truth::CannotTell => told_of_no_answer(story, index, at) || !both,
        known => known.is_yes(),
    };
    (both || merged)
        && surely_covers(story, stop)
        && !waited
        && overdue(story).is_none()
        && store_worked(story).is_some()
}

/// Whether it is a gap in one file, and not one in all that the owner did, which is the same silence once more.
fn is_of_one_file(story: &Story<'_>, stop: &Stop<'_>) -> bool {
    let from = stop.lines.first().map(|line| line.place);
    story.evidence.file(stop.file).is_some_and(|file| {
        file.gaps
            .widest
            .iter()
            .any(|gap| Some(gap.from) == from && gap.took == stop.took)
    })
}

/// What the owner did while its lease ran out, and surely within the silence.
fn ran_within<'e>(story: &Story<'e>, stop: &Stop<'_>) -> Vec<&'e Record> {
    let (Some(began), Some(ended)) = (stop.began, stop.ended) else {
        return owner_ran(story);
    };
    let mut ran = owner_ran(story);
    ran.retain(|record| {
        story
            .at(record)
            .is_some_and(|at| at.earliest > began.latest && at.latest < ended.earliest)
    });
    ran
}

/// The resource's record goes on beyond the silence: that nothing of the owner is in it means something.
fn resource_went_on(story: &Story<'_>, at: Interval) -> bool {
    story
        .of(SourceKind::Resource)
        .any(|record| story.at(record).is_some_and(|seen| seen.latest >= at.latest))
}

/// A runtime's file that writes often by itself, and whose gap is far from usual.
fn beats(story: &Story<'_>, stop: &Stop<'_>) -> bool {
    let How::Gap { usual } = stop.how else { return false };
    let runtime = story
        .evidence
        .of(stop.file)
        .any(|record| record.source == SourceKind::Runtime);
    let count = story.evidence.file(stop.file).map_or(0, |file| file.gaps.count);
    runtime && count >= 20 && stop.took > usual * 10
}

/// Somebody says what this silence was.
fn is_explained(story: &Story<'_>, stop: &Stop<'_>) -> bool {
    let Some(at) = stop.span() else { return false };
    story.stops.iter().any(|other| {
        let says = matches!(
            other.how,
            How::Runtime { .. }
                | How::Paused { .. }
                | How::Suspended
                | How::MachineStalled { .. }
                | How::Throttled { .. }
        );
        says && other.who != Who::Store
            && is_the_losers(story, other) != Truth::No
            && other.took * 2 >= stop.took
            && other
                .span()
                .is_some_and(|other| other.earliest <= at.latest && other.latest >= at.earliest)
    })
}

/// A stop of the same length, by the runtime's or somebody's word, that is laid at another time or at none.
fn elsewhere(story: &Story<'_>, stop: &Stop<'_>) -> bool {
    story.stops.iter().any(|other| {
        let says = matches!(other.how, How::Runtime { .. } | How::Paused { .. } | How::Suspended);
        let mine =
            matches!((other.who, stop.who), (Who::Owner(a), Who::Owner(b)) if a == b) || other.who == Who::Unknown;
        says && mine && other.took.abs_diff(stop.took) < stop.took / 8
    })
}

fn draft(story: &Story<'_>, stop: &Stop<'_>, all: &[&Stop<'_>]) -> Option<Draft> {
    let fits = fit(story, stop);
    let loser = is_the_losers(story, stop);
    let strong = strength(story, stop);
    let ran = ran_within(story, stop);
    let ran_beside = owner_ran(story);
    let confidence = match (fits, loser) {
        (Fit::Apart, _) | (_, Truth::No) => return None,
        (Fit::Covers, Truth::Yes) if strong >= 2 && ran.is_empty() => Confidence::Certain,
        (Fit::Covers, Truth::Yes) if ran.is_empty() && nowhere(story, stop, all) => Confidence::Certain,
        // At its shortest it fills nothing, and the owner ran beside it.
        (Fit::Covers, _) if !ran_beside.is_empty() && !surely_covers(story, stop) => Confidence::Possible,
        (Fit::Covers, _) => Confidence::Likely,
        (Fit::Unplaced, _) if strong >= 2 => Confidence::Likely,
        _ => Confidence::Possible,
    };
    // Somebody tells of a stop as long as this one, at another time: a clock that is off would make one of the two.
    let confidence = if elsewhere(story, stop) {
        confidence.max(Confidence::Likely)
    } else {
        confidence
    };
    // A silence that explains no loss, or beside which the owner ran, is a silence; so is one before the only word of it.
    let window_unknown = story
        .loss
        .as_ref()
        .is_none_or(|loss| loss.may_reach_back(story).is_some());
    if confidence == Confidence::Possible && strong == 1 && (window_unknown || !ran_beside.is_empty()) {
        return None;
    }
    let at = stop
        .began
        .map(|began| format!(" from {}", clock(began)))
        .unwrap_or_default();
    let who = match stop.who {
        Who::Owner(index) => story.owner_name(Some(index)),
        _ => "the process".to_owned(),
    };
    let says = match &stop.how {
        How::WokeLate { what } => format!(
            "{who} did not run for {}{at}: {what}; nothing on record says what stopped it",
            span(stop.took)
        ),
        How::Gap { usual } if confidence == Confidence::Certain && strong == 1 => format!(
            "{who} did not run for {}{at}: neither its own log nor the resource has a line of it, their lines of it are usually {}, and it was not waiting for the store; nothing on record says what stopped it",
            span(stop.took),
            apart(*usual)
        ),
        How::Gap { usual } if strong == 2 => format!(
            "{who} did not run for {}{at}: its runtime wrote nothing, and its lines are usually {} apart; nothing on record says what stopped it",
            span(stop.took),
            span(*usual)
        ),
        How::Gap { usual } => format!(
            "{who} wrote nothing for {}{at}, and its lines are usually {}: it did not run, or had nothing to say; nothing on record says what stopped it",
            span(stop.took),
            apart(*usual)
        ),
        _ => return None,
    };
    let mut evidence: Vec<Cited> = cite(story, stop.lines.iter().copied());
    for other in all
        .iter()
        .filter(|other| other.lines.first().map(|it| it.place) != stop.lines.first().map(|it| it.place))
    {
        let meets = match (other.span(), stop.span()) {
            (Some(a), Some(b)) => a.earliest <= b.latest && a.latest >= b.earliest,
            _ => false,
        };
        if meets {
            evidence.extend(
                other
                    .lines
                    .iter()
                    .map(|record| story.cite_why(record, format!("silent for {} here, too", span(other.took)))),
            );
        }
    }
    evidence.extend(
        story
            .loss
            .iter()
            .flat_map(|loss| cite(story, loss.lines.iter().copied())),
    );
    Some(Draft {
        id: "stalled",
        rule: &rule::LP023,
        confidence,
        boundary: Boundary::Runtime,
        part: Part::Trigger,
        weight: 30,
        says,
        evidence,
        against: ran
            .into_iter()
            .take(3)
            .map(|record| story.cite_why(record, "the owner wrote this while its lease ran out"))
            .collect(),
    })
}

/// `200 ms apart`; stamps of whole seconds show no distance at all.
fn apart(usual: Duration) -> String {
    if usual.is_zero() {
        "several within one second".to_owned()
    } else {
        format!("{} apart", span(usual))
    }
}
