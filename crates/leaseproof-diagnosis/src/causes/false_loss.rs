//! The owner gave up a lease that the store still granted it.

use super::{Draft, Part};
use crate::story::Story;
use leaseproof_evidence::record::Record;
use leaseproof_evidence::says::{OwnerSays, Says};
use leaseproof_model::diagnosis::{Boundary, Confidence};
use leaseproof_model::rule;
use leaseproof_model::truth::Truth;

pub fn causes(story: &Story<'_>) -> Vec<Draft> {
    for (index, owner) in story.owners.iter().enumerate() {
        let failed_before = |lost: &Record| {
            owner.says.iter().any(|record| {
                matches!(
                    record.says,
                    Says::Owner(
                        OwnerSays::RenewalFailed { .. }
                            | OwnerSays::Disconnected { .. }
                            | OwnerSays::HeardNothing { .. }
                            | OwnerSays::SessionLost { .. }
                    )
                ) && story.before(record, lost) == Truth::Yes
            })
        };
        for lost in owner
            .says
            .iter()
            .copied()
            .filter(|record| matches!(record.says, Says::Owner(OwnerSays::Lost { .. })))
        {
            let held = story.grants.iter().find(|grant| {
                grant.owner == Some(index)
                    && grant.sure
                    && story.before(grant.begun, lost) == Truth::Yes
                    && match (grant.until, grant.end.and_then(|end| end.at), story.at(lost)) {
                        (Some(until), _, Some(at)) => {
                            at.before(until) == Truth::Yes
                                && grant.end.is_none_or(|end| story.before(lost, end.by) == Truth::Yes)
                        }
                        (None, Some(end), Some(at)) => at.before(end) == Truth::Yes,
                        _ => false,
                    }
            });
            let Some(grant) = held else { continue };
            if failed_before(lost) {
                continue;
            }
            let mut evidence = vec![
                story.cite(lost),
                story.cite_why(
                    grant.renewals.last().copied().unwrap_or(grant.begun),
                    "the store still granted it",
                ),
            ];
            evidence.extend(grant.end.map(|end| story.cite(end.by)));
            return vec![Draft {
                id: "false-loss",
                rule: &rule::LP016,
                // What another owner gave up cost this one nothing.
                confidence: match story.loss.as_ref().and_then(|loss| loss.owner) {
                    Some(loser) if loser != index => Confidence::Possible,
                    _ => Confidence::Likely,
                },
                boundary: Boundary::LockClient,
                part: Part::Trigger,
                weight: 12,
                says: format!(
                    "{} gave its lease up although no renewal had failed, and the store still granted it",
                    story.owner_name(Some(index))
                ),
                evidence,
                against: Vec::new(),
            }];
        }
    }
    Vec::new()
}
