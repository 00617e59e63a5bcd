//! The client's renewal stopped at its first failure, with one line or none, and the work was not told: known by its text.

use super::{Draft, Part, cite};
use crate::story::Story;
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::says::{OwnerSays, Says, StoreSays};
use leaseproof_model::diagnosis::{Boundary, Confidence};
use leaseproof_model::rule;
use leaseproof_model::truth::Truth;

/// Texts with which a client's renewal ends for good: the text, the client, what it does.
const TEXTS: &[(&str, &str, &str)] = &[
    (
        "Can't update lock ",
        "Redisson up to 3.43",
        "drops the entry at the first failed renewal and renews never again",
    ),
    (
        "NotAcquired",
        "python-redis-lock",
        "ends its renewal thread, and does not tell the work",
    ),
];

pub fn causes(story: &Story<'_>) -> Vec<Draft> {
    for (index, owner) in story.owners.iter().enumerate() {
        for record in &owner.says {
            let Says::Owner(OwnerSays::RenewalFailed { why, .. }) = &record.says else {
                continue;
            };
            let Some((_, client, does)) = TEXTS
                .iter()
                .find(|(text, ..)| record.raw.contains(text) || why.contains(text))
            else {
                continue;
            };
            let after: Vec<&Record> = story
                .of(SourceKind::Store)
                .filter(|it| matches!(&it.says, Says::Store(StoreSays::RenewalApplied { key, .. }) if crate::story::grant::is_key(story, key)))
                .filter(|it| story.before(record, it) == Truth::Yes)
                .collect();
            let seen_before = story
                .grants
                .iter()
                .any(|grant| grant.owner == Some(index) && !grant.renewals.is_empty());
            // Only where the store refused does the text itself say that the lease was over before.
            let was_over = client.starts_with("python");
            let confidence = match (after.is_empty(), seen_before, was_over) {
                (_, _, true) => Confidence::Likely,
                (true, true, false) => Confidence::Certain,
                (true, false, false) => Confidence::Likely,
                (false, ..) => Confidence::Possible,
            };
            let mut evidence = vec![story.cite_why(record, format!("{client} {does}"))];
            evidence.extend(
                story
                    .loss
                    .iter()
                    .flat_map(|loss| cite(story, loss.lines.iter().copied())),
            );
            return vec![Draft {
                id: "watchdog-stopped",
                rule: &rule::LP006,
                confidence,
                boundary: Boundary::LockClient,
                part: if was_over { Part::Defect } else { Part::Trigger },
                weight: if was_over { 33 } else { 13 },
                says: format!("the client's own renewal stopped for good: {client} {does}"),
                evidence,
                against: cite(story, after.into_iter().take(2)),
            }];
        }
    }
    Vec::new()
}
