//! The store lost the lease, or moved it: failover, restart, eviction, flush, another leader.
//!
//! For: the store's own words in the span in which the lease ended; an end before the last deadline; two owners that both
//! hold. A new leader alone proves little: where all is well, leases live through it.

use super::{Draft, Part, cite};
use crate::story::Story;
use crate::story::asking::is_unanswered;
use crate::story::early::{after_a_grant, ended_early};
use crate::words::clock;
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::says::{MoveKind, OwnerSays, Says, StoreSays};
use leaseproof_evidence::when::{Interval, nanos};
use leaseproof_model::diagnosis::{Boundary, Breach, Confidence, Seen};
use leaseproof_model::rule;
use leaseproof_model::truth::Truth;
use std::time::Duration;

/// A move that is further away than this from the loss explains nothing.
const NEAR: Duration = Duration::from_secs(15);

/// It was before anybody had the lease, as far as the files tell: a store's first leader is no change.
fn before_all(story: &Story<'_>, record: &Record) -> bool {
    let granted = story.grants.iter().filter(|grant| !grant.is_session);
    let acquired = story.owners.iter().flat_map(|owner| owner.says.iter().copied());
    let acquired = acquired.filter(|it| matches!(it.says, Says::Owner(OwnerSays::Acquired { .. })));
    let mut all = granted.map(|grant| grant.begun).chain(acquired).peekable();
    all.peek().is_some() && all.all(|begun| story.before(record, begun) == Truth::Yes)
}

pub fn causes(story: &Story<'_>, breach: &Breach) -> Vec<Draft> {
    let window = window(story);
    let moves: Vec<(&Record, MoveKind, &str)> = story
        .evidence
        .records
        .iter()
        .filter_map(|record| match &record.says {
            Says::Store(StoreSays::Moved { kind, what, .. }) => Some((record, *kind, &**what)),
            _ => None,
        })
        .filter(|(record, ..)| match (window, story.at(record)) {
            (Some(window), Some(at)) => at.earliest <= window.latest && at.latest >= window.earliest,
            _ => true,
        })
        // What it did before it granted the lease did not cost it.
        .filter(|(record, kind, _)| {
            let grant = story.loss.as_ref().and_then(|loss| story.grants.get(loss.grant?));
            let before_it = grant.is_some_and(|grant| story.before(record, grant.begun) == Truth::Yes);
            // A server's first start is no move; one after somebody had the lease is.
            let at_start = matches!(kind, MoveKind::Started | MoveKind::Stopped);
            let leads = matches!(kind, MoveKind::LeaderElected | MoveKind::LeaderLost | MoveKind::Demoted);
            // One that is shut down while nobody lost anything is shut down at the end.
            let at_end = *kind == MoveKind::Stopped && story.loss.is_none();
            let known = after_a_grant(story, record) || (*kind == MoveKind::Started && is_restart(story, record));
            !(before_it || at_end || (at_start && !known) || (leads && before_all(story, record)))
        })
        .collect();
    let Some((first, kind, what)) = moves.iter().min_by_key(|(_, kind, _)| order(*kind)).copied() else {
        return Vec::new();
    };
    let early = ended_early(story).is_yes();
    let overlap = two_held(story, breach);
    let restarted = kind == MoveKind::Started;
    let lost_data = matches!(
        kind,
        MoveKind::WritesDropped | MoveKind::Eviction | MoveKind::Flush | MoveKind::Started | MoveKind::Failover
    );
    let confidence = match (
        story.loss.is_some() || overlap.is_some(),
        lost_data,
        early || overlap.is_some(),
    ) {
        // After a restart with its data, a lease ends as it would have: it must have ended early, or been unknown.
        (true, true, true) if !restarted || between(story, first) => Confidence::Certain,
        (true, true, true) => Confidence::Likely,
        // The renewals were answered until it went down, and not after: the lease was alive then.
        (true, true, false) if restarted && between(story, first) && answered_until(story, first) => {
            Confidence::Certain
        }
        (true, true, false) | (true, false, true) => Confidence::Likely,
        // A failover that is on record, with nobody's loss beside it.
        (false, true, _) => Confidence::Likely,
        _ => Confidence::Possible,
    };
    let mut evidence = cite(
        story,
        moves
            .iter()
            .map(|(record, ..)| *record)
            .filter(|record| record.place == first.place),
    );
    evidence.extend(
        moves
            .iter()
            .filter(|(_, kind, _)| order(*kind) < 8)
            .map(|(record, ..)| story.cite(record)),
    );
    evidence.extend(
        overlap
            .into_iter()
            .flatten()
            .map(|record| story.cite_why(record, "both held the lease")),
    );
    evidence.extend(
        story
            .loss
            .iter()
            .flat_map(|loss| cite(story, loss.lines.iter().copied())),
    );
    let at = story
        .at(first)
        .map(|at| format!(" at {}", clock(at)))
        .unwrap_or_default();
    vec![Draft {
        id: id(kind),
        rule: &rule::LP017,
        confidence,
        boundary: Boundary::Store,
        part: Part::Trigger,
        weight: 15,
        says: format!(
            "{}{at}: {what}; what had been granted before need not be known after it",
            name(kind)
        ),
        evidence,
        against: Vec::new(),
    }]
}

