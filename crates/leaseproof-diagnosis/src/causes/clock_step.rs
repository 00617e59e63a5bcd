//! A clock stepped. A daemon's "time jump detected" is no proof of it: one that stood still says the same.

use super::{Draft, Part, cite};
use crate::story::Story;
use crate::words::{clock, span};
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::says::{ClockSays, OwnerSays, Says, StoreSays};
use leaseproof_evidence::when::nanos;
use leaseproof_model::diagnosis::{Boundary, Confidence};
use leaseproof_model::rule;
use std::time::Duration;

/// A step that is smaller than this takes nothing from a lease.
const SMALL: i64 = 50_000_000;

pub fn causes(story: &Story<'_>) -> Vec<Draft> {
    let proof = story
        .evidence
        .records
        .iter()
        .filter_map(|record| match &record.says {
            Says::Clock(ClockSays::Stepped { by }) => Some((record, *by, true)),
            Says::Clock(ClockSays::ClocksParted { by, error }) if by.abs() > SMALL + nanos(*error) => {
                Some((record, Some(*by), false))
            }
            _ => None,
        })
        .filter(|(record, _, stepped)| *stepped || !slept(story, record))
        .filter(|(record, by, _)| by.is_none_or(|by| by.abs() >= SMALL) && near(story, record))
        .max_by_key(|(_, by, stepped)| (*stepped, by.map_or(0, i64::abs)));
    let claims: Vec<&Record> = story
        .evidence
        .records
        .iter()
        .filter(|record| matches!(record.says, Says::Clock(ClockSays::JumpClaimed { .. })))
        .collect();
    match proof {
        None if store_stepped(story).is_some() => of_store(story).into_iter().collect(),
        Some((record, by, stepped)) => vec![step(story, record, by, stepped, &claims)],
        None if claims.is_empty() => Vec::new(),
        None => claim(story, &claims).into_iter().collect(),
    }
}

/// The machine slept just there, by the kernel's word: then its clocks part without a step.
fn slept(story: &Story<'_>, record: &Record) -> bool {
    let Says::Clock(ClockSays::ClocksParted { by, .. }) = &record.says else {
        return false;
    };
    story.stops.iter().any(|stop| {
        let by_kernel = matches!(stop.how, crate::story::stop::How::Suspended);
        let as_long = stop.took.abs_diff(Duration::from_nanos(by.unsigned_abs())) < Duration::from_secs(2);
        let ends = stop.lines.last().is_some_and(|exit| {
            exit.place.file == record.place.file && exit.place.line.abs_diff(record.place.line) <= 1
        });
        by_kernel && as_long && *by > 0 && ends
    })
}

/// Within a minute of the loss, or nothing tells.
fn near(story: &Story<'_>, record: &Record) -> bool {
    let window = story.loss.as_ref().and_then(|loss| loss.window(story));
    match (window, story.at(record)) {
        (Some(window), Some(at)) => {
            let window = window.widened(Duration::from_secs(60));
            at.earliest <= window.latest && at.latest >= window.earliest
        }
        _ => true,
    }
}

fn step(story: &Story<'_>, record: &Record, by: Option<i64>, stepped: bool, claims: &[&Record]) -> Draft {
    let ttl = story.numbers.ttl.as_ref().map(|ttl| ttl.value);
    // Which clock the lease hangs on is the store's matter: only a step of the order of the TTL can be the whole cause.
    let enough = by
        .zip(ttl)
        .is_some_and(|(by, ttl)| by.unsigned_abs() >= u64::try_from(ttl.as_nanos() / 2).unwrap_or(u64::MAX));
    let asleep = story
        .stops
        .iter()
        .find(|stop| matches!(stop.how, crate::story::stop::How::Suspended));
    let confidence = match (stepped, enough, story.loss.is_some(), asleep) {
        (false, _, _, Some(_)) => Confidence::Possible,
        (true, true, true, _) => Confidence::Certain,
        (_, true, _, _) | (true, ..) => Confidence::Likely,
        _ => Confidence::Possible,
    };
    let amount = by.map_or_else(
        || "by an amount that no line tells".to_owned(),
        |by| {
            format!(
                "{} by {}",
                if by >= 0 { "forward" } else { "back" },
                span(Duration::from_nanos(by.unsigned_abs()))
            )
        },
    );
    let at = story
        .at(record)
        .map(|at| format!(" at {}", clock(at)))
        .unwrap_or_default();
    let mut evidence = vec![story.cite(record)];
    evidence.extend(cite(story, claims.iter().copied()));
    evidence.extend(
        story
            .loss
            .iter()
            .flat_map(|loss| cite(story, loss.lines.iter().copied())),
    );
    Draft {
        id: "clock-stepped",
        rule: &rule::LP018,
        confidence,
        boundary: Boundary::Runtime,
        part: Part::Trigger,
        weight: 22,
        says: format!(
            "a wall clock was stepped {amount}{at}{}",
            if stepped {
                ""
            } else {
                ", by two clocks of one file: or the machine slept"
            }
        ),
        evidence,
        against: asleep
            .map(|stop| cite(story, stop.lines.iter().copied()))
            .unwrap_or_default(),
    }
}

/// A claim alone. Where something else stood still over it, or the stamps go on evenly, it is no step and no cause.
fn claim(story: &Story<'_>, claims: &[&Record]) -> Option<Draft> {
    if evenly(story, claims) {
        return None;
    }
    let first = claims.first()?;
    Some(Draft {
        id: "clock-jump-claimed",
        rule: &rule::LP018,
        confidence: Confidence::Possible,
        boundary: Boundary::Runtime,
        part: Part::Ground,
        weight: 60,
        says: "a clock daemon claims a time jump: a daemon that stood still itself for more than 10 s says the same, and no second clock shows a step".to_owned(),
        evidence: cite(story, claims.iter().copied()),
        against: vec![story.cite_why(first, "no amount is given, and nothing says that a step was made: this is no proof of one")],
    })
}

