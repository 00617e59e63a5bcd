//! Renewals after the release, or after the work ended: the lease is held by nobody's work.

use super::{Draft, Part};
use crate::story::Story;
use crate::story::sender::sender;
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::says::{OwnerSays, Says, StoreSays};
use leaseproof_model::diagnosis::{Boundary, Confidence};
use leaseproof_model::rule;
use leaseproof_model::truth::Truth;
use std::time::Duration;

pub fn causes(story: &Story<'_>) -> Vec<Draft> {
    for (index, owner) in story.owners.iter().enumerate() {
        let released = owner
            .says
            .iter()
            .copied()
            .find(|record| matches!(record.says, Says::Owner(OwnerSays::Released { .. })));
        let Some(released) = released else { continue };
        let again = owner.says.iter().copied().find(|record| {
            matches!(record.says, Says::Owner(OwnerSays::Acquired { .. }))
                && story.before(released, record) == Truth::Yes
        });
        let mine: Vec<&str> = story
            .grants
            .iter()
            .filter(|grant| grant.owner == Some(index))
            // Whoever took it is its holder; that another renewed it, too, is that other's fault.
            .flat_map(|grant| match sender(grant.begun) {
                Some(holder) => vec![holder],
                None => grant.renewals.iter().copied().filter_map(sender).collect(),
            })
            .collect();
        let after: Vec<&Record> = story
            .of(SourceKind::Store)
            .filter(|record| matches!(&record.says, Says::Store(StoreSays::RenewalApplied { key, .. }) if crate::story::grant::is_key(story, key) || owner.is_called(key)))
            .filter(|record| sender(record).is_some_and(|it| mine.contains(&it)))
            .filter(|record| story.before(released, record) == Truth::Yes && again.is_none_or(|again| story.before(record, again) == Truth::Yes))
            .collect();
        // What another owner says that it sent at that moment is that other's, whatever connection the record names.
        let after: Vec<&Record> = after
            .into_iter()
            .filter(|record| !another_sent_it(story, index, record))
            .collect();
        if after.is_empty() {
            continue;
        }
        let mut evidence = vec![story.cite(released)];
        evidence.extend(
            after
                .iter()
                .map(|record| story.cite_why(record, "a renewal after its release")),
        );
        return vec![Draft {
            id: "renewal-outlives-work",
            rule: &rule::LP014,
            confidence: if after.len() >= 2 {
                Confidence::Certain
            } else {
                Confidence::Likely
            },
            boundary: Boundary::LockClient,
            part: Part::Defect,
            weight: 11,
            says: format!(
                "{} released the lease, and its renewals went on ({} of them): it is held by nobody's work",
                story.owner_name(Some(index)),
                after.len()
            ),
            evidence,
            against: Vec::new(),
        }];
    }
    Vec::new()
}

/// Another owner tells of a renewal at about that moment.
fn another_sent_it(story: &Story<'_>, owner: usize, renewal: &Record) -> bool {
    let Some(at) = story.at(renewal) else { return false };
    let near = at.widened(Duration::from_millis(300));
    story
        .owners
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != owner)
        .flat_map(|(_, other)| &other.says)
        .filter(|record| {
            matches!(
                record.says,
                Says::Owner(OwnerSays::Renewed { .. } | OwnerSays::RenewSent { .. })
            )
        })
        .filter_map(|record| story.at(record))
        .any(|said| said.earliest <= near.latest && said.latest >= near.earliest)
}
