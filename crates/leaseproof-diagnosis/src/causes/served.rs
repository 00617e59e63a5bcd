//! The store served others while it did not answer the losing owner: then it did not stand still, and the way did not pass.
//!
//! What it did before the request was sent says nothing, and what it did after it woke neither. So the work must lie
//! between two things that the owner, or the kernel, saw: a request without an answer before it, and one after it.

use super::network::timed_out;
use crate::story::Story;
use crate::story::asking::is_unanswered;
use crate::story::fit::store_worked_within;
use leaseproof_evidence::record::Record;
use leaseproof_evidence::says::{NetworkSays, OwnerSays, Says};
use leaseproof_evidence::when::{Interval, nanos};
use std::time::Duration;

/// An answer is not on its way for longer than this.
const ON_ITS_WAY: i64 = 300_000_000;

/// A store that woke has answered everybody after so long.
const AWAKE: i64 = 500_000_000;

/// How long after the end of the lease a request may still be waiting that was sent before it.
const PATIENCE: Duration = Duration::from_secs(15);

/// Work of the store for others, in the middle of a time in which the owner got no answer.
pub fn served<'e>(story: &Story<'e>, independent: &[(&'e Record, String)]) -> Option<&'e Record> {
    let loss = story.loss.as_ref()?;
    let owner = story.owners.get(loss.owner?)?;
    let window = loss.window(story)?;
    let renewed = loss.renewed?;
    let success = |record: &&&Record| {
        matches!(
            record.says,
            Says::Owner(OwnerSays::Renewed { .. } | OwnerSays::Acquired { .. })
        )
    };
    // Until it got an answer again.
    let again = owner
        .says
        .iter()
        .filter(success)
        .filter_map(|record| story.at(record))
        .filter(|at| at.earliest > window.latest)
        .map(|at| at.earliest)
        .min();
    let until = window
        .latest
        .saturating_add(nanos(PATIENCE))
        .min(again.unwrap_or(i64::MAX));
    let unanswered: Vec<(&Record, Interval)> = owner
        .says
        .iter()
        .copied()
        .filter(|record| is_unanswered(record))
        .filter_map(|record| Some((record, story.at(record)?)))
        .filter(|(_, at)| at.earliest > renewed.latest && at.latest <= until)
        .collect();
    let first = unanswered.iter().map(|(_, at)| at.latest).min();
    let last = unanswered.iter().map(|(_, at)| at.earliest).max();
    let given_up = unanswered
        .iter()
        .filter(|(record, _)| timed_out(record))
        .map(|(_, at)| at.earliest)
        .max();
    let due = story
        .numbers
        .heartbeat
        .as_ref()
        .map(|it| renewed.latest.saturating_add(nanos(it.value)));
    let mut spans: Vec<(i64, i64)> = Vec::new();
    spans.extend(first.zip(last).map(|(first, last)| (first, last - AWAKE)));
    // The one request that it was given up for was due before, and was sent then.
    spans.extend(due.zip(given_up).map(|(due, last)| (due + ON_ITS_WAY, last - AWAKE)));
    // The kernel saw it leave, and nothing come back until it looked.
    for (record, _) in independent {
        if let Says::Network(NetworkSays::Socket {
            last_sent: Some(sent), ..
        }) = &record.says
            && let Some(at) = story.at(record)
        {
            spans.push((at.latest - nanos(*sent) + ON_ITS_WAY, at.earliest));
        }
    }
    spans
        .into_iter()
        .find_map(|(from, to)| store_worked_within(story, from, to))
}
