//! The lease ended before its time, and its holder did not give it back: deleted or overwritten by another, evicted, or
//! forgotten by the store. No pause and no cut of its owner does that.

use super::{Draft, Part, cite};
use crate::story::Story;
use crate::story::early::{by_store, ended_early};
use crate::story::grant::is_key;
use crate::story::sender::{command, is_applied, is_bare, sender, shows_every_command};
use crate::words::clock;
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::says::{ClockSays, MoveKind, OwnerSays, Says, StoreSays};
use leaseproof_evidence::when::nanos;
use leaseproof_model::diagnosis::{Boundary, Confidence};
use leaseproof_model::rule;
use leaseproof_model::truth::Truth;
use std::time::Duration;

pub fn causes(story: &Story<'_>, moved: &[Draft]) -> Vec<Draft> {
    let told = moved.iter().any(|draft| draft.confidence != Confidence::Possible);
    if told || ended_early(story) != Truth::Yes || let_go(story) || clock_stepped(story) {
        return Vec::new();
    }
    let mut evidence: Vec<_> = story
        .loss
        .iter()
        .flat_map(|loss| cite(story, loss.lines.iter().copied()))
        .collect();
    let at = story.loss.as_ref().and_then(|loss| loss.ended);
    let at = at.map(|at| format!(" at {}", clock(at))).unwrap_or_default();
    if let Some((delete, from)) = deleted_by_another(story) {
        evidence.insert(0, story.cite_why(delete, "a deletion, by one that does not hold it"));
        return vec![Draft {
            id: "deleted-by-another",
            rule: &rule::LP011,
            confidence: Confidence::Certain,
            boundary: Boundary::LockClient,
            part: Part::Trigger,
            weight: 14,
            says: format!(
                "the lease ended before its time{at}: {from} deleted its key without a look at who holds it, and its holder had not given it back"
            ),
            evidence,
            against: Vec::new(),
        }];
    }
    if let Some(overwritten) = overwritten(story) {
        evidence.insert(
            0,
            story.cite_why(overwritten, "it was set while it was held, with no deletion before it"),
        );
        return vec![Draft {
            id: "overwritten-by-another",
            rule: &rule::LP012,
            confidence: Confidence::Certain,
            boundary: Boundary::LockClient,
            part: Part::Trigger,
            weight: 14,
            says: format!(
                "the lease ended before its time{at}: another set its key without a look at who holds it (no NX), and its holder had not given it back"
            ),
            evidence,
            against: Vec::new(),
        }];
    }
    if let Some(evicted) = evicted(story) {
        evidence.insert(0, story.cite_why(evicted, "keys were evicted for want of memory"));
        return vec![Draft {
            id: "store-evicted",
            rule: &rule::LP017,
            confidence: if nobody_did_it(story) {
                Confidence::Certain
            } else {
                Confidence::Likely
            },
            boundary: Boundary::Store,
            part: Part::Trigger,
            weight: 15,
            says: format!("the lease ended before its time{at}, and the store counts evicted keys"),
            evidence,
            against: Vec::new(),
        }];
    }
    // By an owner's word alone it renewed: that may be what is not true.
    let by_word = story.loss.as_ref().is_some_and(|loss| loss.grant.is_none());
    let not_applied = by_word.then(|| Draft {
        id: "renewal-not-applied",
        rule: &rule::LP005,
        confidence: Confidence::Possible,
        boundary: Boundary::LockClient,
        part: Part::Defect,
        weight: 17,
        says: "no store's record shows the renewals that the owner logs: that they were applied is its word alone, and another was granted the lease within a TTL of them"
            .to_owned(),
        evidence: evidence.clone(),
        against: Vec::new(),
    });
    let ended_early = Draft {
        id: "ended-early",
        rule: &rule::LP017,
        confidence: Confidence::Likely,
        boundary: Boundary::Store,
        part: Part::Trigger,
        weight: 16,
        says: format!(
            "the lease ended before its time{at}, and its holder had not given it back: the store forgot it, or somebody deleted or overwrote its key; no pause and no cut of its owner does that"
        ),
        evidence,
        against: Vec::new(),
    };
    std::iter::once(ended_early).chain(not_applied).collect()
}

