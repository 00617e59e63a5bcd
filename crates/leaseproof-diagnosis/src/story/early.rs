//! Whether the lease ended before its time: then no pause and no cut of its owner cost it.

use super::Story;
use super::grant::EndKind;
use leaseproof_evidence::record::Record;
use leaseproof_evidence::says::{OwnerSays, Says};
use leaseproof_evidence::when::{Interval, nanos};
use leaseproof_model::truth::Truth;
use std::time::Duration;

/// Whether it ended before its last deadline, and not by its holder.
#[must_use]
pub fn ended_early(story: &Story<'_>) -> Truth {
    // Where the store's record shows the renewals, it is the store that tells: an owner that stood still logs late.
    let shown = story
        .loss
        .as_ref()
        .and_then(|loss| story.grants.get(loss.grant?))
        .is_some_and(|grant| !grant.renewals.is_empty() || grant.until.is_some());
    match by_store(story) {
        Truth::CannotTell if !shown => by_owner(story),
        told => told,
    }
}

/// The same, by the store's own deadline, or by its record of the renewals: an owner's log plays no part.
#[must_use]
pub fn by_store(story: &Story<'_>) -> Truth {
    let loss = story.loss.as_ref();
    let Some(grant) = loss.and_then(|loss| story.grants.get(loss.grant?)) else {
        return Truth::CannotTell;
    };
    let Some(end) = grant.end.filter(|end| end.kind != EndKind::Released) else {
        return Truth::CannotTell;
    };
    let Some(at) = end.at else { return Truth::CannotTell };
    if let Some(until) = grant.until {
        // The end of an expiry is its deadline itself.
        return match (end.kind, at.before(until)) {
            (EndKind::Expired, Truth::Yes) => Truth::CannotTell,
            (_, order) => order,
        };
    }
    if grant.is_session || grant.renewals.is_empty() {
        return Truth::CannotTell;
    }
    before_ttl(story, loss.and_then(|loss| loss.renewed), at, grant.ttl)
}

/// By the owner's words: it renewed, and was refused before a TTL had gone. Another owner's word that it acquired is as good.
fn by_owner(story: &Story<'_>) -> Truth {
    let Some(loss) = &story.loss else {
        return Truth::CannotTell;
    };
    let Some(owner) = loss.owner.and_then(|index| story.owners.get(index)) else {
        return Truth::CannotTell;
    };
    let told = loss.told.filter(|told| match &told.says {
        Says::Owner(OwnerSays::RenewalFailed { .. }) => true,
        Says::Owner(OwnerSays::Lost { why, .. }) => crate::words::is_refusal(why),
        _ => false,
    });
    let end = match (told.and_then(|told| story.at(told)), loss.ended) {
        (Some(told), Some(ended)) if ended.latest < told.latest => ended,
        (Some(told), _) => told,
        (None, Some(ended)) if loss.grant.is_none() => ended,
        _ => return Truth::CannotTell,
    };
    let last = owner.says.iter().rfind(|record| {
        matches!(
            record.says,
            Says::Owner(OwnerSays::Renewed { .. } | OwnerSays::Acquired { .. })
        ) && story.at(record).is_some_and(|at| at.latest <= end.earliest)
    });
    before_ttl(story, last.and_then(|record| story.at(record)), end, None)
}

fn before_ttl(story: &Story<'_>, last: Option<Interval>, end: Interval, own: Option<Duration>) -> Truth {
    let ttl = own.or(story.numbers.ttl.as_ref().map(|ttl| ttl.value));
    match (last, ttl) {
        (Some(last), Some(ttl)) if end.latest < last.earliest.saturating_add(nanos(ttl - ttl / 10)) => Truth::Yes,
        (Some(last), Some(ttl)) if end.earliest > last.latest.saturating_add(nanos(ttl)) => Truth::No,
        _ => Truth::CannotTell,
    }
}

/// Whether somebody had been granted the lease when it was written.
#[must_use]
pub fn after_a_grant(story: &Story<'_>, record: &Record) -> bool {
    let granted = story.grants.iter().map(|grant| grant.begun);
    let said = story.owners.iter().flat_map(|owner| owner.says.iter().copied());
    let said = said.filter(|record| matches!(record.says, Says::Owner(OwnerSays::Acquired { .. })));
    granted
        .chain(said)
        .any(|begun| story.before(begun, record) == Truth::Yes)
}