/// Something shows that the daemon stood still: a stop over the same moment, or its own file's gap before the claim.
#[must_use]
pub fn evenly(story: &Story<'_>, claims: &[&Record]) -> bool {
    claims.iter().all(|claim| {
        let Some(at) = story.at(claim) else { return false };
        story.stops.iter().any(|stop| {
            stop.took >= Duration::from_secs(5)
                && stop.span().is_some_and(|span| {
                    let span = span.widened(Duration::from_secs(2));
                    span.earliest <= at.latest && span.latest >= at.earliest
                })
        })
    })
}

/// Two neighbours in a store's record between which its clock leapt ahead: the later stamps lie far behind the last line of
/// every file that is not the store's, or the record goes back again.
pub fn store_stepped<'e>(story: &Story<'e>) -> Option<(&'e Record, &'e Record, i64)> {
    let others = story
        .evidence
        .records
        .iter()
        .filter(|record| !matches!(record.source, SourceKind::Store))
        .filter_map(|record| Some(story.at(record)?.latest))
        .max()?;
    let ttl = story.numbers.ttl.as_ref().map_or(0, |ttl| nanos(ttl.value));
    let least = (ttl * 4).max(nanos(Duration::from_secs(60)));
    let mut last: Option<(&Record, i64)> = None;
    let mut found = None;
    for record in story.of(SourceKind::Store) {
        let Some(at) = story.at(record).map(|at| at.middle()) else {
            continue;
        };
        if let Some((before, then)) = last
            && before.place.file == record.place.file
            && at - then >= least
            && then <= others + least
            && at > others + least
        {
            found = found.or(Some((before, record, at - then)));
        }
        last = Some((record, at));
    }
    found
}

fn of_store(story: &Story<'_>) -> Option<Draft> {
    let (before, after, by) = store_stepped(story)?;
    let amount = span(Duration::from_nanos(by.unsigned_abs()));
    let mut evidence = vec![
        story.cite(before),
        story.cite_why(
            after,
            format!("{amount} later by its stamp, and no other file goes that far"),
        ),
    ];
    evidence.extend(
        story
            .loss
            .iter()
            .flat_map(|loss| cite(story, loss.lines.iter().copied())),
    );
    let told = told_meanwhile(story, before, after);
    evidence.extend(told.map(|record| {
        story.cite_why(
            record,
            "by its owner's clock this was right after it, by the store's much later",
        )
    }));
    Some(Draft {
        id: "store-clock-stepped",
        rule: &rule::LP018,
        // A record alone may just go on for longer than the others.
        confidence: if told.is_some() && ended_there(story, before, after) {
            Confidence::Certain
        } else {
            Confidence::Likely
        },
        boundary: Boundary::Store,
        part: Part::Trigger,
        weight: 13,
        says: format!(
            "the store's clock leapt ahead by about {amount}, by the stamps of its own record: what lasts by its wall clock ended there"
        ),
        evidence,
        against: Vec::new(),
    })
}

/// An owner's success after the leap by its own clock, of which the store's record has nothing under that time: only under
/// later stamps.
fn told_meanwhile<'e>(story: &Story<'e>, before: &Record, after: &Record) -> Option<&'e Record> {
    let leapt_from = story.at(before)?.latest;
    let others = story
        .owners
        .iter()
        .flat_map(|owner| owner.says.iter().copied())
        .filter(|record| {
            matches!(
                record.says,
                Says::Owner(OwnerSays::Acquired { .. } | OwnerSays::Renewed { .. })
            )
        })
        .filter(|record| story.at(record).is_some_and(|at| at.earliest > leapt_from));
    let told = others.min_by_key(|record| story.at(record).map(|at| at.earliest))?;
    let until = story.at(told)?.latest;
    let store: Vec<&Record> = story
        .of(SourceKind::Store)
        .filter(|record| record.place.file == before.place.file)
        .collect();
    let silent = store.iter().all(|record| {
        story
            .at(record)
            .is_none_or(|at| at.latest <= leapt_from || at.earliest > until)
    });
    let works = store.iter().any(|record| {
        record.place.line >= after.place.line
            && matches!(
                record.says,
                Says::Store(StoreSays::Granted { .. } | StoreSays::Asked { .. } | StoreSays::RenewalApplied { .. })
            )
    });
    (silent && works).then_some(told)
}

/// The lease was alive before the leap, by its TTL, and over after it.
fn ended_there(story: &Story<'_>, before: &Record, after: &Record) -> bool {
    let Some(grant) = story.loss.as_ref().and_then(|loss| story.grants.get(loss.grant?)) else {
        return false;
    };
    let last = grant.renewals.last().copied().unwrap_or(grant.begun);
    let ttl = grant.ttl.or(story.numbers.ttl.as_ref().map(|ttl| ttl.value));
    let alive = match (story.at(last), story.at(before), ttl) {
        (Some(last), Some(before), Some(ttl)) => before.latest < last.earliest.saturating_add(nanos(ttl)),
        _ => false,
    };
    let place = |record: &Record| (record.place.file, record.place.line);
    alive
        && place(last) <= place(before)
        && grant
            .end
            .is_some_and(|end| end.by.place.file == after.place.file && end.by.place.line >= after.place.line)
}
