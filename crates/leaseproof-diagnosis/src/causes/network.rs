//! The connection between owner and store was cut, or passed nothing, and the owner ran all the while.
//!
//! For: words of a proxy or a socket, time-outs and resets in the owner's log from inside the span. Against: an owner
//! that did not run (its time-outs are then what it found on waking), a store that stood still.

use super::served::served;
use super::store_paused::late_end;
use super::{Draft, Part, cite};
use crate::story::Story;
use crate::story::asking::is_unanswered;
use crate::story::early::after_a_grant;
use crate::story::fit::{Fit, fit, is_the_losers, owner_ran, store_worked};
use crate::story::stop::{How, Who};
use crate::words::span;
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::says::{MoveKind, NetworkSays, OwnerSays, Says, StoreSays, TimerKind, WhoEnded};
use leaseproof_evidence::when::nanos;
use leaseproof_model::diagnosis::{Boundary, Confidence};
use leaseproof_model::rule;
use leaseproof_model::truth::Truth;
use std::time::Duration;

pub fn causes(story: &Story<'_>) -> Vec<Draft> {
    let independent = independent(story);
    let owner_words = owner_words(story);
    if independent.is_empty() && owner_words.is_empty() {
        return Vec::new();
    }
    let ran = owner_ran(story);
    // The owner said in time that it could not reach the store: it ran.
    let in_time = in_time(story, &owner_words);
    // A lease that outlived its TTL was not ended in time: what got no answer may have met a store that stood still.
    let late = late_end(story);
    let down = store_was_down(story);
    let worked = store_worked(story).filter(|_| late.is_none() && !down);
    let waited = !owner_words.is_empty() && !ran.is_empty();
    let stopped = story.stops.iter().find(|stop| {
        !matches!(stop.how, How::Gap { .. })
            && fit(story, stop) == Fit::Covers
            && (stop.who == Who::Store || is_the_losers(story, stop) == Truth::Yes)
    });
    let served = served(story, &independent).filter(|_| late.is_none() && !down);
    let both = !independent.is_empty() && (!in_time.is_empty() || !ran.is_empty());
    let confidence = match (story.loss.is_some(), stopped) {
        (_, Some(_)) => Confidence::Possible,
        _ if down => Confidence::Possible,
        (true, None)
            if (both || in_time.len() >= 2 || waited) && served.is_some() && !others_too(story, &owner_words) =>
        {
            Confidence::Certain
        }
        // The others' ways were cut at the same time: it is the store, or what is before it.
        (true, None) if others_too(story, &owner_words) => Confidence::Possible,
        (true, None) if !in_time.is_empty() && !ran.is_empty() && late.is_none() => Confidence::Likely,
        (true, None) if both || (worked.is_some() && (waited || !in_time.is_empty())) => Confidence::Likely,
        (false, None) if !independent.is_empty() => Confidence::Likely,
        _ => Confidence::Possible,
    };
    // What it said on waking it found then: that tells of no cut.
    let before_waking = |record: &&Record| {
        let woke = stopped.and_then(|stop| stop.ended);
        let at = story.at(record);
        woke.zip(at).is_none_or(|(woke, at)| at.latest < woke.earliest)
    };
    if stopped.is_some() && independent.is_empty() && !in_time.iter().any(before_waking) {
        return Vec::new();
    }
    let mut evidence = cite(story, independent.iter().map(|(record, _)| *record));
    evidence.extend(cite(story, owner_words.iter().copied().take(4)));
    evidence.extend(
        story
            .loss
            .iter()
            .flat_map(|loss| cite(story, loss.lines.iter().copied())),
    );
    evidence.extend(
        served
            .or(worked)
            .map(|record| story.cite_why(record, "the store worked meanwhile")),
    );
    let what = independent.first().map_or_else(
        || match ran.is_empty() {
            true => "the owner's requests to the store got no answer".to_owned(),
            false => "the owner ran, and its requests to the store got no answer".to_owned(),
        },
        |(_, what)| what.clone(),
    );
    let against = stopped
        .map(|stop| {
            stop.lines
                .iter()
                .map(|record| {
                    story.cite_why(
                        record,
                        "something stood still over the same span, and a cut would then be its consequence",
                    )
                })
                .collect()
        })
        .unwrap_or_default();
    vec![Draft {
        id: "connection-cut",
        rule: &rule::LP013,
        confidence,
        boundary: Boundary::Network,
        part: Part::Trigger,
        weight: 25,
        says: format!("the way between owner and store was cut: {what}"),
        evidence,
        against,
    }]
}

fn in_window(story: &Story<'_>, record: &Record) -> bool {
    let window = story.loss.as_ref().and_then(|loss| loss.window(story));
    match (window, story.at(record)) {
        (Some(window), Some(at)) => {
            let window = window.widened(Duration::from_secs(1));
            at.earliest <= window.latest && at.latest >= window.earliest
        }
        // A picture of sockets has no stamp: whoever took it had a reason.
        (_, None) => true,
        (None, _) => story.loss.is_none(),
    }
}

