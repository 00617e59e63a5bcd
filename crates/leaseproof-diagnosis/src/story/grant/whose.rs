//! Whose a grant is: by its holder's name, its token, or the moment at which one owner says that it acquired.

use super::Grant;
use super::takeover::{takeovers, writer};
use crate::story::Story;
use crate::story::loss::is_loss;
use crate::story::owner::Owner;
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::says::{OwnerSays, Says};
use leaseproof_evidence::when::{Interval, nanos};
use leaseproof_model::truth::Truth;
use std::sync::Arc;
use std::time::Duration;

pub fn owner_of(story: &Story<'_>, grant: &Grant<'_>) -> Option<usize> {
    let by_name = |holder: &Arc<str>| {
        let mut found = story
            .owners
            .iter()
            .enumerate()
            .filter(|(_, owner)| owner.is_called(holder) || owner.name == **holder);
        let first = found.next()?;
        found.next().is_none().then_some(first.0)
    };
    if let Some(index) = grant.holder.as_ref().and_then(by_name) {
        return Some(index);
    }
    // Owners that log no token at all can't be known by it.
    if let Some(token) = grant.token
        && story.owners.iter().any(|owner| !owner.tokens.is_empty())
    {
        let mut found = story
            .owners
            .iter()
            .enumerate()
            .filter(|(_, owner)| owner.tokens.contains(&token));
        let first = found.next()?;
        return found.next().is_none().then_some(first.0);
    }
    if grant.is_session && grant.end.is_some_and(|end| end.by.place == grant.begun.place) {
        // Only its end is on record: whose it was shows where another owner took over right after it.
        let ended = grant.end?.at?;
        let near = Interval {
            earliest: ended.earliest.saturating_sub(nanos(Duration::from_millis(500))),
            latest: ended.latest.saturating_add(nanos(Duration::from_millis(2500))),
        };
        // A session of another length is somebody else's.
        let planned = story.asked.plan.as_ref().map(|(budget, _)| budget.ttl);
        if let (Some(planned), Some(own)) = (planned, grant.ttl)
            && planned.abs_diff(own) > planned / 4
        {
            return None;
        }
        let by_takeover = takeovers(story)
            .into_iter()
            .filter(|it| {
                story
                    .at(it.taken)
                    .is_some_and(|at| at.earliest <= near.latest && at.latest >= near.earliest)
            })
            .map(|it| it.loser)
            .next();
        return by_takeover.or_else(|| told_of_it(story, grant, ended));
    }
    if story.owners.iter().all(Owner::is_mute) {
        return begins_to_write(story, grant);
    }
    // By the moment: exactly one owner says that it acquired within a second of it.
    let begun = story.at(grant.begun)?.widened(Duration::from_secs(1));
    let acquired = |record: &&&Record| matches!(record.says, Says::Owner(OwnerSays::Acquired { .. }));
    let near = |record: &&Record| {
        story
            .at(record)
            .is_some_and(|at| at.earliest <= begun.latest && at.latest >= begun.earliest)
    };
    let mut found = story
        .owners
        .iter()
        .enumerate()
        .filter(|(_, owner)| owner.says.iter().filter(acquired).any(&near));
    let first = found.next()?;
    found.next().is_none().then_some(first.0)
}

/// The one owner that had acquired, and tells of a loss at about the time at which a session ended.
fn told_of_it(story: &Story<'_>, grant: &Grant<'_>, ended: Interval) -> Option<usize> {
    let ttl = grant.ttl.map_or(0, nanos);
    let near = Interval {
        earliest: ended.earliest.saturating_sub(ttl.saturating_add(1_000_000_000)),
        latest: ended.latest.saturating_add(2_500_000_000),
    };
    let told = |owner: &Owner<'_>| {
        let acquired = |record: &&&Record| matches!(record.says, Says::Owner(OwnerSays::Acquired { .. }));
        let first = owner.says.iter().find(acquired);
        first.is_some_and(|first| {
            owner.says.iter().any(|record| {
                is_loss(record)
                    && story.before(first, record) == Truth::Yes
                    && story
                        .at(record)
                        .is_some_and(|at| at.earliest <= near.latest && at.latest >= near.earliest)
            })
        })
    };
    let mut found = story.owners.iter().enumerate().filter(|(_, owner)| told(owner));
    let first = found.next()?;
    found.next().is_none().then_some(first.0)
}

/// The one whose first write of all comes right after the grant.
fn begins_to_write(story: &Story<'_>, grant: &Grant<'_>) -> Option<usize> {
    let begun = story.at(grant.begun)?;
    let soon = Interval {
        earliest: begun.earliest.saturating_sub(100_000_000),
        latest: begun.latest.saturating_add(1_500_000_000),
    };
    let mut found = (0..story.owners.len()).filter(|index| {
        let first = story
            .of(SourceKind::Resource)
            .filter(|record| writer(story, record) == Some(*index))
            .filter_map(|record| story.at(record))
            .min_by_key(|at| at.earliest);
        first.is_some_and(|at| at.latest >= soon.earliest && at.earliest <= soon.latest)
    });
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// Of several sessions that ended before one takeover, the last made room for it: the others are somebody else's.
pub fn one_session_each(story: &Story<'_>, grants: &mut [Grant<'_>]) {
    for it in takeovers(story) {
        let Some(taken) = story.at(it.taken) else { continue };
        let ended = |grant: &Grant<'_>| {
            let end = grant.end.filter(|end| end.by.place == grant.begun.place)?;
            let at = end.at?;
            let before = taken.earliest.saturating_sub(2_500_000_000) <= at.latest && at.earliest <= taken.latest;
            (grant.is_session && grant.owner == Some(it.loser) && before).then_some(at.earliest)
        };
        let Some(last) = grants.iter().filter_map(&ended).max() else {
            continue;
        };
        for grant in grants.iter_mut() {
            if ended(grant).is_some_and(|at| at < last) {
                grant.owner = None;
            }
        }
    }
}
