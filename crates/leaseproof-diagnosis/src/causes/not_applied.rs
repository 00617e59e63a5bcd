//! The owner logs renewals, and the store applied none: the fault is between the two.
//!
//! For: claims surely after the last renewal that the store's record has, and a record that shows renewals at all.

use super::{Draft, Part, cite};
use crate::story::Story;
use crate::story::act::ActKind;
use crate::story::grant::Grant;
use crate::story::sender::shows_every_command;
use crate::words::clock;
use leaseproof_evidence::record::Record;
use leaseproof_evidence::says::{OwnerSays, Says, StoreSays};
use leaseproof_evidence::when::nanos;
use leaseproof_model::diagnosis::{Boundary, Confidence};
use leaseproof_model::rule;
use leaseproof_model::truth::Truth;

pub fn causes(story: &Story<'_>) -> Vec<Draft> {
    let Some(loss) = &story.loss else { return Vec::new() };
    let Some(grant) = loss.grant.and_then(|index| story.grants.get(index)) else {
        return Vec::new();
    };
    let (Some(owner), Some(end)) = (grant.owner, grant.end) else {
        return Vec::new();
    };
    // By a clock that leapt, nothing of the record is before or after what its owner says.
    if super::clock_step::store_stepped(story).is_some() {
        return Vec::new();
    }
    // Of a session of which only the end is on record, its owner says when it began.
    let only_end = grant.begun.place == end.by.place;
    let acquired = || {
        story.owners.get(owner)?.says.iter().copied().rfind(|record| {
            matches!(record.says, Says::Owner(OwnerSays::Acquired { .. })) && story.before(record, end.by) == Truth::Yes
        })
    };
    let begun = match only_end {
        true => acquired().unwrap_or(grant.begun),
        false => grant.begun,
    };
    let last = grant.renewals.last().copied().unwrap_or(begun);
    let claims: Vec<&Record> = story
        .acts
        .iter()
        .filter(|act| act.owner == Some(owner) && act.kind == ActKind::Renewed)
        .map(|act| act.by)
        .filter(|record| story.before(last, record) == Truth::Yes)
        // The claim of the very renewal that the store has as its last one comes a little later.
        .skip(usize::from(!grant.renewals.is_empty()))
        .filter(|record| match (story.at(record), end.at) {
            (Some(at), Some(ended)) => at.before(ended) != Truth::No || end.by.place.file == record.place.file,
            _ => false,
        })
        .collect();
    let Some(first) = claims.first() else { return Vec::new() };
    let file = last.place.file;
    let shows = story
        .grants
        .iter()
        .any(|grant| grant.renewals.iter().any(|record| record.place.file == file));
    // A record that shows no renewals at all (a watch of the keys) shows that they were applied where the lease outlived
    // the TTL of its grant.
    if !shows && !ended_with_its_first_ttl(story, grant, begun) {
        return Vec::new();
    }
    // A record of every command would have had them; and a session that its server ended with the first time-out, by its
    // own word, had none of them.
    let first_ttl = ended_with_its_first_ttl(story, grant, begun);
    let by_server = matches!(end.by.says, Says::Store(StoreSays::SessionExpired { .. }));
    let shows = shows || (first_ttl && shows_every_command(last));
    let confidence = match (claims.len(), shows || (first_ttl && by_server)) {
        (2.., true) => Confidence::Certain,
        (_, true) | (2.., _) => Confidence::Likely,
        _ => Confidence::Possible,
    };
    if !shows && claims.len() < 2 {
        return Vec::new();
    }
    let mut evidence = cite(story, [last, end.by]);
    evidence.extend(
        claims
            .iter()
            .map(|record| story.cite_why(record, "the owner's word: the store has no such renewal")),
    );
    let at = story
        .at(first)
        .map(|at| format!(" from {}", clock(at)))
        .unwrap_or_default();
    vec![Draft {
        id: "renewal-not-applied",
        rule: &rule::LP005,
        confidence,
        boundary: Boundary::LockClient,
        part: Part::Trigger,
        weight: 12,
        says: format!(
            "{} logged {} renewals{at} of which the store applied none: the fault is between the two (another key, another server, an answer that is not read)",
            story.owner_name(Some(owner)),
            claims.len()
        ),
        evidence,
        against: Vec::new(),
    }]
}

/// It lived for one TTL from its beginning, and no longer.
fn ended_with_its_first_ttl(story: &Story<'_>, grant: &Grant<'_>, begun: &Record) -> bool {
    // Its first deadline is on record, and no other one.
    if grant.until.is_some() && grant.renewals.is_empty() {
        return true;
    }
    let ttl = grant.ttl.or(story.numbers.ttl.as_ref().map(|ttl| ttl.value));
    let (Some(ttl), Some(begun), Some(ended)) = (ttl, story.at(begun), grant.end.and_then(|end| end.at)) else {
        return false;
    };
    let slack = ttl / 4 + std::time::Duration::from_millis(500);
    ended.earliest <= begun.latest.saturating_add(nanos(ttl + slack))
}