/// Its holder says that it released, at about the end.
fn let_go(story: &Story<'_>) -> bool {
    let Some(loss) = &story.loss else { return false };
    let Some(owner) = loss.owner.and_then(|index| story.owners.get(index)) else {
        return false;
    };
    owner.says.iter().any(|record| {
        matches!(record.says, Says::Owner(OwnerSays::Released { .. }))
            && loss.ended.zip(story.at(record)).is_none_or(|(ended, at)| {
                (at.middle() - ended.middle()).abs()
                    < nanos(Duration::from_secs(1) + at.uncertainty() + ended.uncertainty())
            })
    })
}

fn clock_stepped(story: &Story<'_>) -> bool {
    super::clock_step::store_stepped(story).is_some()
        || story
            .evidence
            .records
            .iter()
            .any(|record| matches!(record.says, Says::Clock(ClockSays::Stepped { .. })))
}

/// A deletion within the lease's last life, straight from a connection that is not its holder's.
fn deleted_by_another<'e>(story: &Story<'e>) -> Option<(&'e Record, String)> {
    let loss = story.loss.as_ref()?;
    let grant = story.grants.get(loss.grant?)?;
    let end = grant.end?;
    let holder = sender(grant.begun)?;
    let last = grant.renewals.last().copied().unwrap_or(grant.begun);
    story.of(SourceKind::Store).find_map(|record| {
        let Says::Store(StoreSays::DeleteAsked { key, .. }) = &record.says else {
            return None;
        };
        let from = sender(record)?;
        let within = story.before(last, record) == Truth::Yes && story.before(end.by, record) != Truth::Yes;
        (is_key(story, key) && is_bare(record) && from != holder && within).then(|| (record, from.to_owned()))
    })
}

/// Another holder's value was set over a live one. In the file that Redis appends to, an expiry, an eviction and a deletion
/// would be lines of their own between the two, and a SET with NX would not be there at all; in a MONITOR capture the
/// command itself has no NX.
fn overwritten<'e>(story: &Story<'e>) -> Option<&'e Record> {
    let loss = story.loss.as_ref()?;
    let grant = story.grants.get(loss.grant?)?;
    let next = story.grants.get(loss.successor?)?;
    let end = grant.end?;
    let set = end.by;
    let last = grant.renewals.last().copied().unwrap_or(grant.begun);
    let other = grant.holder.is_some() && next.holder.is_some() && next.holder != grant.holder;
    if set.place != next.begun.place || last.place.file != set.place.file || !other {
        return None;
    }
    let words = command(set);
    let bare = words.starts_with("set ") && !words.split_whitespace().any(|word| word == "nx");
    ((is_applied(last) && is_applied(set)) || (is_bare(set) && bare)).then_some(set)
}

/// A record of every request, from the last renewal to the end of the lease, in which nobody deleted, moved or overwrote the
/// key: the store itself ended it before its time, and a server that was started anew or emptied would say so.
fn nobody_did_it(story: &Story<'_>) -> bool {
    let grant = story.loss.as_ref().and_then(|loss| story.grants.get(loss.grant?));
    let Some((grant, end)) = grant.and_then(|grant| Some((grant, grant.end?))) else {
        return false;
    };
    let last = grant.renewals.last().copied().unwrap_or(grant.begun);
    // In the file that Redis appends to, an eviction and a deletion are the same line.
    if !shows_every_command(last)
        || is_applied(last)
        || end.by.place.file != last.place.file
        || !by_store(story).is_yes()
    {
        return false;
    }
    !story.of(SourceKind::Store).any(|record| {
        let did = match &record.says {
            Says::Store(StoreSays::Deleted { key, .. } | StoreSays::DeleteAsked { key, .. }) => is_key(story, key),
            Says::Store(StoreSays::RenewalApplied { key, ttl, .. }) => {
                is_key(story, key) && ttl.is_some_and(|ttl| ttl.is_zero())
            }
            Says::Store(StoreSays::Moved { kind, .. }) => *kind != MoveKind::Eviction,
            _ => false,
        };
        did && story.before(record, last) != Truth::Yes && story.before(end.by, record) != Truth::Yes
    })
}

fn evicted<'e>(story: &Story<'e>) -> Option<&'e Record> {
    story.of(SourceKind::Store).find(|record| {
        matches!(&record.says, Says::Store(StoreSays::Counter { name, value }) if &**name == "evicted_keys" && *value > 0)
    })
}
