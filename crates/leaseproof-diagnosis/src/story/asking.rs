//! Whether an owner was waiting for the store's answer at a moment: one that waits is as silent as one that does not run.

use super::Story;
use super::fit::signs_of;
use leaseproof_evidence::record::Record;
use leaseproof_evidence::says::{Definite, OwnerSays, Says};
use leaseproof_evidence::when::{Interval, nanos};
use leaseproof_model::truth::Truth;
use std::time::Duration;

/// The least distance of signs that is taken for a rhythm: stamps of whole seconds show none that is finer.
const LEAST: Duration = Duration::from_millis(100);

/// Whether a request of the owner to the store was under way when its silence began.
///
/// Two things say no: a log that has each request and its answer, and has none open; or a rhythm that broke off before
/// the next renewal was due.
#[must_use]
pub fn waited(story: &Story<'_>, owner: usize, since: Interval) -> Truth {
    by_log(story, owner, since).unwrap_or_else(|| by_rhythm(story, owner, since))
}

/// By a log that has each request: `None` where it has not.
fn by_log(story: &Story<'_>, owner: usize, since: Interval) -> Option<Truth> {
    let (mut sent, mut answered, mut open) = (0_u32, 0_u32, false);
    for record in &story.owners.get(owner)?.says {
        let before = story.at(record).is_some_and(|at| at.earliest <= since.latest);
        let Says::Owner(said) = &record.says else { continue };
        match said {
            OwnerSays::RenewSent { .. } => {
                sent += 1;
                open = if before { true } else { open };
            }
            OwnerSays::Renewed { .. } | OwnerSays::RenewalFailed { .. } => {
                answered += 1;
                open = if before { false } else { open };
            }
            _ => {}
        }
    }
    // The last of them may still be open: more, and requests are not all in it.
    (sent >= 3 && sent.abs_diff(answered) <= 2).then_some(if open { Truth::Yes } else { Truth::No })
}

/// By the time: its writes and lines stopped well before it had anything to ask.
fn by_rhythm(story: &Story<'_>, owner: usize, since: Interval) -> Truth {
    let last_claim = story.owners.get(owner).and_then(|owner| {
        owner
            .says
            .iter()
            // One that logs no renewals says nothing of the last one.
            .filter(|record| matches!(record.says, Says::Owner(OwnerSays::Renewed { .. })))
            .filter_map(|record| story.at(record))
            .filter(|at| at.earliest <= since.latest)
            .max_by_key(|at| at.earliest)
    });
    let at_store = story.loss.as_ref().and_then(|loss| loss.renewed);
    let Some(renewed) = [last_claim, at_store].into_iter().flatten().map(|at| at.earliest).min() else {
        return Truth::CannotTell;
    };
    let Some(heartbeat) = story.numbers.heartbeat.as_ref().map(|it| nanos(it.value)) else {
        return Truth::CannotTell;
    };
    let Some(rhythm) = rhythm(story, owner, since) else {
        return Truth::CannotTell;
    };
    if since.latest.saturating_add(rhythm.saturating_mul(2)) < renewed.saturating_add(heartbeat) {
        Truth::No
    } else {
        Truth::CannotTell
    }
}

/// How far apart the signs of an owner are on average, up to a moment.
#[must_use]
pub fn rhythm(story: &Story<'_>, owner: usize, until: Interval) -> Option<i64> {
    let moments: Vec<i64> = signs_of(story, owner)
        .filter_map(|record| story.at(record))
        .filter(|at| at.earliest <= until.latest)
        .map(|at| at.middle())
        .collect();
    let (first, last) = (moments.iter().min()?, moments.iter().max()?);
    let count = i64::try_from(moments.len()).ok().filter(|count| *count >= 8)?;
    Some((last.saturating_sub(*first) / (count - 1)).max(nanos(LEAST)))
}

/// The owner tells of a request without an answer, from within a span or a while after it.
#[must_use]
pub fn told_of_no_answer(story: &Story<'_>, owner: usize, at: Interval) -> bool {
    story.owners.get(owner).is_some_and(|owner| {
        owner.says.iter().any(|record| {
            is_unanswered(record)
                && story.at(record).is_some_and(|said| {
                    said.latest >= at.earliest && said.earliest <= at.latest.saturating_add(5_000_000_000)
                })
        })
    })
}

/// A line that tells of a request without an answer, or of a connection that broke.
#[must_use]
pub fn is_unanswered(record: &Record) -> bool {
    matches!(
        record.says,
        Says::Owner(
            OwnerSays::Disconnected { .. }
                | OwnerSays::RenewalFailed {
                    definite: Definite::Unknown,
                    ..
                }
        )
    )
}
