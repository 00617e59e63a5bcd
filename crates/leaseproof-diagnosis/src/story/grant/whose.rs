//! Whose a grant is: by its holder's name, its token, or the moment at which one owner says that it acquired.

use super::Grant;
use super::takeover::takeovers;
use crate::story::Story;
use leaseproof_evidence::record::Record;
use leaseproof_evidence::says::{OwnerSays, Says};
use leaseproof_evidence::when::{Interval, nanos};
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
        return takeovers(story)
            .into_iter()
            .filter(|it| {
                story
                    .at(it.taken)
                    .is_some_and(|at| at.earliest <= near.latest && at.latest >= near.earliest)
            })
            .map(|it| it.loser)
            .next();
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
