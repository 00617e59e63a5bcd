//! The owner acts on a grant that the store never gave: a waiter whose place in the queue was gone.

use super::{Draft, Part, cite};
use crate::story::Story;
use crate::story::owner::stem;
use leaseproof_evidence::record::SourceKind;
use leaseproof_evidence::says::{OwnerSays, Says, StoreSays};
use leaseproof_model::diagnosis::{Boundary, Confidence};
use leaseproof_model::rule;
use leaseproof_model::truth::Truth;

pub fn causes(story: &Story<'_>) -> Vec<Draft> {
    for (index, owner) in story.owners.iter().enumerate() {
        for acquired in &owner.says {
            let Says::Owner(OwnerSays::Acquired { token, holder, .. }) = &acquired.says else {
                continue;
            };
            // Only a name or a token can be missed in the store's record.
            if token.is_none() && holder.is_none() {
                continue;
            }
            let known = story.grants.iter().any(|grant| {
                grant.owner == Some(index)
                    || (token.is_some() && grant.token == *token)
                    || holder
                        .as_ref()
                        .is_some_and(|holder| grant.holder.as_ref() == Some(holder))
            });
            // It was asked for there, and the record has no answers: it may well have been granted.
            let asked = story.of(SourceKind::Store).any(|record| {
                matches!(&record.says, Says::Store(StoreSays::Asked { holder: Some(holder), .. })
                    if owner.answers_to(holder) || holder.starts_with(stem(&owner.name)))
            });
            if asked {
                continue;
            }
            // One other, unchanged holder before it and after it, and the store's record goes on beyond.
            let other = story.grants.iter().find(|grant| {
                grant.sure
                    && !grant.is_session
                    && grant.owner != Some(index)
                    && grant.holder.is_some()
                    && story.before(grant.begun, acquired) == Truth::Yes
                    && (grant
                        .renewals
                        .iter()
                        .any(|renewal| story.before(acquired, renewal) == Truth::Yes)
                        || grant
                            .end
                            .is_some_and(|end| story.before(acquired, end.by) == Truth::Yes))
            });
            let (false, Some(other)) = (known, other) else { continue };
            let mut evidence = cite(story, [*acquired, other.begun]);
            evidence.extend(
                other
                    .renewals
                    .iter()
                    .copied()
                    .find(|renewal| story.before(acquired, renewal) == Truth::Yes)
                    .map(|record| story.cite_why(record, "the other's, before and after")),
            );
            return vec![Draft {
                id: "grant-not-in-store",
                rule: &rule::LP021,
                confidence: Confidence::Likely,
                boundary: Boundary::LockClient,
                part: Part::Defect,
                weight: 10,
                says: format!(
                    "{} says that it acquired the lease, and the store's record has no such grant: another held it throughout",
                    story.owner_name(Some(index))
                ),
                evidence,
                against: Vec::new(),
            }];
        }
    }
    Vec::new()
}
