//! Many leases wait for one renewal thread: each is renewed once a round, and a round takes longer than a TTL.
//!
//! For: many keys on one thread, never idle, whose round is as long as their number times one renewal. That is neither
//! the network nor a pause.

use super::{Draft, Part};
use crate::story::Story;
use crate::words::span;
use leaseproof_evidence::place::FileId;
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::says::{OwnerSays, Says, StoreSays};
use leaseproof_model::diagnosis::{Boundary, Confidence};
use leaseproof_model::rule;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Fewer keys are no queue.
const MANY: usize = 5;

type Thread = (FileId, Option<u32>, Option<Arc<str>>);

pub fn causes(story: &Story<'_>) -> Vec<Draft> {
    let mut threads: BTreeMap<Thread, Vec<(&Record, &str)>> = BTreeMap::new();
    for owner in &story.owners {
        for record in owner.says.iter().chain(&owner.others) {
            let key = match &record.says {
                Says::Owner(
                    OwnerSays::Renewed { key: Some(key), .. }
                    | OwnerSays::RenewSent { key: Some(key) }
                    | OwnerSays::RenewalFailed { key: Some(key), .. },
                ) => key,
                _ => continue,
            };
            let author = &record.author;
            threads
                .entry((record.place.file, author.pid, author.thread.clone()))
                .or_default()
                .push((*record, &**key));
        }
    }
    // By the store's record, the renewals that came over one connection.
    for record in story.of(SourceKind::Store) {
        let Says::Store(StoreSays::RenewalApplied { key, sender, until, .. }) = &record.says else {
            continue;
        };
        // A record without senders still has the deadlines that were set, and these came one after the other.
        if sender.is_none() && until.is_none() {
            continue;
        }
        threads
            .entry((record.place.file, None, sender.clone()))
            .or_default()
            .push((record, &**key));
    }
    threads
        .values()
        .filter_map(|renewals| draft(story, renewals))
        .min_by_key(|draft| draft.confidence)
        .into_iter()
        .collect()
}

fn draft(story: &Story<'_>, renewals: &[(&Record, &str)]) -> Option<Draft> {
    let keys: BTreeSet<&str> = renewals.iter().map(|(_, key)| *key).collect();
    if keys.len() < MANY {
        return None;
    }
    let moments: Vec<i64> = renewals
        .iter()
        .filter_map(|(record, _)| moment(story, record))
        .collect();
    let each = median(
        moments
            .windows(2)
            .filter_map(|pair| Some(pair.get(1)? - pair.first()?))
            .collect(),
    )?;
    let mut rounds = Vec::new();
    let mut longest: Option<(&Record, &Record, i64)> = None;
    let mut last: BTreeMap<&str, (&Record, i64)> = BTreeMap::new();
    for (record, key) in renewals {
        let Some(at) = moment(story, record) else {
            continue;
        };
        if let Some((before, then)) = last.insert(key, (record, at)) {
            rounds.push(at - then);
            if longest.is_none_or(|(.., known)| at - then > known) {
                longest = Some((before, record, at - then));
            }
        }
    }
    // Where no key came again, its first round was not even over.
    let first_round = || Some(moments.iter().max()? - moments.iter().min()?);
    let unfinished = rounds.is_empty();
    let round = median(rounds).or_else(first_round)?;
    let count = i64::try_from(keys.len()).ok()?;
    let full = each.saturating_mul(count);
    // The thread is never idle: a round is as long as its renewals, one after the other.
    let busy = full >= round / 10 * 8;
    let ttl = story
        .numbers
        .ttl
        .as_ref()
        .map(|ttl| i64::try_from(ttl.value.as_nanos()).unwrap_or(i64::MAX));
    let starves = ttl.map_or_else(|| story.loss.is_some(), |ttl| round >= ttl / 10 * 9);
    if !busy || !starves {
        return None;
    }
    let show = |nanos: i64| span(Duration::from_nanos(nanos.max(0).unsigned_abs()));
    let mut evidence = match longest {
        Some((before, after, apart)) => vec![
            story.cite(before),
            story.cite_why(after, format!("the same key, {} later", show(apart))),
        ],
        None => renewals.iter().take(3).map(|(record, _)| story.cite(record)).collect(),
    };
    evidence.extend(
        story
            .numbers
            .ttl
            .as_ref()
            .and_then(|ttl| Some(story.cite_why(ttl.by?, format!("a TTL of {}", span(ttl.value))))),
    );
    evidence.extend(
        story
            .loss
            .iter()
            .flat_map(|loss| loss.lines.iter().map(|record| story.cite(record))),
    );
    Some(Draft {
        id: "renewals-queue",
        rule: &rule::LP007,
        // It was at it all the while, and one round is longer than the TTL: no other fault is needed. A round that has not
        // even come to its end counts as far as it is on record.
        confidence: if ttl.is_some_and(|ttl| round >= ttl)
            && (renewals.len() >= keys.len() * 2 || (unfinished && never_idle(&moments, each)))
        {
            Confidence::Certain
        } else {
            Confidence::Likely
        },
        boundary: Boundary::Configuration,
        part: Part::Trigger,
        weight: 19,
        says: format!(
            "{} leases wait for one renewal thread, and each renewal takes {}: a round takes {}{}{}; neither the network nor a pause is to blame",
            keys.len(),
            show(each),
            if unfinished { "more than " } else { "" },
            show(round),
            ttl.map(|ttl| format!(", and the TTL is {}", show(ttl)))
                .unwrap_or_default()
        ),
        evidence,
        against: Vec::new(),
    })
}

/// When a renewal was: by the deadline that it set where there is one, which is finer than a stamp of whole seconds. Deadlines
/// of one TTL are as far apart as the renewals themselves.
fn moment(story: &Story<'_>, record: &Record) -> Option<i64> {
    match &record.says {
        Says::Store(StoreSays::RenewalApplied { until: Some(until), .. }) => Some(until.earliest),
        _ => story.at(record).map(|at| at.middle()),
    }
}

fn median(mut values: Vec<i64>) -> Option<i64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

/// No two renewals after each other are much further apart than usual.
fn never_idle(moments: &[i64], each: i64) -> bool {
    moments.windows(2).all(|pair| match pair {
        [before, after] => after - before <= each.saturating_mul(5),
        _ => true,
    })
}