/// From a while before the last renewal to a while after the end; all of it where no loss is known.
fn window(story: &Story<'_>) -> Option<Interval> {
    let window = story.loss.as_ref()?.window(story)?;
    Some(Interval {
        earliest: window.earliest.saturating_sub(nanos(NEAR)),
        latest: window.latest.saturating_add(nanos(Duration::from_secs(2))),
    })
}

/// The same log has an earlier start, and the resource was written to between the two: somebody held something by then.
fn is_restart(story: &Story<'_>, started: &Record) -> bool {
    let first = story.evidence.of(started.place.file).find(|record| {
        matches!(
            record.says,
            Says::Store(StoreSays::Moved {
                kind: MoveKind::Started,
                ..
            })
        )
    });
    first.is_some_and(|first| {
        story
            .of(SourceKind::Resource)
            .any(|write| story.before(first, write) == Truth::Yes && story.before(write, started) == Truth::Yes)
    })
}

/// Its owner had been renewed within a TTL before the server started anew, and got no answer in between.
fn answered_until(story: &Story<'_>, started: &Record) -> bool {
    let Some(loss) = &story.loss else { return false };
    let (Some(renewed), Some(at), Some(ttl)) = (loss.renewed, story.at(started), &story.numbers.ttl) else {
        return false;
    };
    let alive = at.latest < renewed.earliest.saturating_add(nanos(ttl.value + ttl.value / 2));
    let owner = loss.owner.and_then(|index| story.owners.get(index));
    alive
        && owner.is_some_and(|owner| {
            owner.says.iter().any(|record| {
                is_unanswered(record)
                    && story
                        .at(record)
                        .is_some_and(|said| said.latest >= renewed.earliest && said.earliest <= at.latest)
            })
        })
}

/// It lies between the last renewal and the end.
fn between(story: &Story<'_>, record: &Record) -> bool {
    let window = story.loss.as_ref().and_then(|loss| loss.window(story));
    window.zip(story.at(record)).is_some_and(|(window, at)| {
        let window = window.widened(Duration::from_millis(500));
        at.earliest <= window.latest && at.latest >= window.earliest
    })
}

/// Two owners that both say that they hold the lease, at one time.
fn two_held<'e>(story: &Story<'e>, breach: &Breach) -> Option<[&'e Record; 2]> {
    if !breach.broken.iter().any(|it| it.seen == Seen::Certainly) {
        return None;
    }
    let is = |record: &&&'e Record, wanted: fn(&OwnerSays) -> bool| matches!(&record.says, Says::Owner(said) if wanted(said));
    for (index, owner) in story.owners.iter().enumerate() {
        for (_, next) in story.owners.iter().enumerate().filter(|(other, _)| *other != index) {
            let Some(acquired) = next
                .says
                .iter()
                .find(|record| is(record, |said| matches!(said, OwnerSays::Acquired { .. })))
            else {
                continue;
            };
            let renewed = owner
                .says
                .iter()
                .filter(|record| is(record, |said| matches!(said, OwnerSays::Renewed { .. })))
                .find(|record| story.before(acquired, record) == Truth::Yes);
            if let Some(renewed) = renewed {
                return Some([*acquired, *renewed]);
            }
        }
    }
    None
}

fn order(kind: MoveKind) -> u8 {
    match kind {
        MoveKind::Flush => 0,
        MoveKind::Eviction => 1,
        MoveKind::WritesDropped => 2,
        MoveKind::Failover => 3,
        MoveKind::Started | MoveKind::OtherAnswers => 4,
        MoveKind::LeaderElected => 5,
        MoveKind::LeaderLost => 6,
        MoveKind::Demoted => 7,
        MoveKind::Stopped => 8,
        MoveKind::MemberDown => 9,
    }
}

fn id(kind: MoveKind) -> &'static str {
    match kind {
        MoveKind::Eviction => "store-evicted",
        MoveKind::Flush => "store-flushed",
        MoveKind::Started | MoveKind::Stopped => "store-restarted",
        MoveKind::OtherAnswers => "store-moved",
        MoveKind::LeaderElected | MoveKind::LeaderLost => "store-changed-leader",
        MoveKind::Failover | MoveKind::WritesDropped | MoveKind::MemberDown | MoveKind::Demoted => "store-failed-over",
    }
}

fn name(kind: MoveKind) -> &'static str {
    match kind {
        MoveKind::Eviction => "the store evicted keys",
        MoveKind::Flush => "the store was emptied",
        MoveKind::Started => "the store's server started anew",
        MoveKind::Stopped => "the store's server stopped",
        MoveKind::OtherAnswers => "another process of the store answers than before",
        MoveKind::LeaderElected => "the store got another leader",
        MoveKind::LeaderLost => "the store lost its leader",
        MoveKind::Failover => "the store failed over to another server",
        MoveKind::WritesDropped => "the store gave up writes that it had acknowledged",
        MoveKind::MemberDown => "a member of the store was down",
        MoveKind::Demoted => "a member of the store lost its part",
    }
}
