//! A release that does not check who holds: it deleted another's lease.

use super::{Draft, Part};
use crate::story::Story;
use crate::story::sender::{command, is_bare, sender};
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::says::{Says, StoreSays};
use leaseproof_model::diagnosis::{Boundary, Confidence};
use leaseproof_model::rule;
use leaseproof_model::truth::Truth;

pub fn causes(story: &Story<'_>) -> Vec<Draft> {
    let deletes = story.of(SourceKind::Store).filter(|record| match &record.says {
        Says::Store(StoreSays::DeleteAsked { key, .. }) => crate::story::grant::is_key(story, key),
        Says::Store(StoreSays::Deleted { key, by: Some(_), .. }) => crate::story::grant::is_key(story, key),
        _ => false,
    });
    deletes
        .filter_map(|record| draft(story, record))
        .min_by_key(|draft| draft.confidence)
        .into_iter()
        .collect()
}

fn draft(story: &Story<'_>, delete: &Record) -> Option<Draft> {
    let from = sender(delete)?;
    if command(delete).is_empty() || !is_bare(delete) {
        return None;
    }
    let current = story.grants.iter().rfind(|grant| {
        story.before(grant.begun, delete) == Truth::Yes
            && grant
                .end
                .is_none_or(|end| story.before(end.by, delete) != Truth::Yes || end.by.place == delete.place)
    })?;
    let holder = sender(current.begun)?;
    if holder == from {
        return None;
    }
    let earlier = story.grants.iter().find(|grant| {
        grant.key == current.key
            && grant.begun.place != current.begun.place
            && sender(grant.begun) == Some(from)
            && story.before(grant.begun, current.begun) == Truth::Yes
    })?;
    Some(Draft {
        id: "unconditional-release",
        rule: &rule::LP011,
        confidence: Confidence::Certain,
        boundary: Boundary::LockClient,
        part: Part::Defect,
        weight: 10,
        says: format!(
            "{} deleted `{}` while it was {}'s: its release does not check who holds",
            earlier
                .owner
                .map_or_else(|| from.to_owned(), |owner| story.owner_name(Some(owner))),
            current.key,
            current.owner.map_or_else(
                || current.holder.as_deref().unwrap_or("another").to_owned(),
                |owner| story.owner_name(Some(owner))
            )
        ),
        evidence: vec![
            story.cite(earlier.begun),
            story.cite(current.begun),
            story.cite_why(delete, "a bare DEL, by one that no longer holds"),
        ],
        against: Vec::new(),
    })
}