/// What neither owner nor store says: proxies, sockets, counters.
fn independent<'e>(story: &Story<'e>) -> Vec<(&'e Record, String)> {
    let words = |said: &NetworkSays| -> Option<String> {
        Some(match said {
            NetworkSays::Reset { what } => format!("a connection was reset ({what})"),
            NetworkSays::IdleCut { what } => format!("an idle connection was cut ({what})"),
            NetworkSays::TimedOut { what } => format!("a connection timed out ({what})"),
            NetworkSays::Refused { what } => format!("a connection was refused ({what})"),
            NetworkSays::Ended {
                who: WhoEnded::ClientSilence | WhoEnded::ServerSilence,
                flags,
                ..
            } => {
                format!("the proxy cut a connection that it held to be idle (flags {flags})")
            }
            NetworkSays::Ended {
                who: WhoEnded::Server | WhoEnded::Proxy,
                flags,
                ..
            } => {
                format!("the proxy's side ended a connection (flags {flags})")
            }
            NetworkSays::Socket {
                timer: Some((TimerKind::Retransmit, _, tries)),
                peer,
                ..
            } if *tries >= 2 => {
                format!("a socket to {peer} has sent the same bytes {tries} times without an answer")
            }
            _ => return None,
        })
    };
    story
        .evidence
        .records
        .iter()
        .filter_map(|record| match &record.says {
            Says::Network(said) => Some((record, words(said).or_else(|| unanswered(story, record, said))?)),
            _ => None,
        })
        .filter(|(record, _)| in_window(story, record))
        .take(6)
        .collect()
}

/// The kernel saw a request leave, and nothing come back for longer than any answer takes, on a socket that had been
/// answered before. One that only waits, for a lock to come free, is never answered.
fn unanswered(story: &Story<'_>, record: &Record, said: &NetworkSays) -> Option<String> {
    let NetworkSays::Socket {
        local,
        peer,
        last_sent: Some(sent),
        last_received: Some(received),
        ..
    } = said
    else {
        return None;
    };
    let answered_before = story.evidence.of(record.place.file).any(|earlier| {
        earlier.place.line < record.place.line
            && matches!(&earlier.says, Says::Network(NetworkSays::Socket {
                local: other,
                last_sent: Some(sent),
                last_received: Some(received),
                ..
            }) if other == local && received <= sent)
    });
    (*sent >= Duration::from_secs(1) && received > sent && answered_before).then(|| {
        format!(
            "a socket to {peer} sent something {} ago, and got nothing since",
            span(*sent)
        )
    })
}

/// The losing owner's own words about its connection.
pub fn owner_words<'e>(story: &Story<'e>) -> Vec<&'e Record> {
    let loser = story.loss.as_ref().and_then(|loss| loss.owner);
    story
        .owners
        .iter()
        .enumerate()
        .filter(|(index, _)| loser.is_none_or(|loser| loser == *index))
        .flat_map(|(_, owner)| owner.says.iter().copied())
        .filter(|record| is_unanswered(record))
        .filter(|record| in_window(story, record) || was_waiting(story, record))
        .collect()
}

/// The store's server started anew within the window, or right after it: it was down, and no way to it could help.
fn store_was_down(story: &Story<'_>) -> bool {
    let window = story.loss.as_ref().and_then(|loss| loss.window(story));
    story.of(SourceKind::Store).any(|record| {
        matches!(
            record.says,
            Says::Store(StoreSays::Moved {
                kind: MoveKind::Started | MoveKind::Failover,
                ..
            })
        ) && after_a_grant(story, record)
            && window.zip(story.at(record)).is_none_or(|(window, at)| {
                let window = window.widened(Duration::from_secs(2));
                at.earliest <= window.latest && at.latest >= window.earliest
            })
    })
}

/// Another owner tells of a request without an answer, or of a connection that broke, at about the same time.
pub fn others_too(story: &Story<'_>, words: &[&Record]) -> bool {
    let loser = story.loss.as_ref().and_then(|loss| loss.owner);
    let moments: Vec<_> = words.iter().filter_map(|record| story.at(record)).collect();
    story
        .owners
        .iter()
        .enumerate()
        .filter(|(index, _)| loser.is_some_and(|loser| loser != *index))
        .flat_map(|(_, owner)| owner.says.iter())
        .filter(|record| is_unanswered(record))
        .filter_map(|record| story.at(record))
        .any(|at| {
            let near = at.widened(Duration::from_secs(2));
            moments
                .iter()
                .any(|it| it.earliest <= near.latest && it.latest >= near.earliest)
        })
}

/// A request that was given up for want of an answer, by its text.
pub fn timed_out(record: &Record) -> bool {
    let Says::Owner(OwnerSays::RenewalFailed { why, .. }) = &record.says else {
        return false;
    };
    let why = why.to_ascii_lowercase();
    why.contains("timeout") || why.contains("timed out")
}

/// A request that timed out was begun before: one that is told of a little after the end was under way within the window.
fn was_waiting(story: &Story<'_>, record: &Record) -> bool {
    let window = story.loss.as_ref().and_then(|loss| loss.window(story));
    window.zip(story.at(record)).is_some_and(|(window, at)| {
        at.earliest > window.latest
            && at.earliest < window.latest.saturating_add(nanos(Duration::from_secs(15)))
            && timed_out(record)
    })
}

/// Those that it said before the lease was over: an owner that stood still says them only afterwards.
pub fn in_time<'e>(story: &Story<'e>, words: &[&'e Record]) -> Vec<&'e Record> {
    let Some(ended) = story
        .loss
        .as_ref()
        .and_then(|loss| loss.ended.or_else(|| story.at(loss.told?)))
    else {
        return Vec::new();
    };
    words
        .iter()
        .copied()
        .filter(|record| {
            story
                .at(record)
                .is_some_and(|at| at.latest < ended.earliest.saturating_sub(nanos(Duration::from_millis(50))))
        })
        .collect()
}
