//! A renewal that does not check who holds: it extended another's lease, or brought back one that was over.

use super::{Draft, Part};
use crate::story::Story;
use crate::story::sender::sender;
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::says::{Says, StoreSays};
use leaseproof_model::diagnosis::{Boundary, Confidence};
use leaseproof_model::rule;
use std::collections::BTreeSet;

pub fn causes(story: &Story<'_>) -> Vec<Draft> {
    extended_anothers(story)
        .or_else(|| revived(story))
        .into_iter()
        .collect()
}

/// Renewals of one grant by two senders, of whom one had sent those of an earlier grant.
fn extended_anothers(story: &Story<'_>) -> Option<Draft> {
    for (index, grant) in story.grants.iter().enumerate() {
        let own = sender(grant.begun);
        for before in story
            .grants
            .get(..index)?
            .iter()
            .filter(|before| before.key == grant.key && before.holder != grant.holder)
        {
            let earlier: BTreeSet<&str> = before
                .renewals
                .iter()
                .copied()
                .chain([before.begun])
                .filter_map(sender)
                .collect();
            let foreign: Vec<&Record> = grant
                .renewals
                .iter()
                .copied()
                .filter(|record| sender(record).is_some_and(|it| earlier.contains(it) && Some(it) != own))
                .collect();
            let others: BTreeSet<&str> = grant.renewals.iter().copied().filter_map(sender).collect();
            if let Some(first) = foreign.first() {
                let sure = own.is_some() || others.len() >= 2;
                let mut evidence = vec![story.cite(before.begun), story.cite(grant.begun)];
                evidence.extend(
                    foreign
                        .iter()
                        .map(|record| story.cite_why(record, "it extends a lease that is another's by now")),
                );
                return Some(Draft {
                    id: "unconditional-renew",
                    rule: &rule::LP010,
                    confidence: if sure { Confidence::Certain } else { Confidence::Likely },
                    boundary: Boundary::LockClient,
                    part: Part::Defect,
                    weight: 10,
                    says: format!(
                        "{} renewed `{}` {} times after it had become another's: its renewal does not check who holds, and both believe that they do",
                        before.owner.map_or_else(
                            || sender(first).unwrap_or("a client").to_owned(),
                            |owner| story.owner_name(Some(owner))
                        ),
                        grant.key,
                        foreign.len()
                    ),
                    evidence,
                    against: Vec::new(),
                });
            }
        }
    }
    None
}

/// A renewal was applied to a key that had ended, and nobody had acquired it.
fn revived(story: &Story<'_>) -> Option<Draft> {
    let mut over: Option<(&Record, &str)> = None;
    for record in story.of(SourceKind::Store) {
        let Says::Store(said) = &record.says else { continue };
        match said {
            StoreSays::Expired { key } | StoreSays::Deleted { key, .. } if crate::story::grant::is_key(story, key) => {
                over = Some((record, key))
            }
            StoreSays::Granted { .. } | StoreSays::Asked { .. } | StoreSays::Held { holder: Some(_), .. } => {
                over = None
            }
            StoreSays::RenewalApplied { key, .. } => {
                if let Some((end, ended)) = over
                    && **key == *ended
                    && end.place.file == record.place.file
                {
                    return Some(Draft {
                        id: "unconditional-renew",
                        rule: &rule::LP010,
                        confidence: Confidence::Certain,
                        boundary: Boundary::LockClient,
                        part: Part::Defect,
                        weight: 10,
                        says: format!(
                            "a late renewal brought `{key}` back after it had ended: it does not check that the lease still is there"
                        ),
                        evidence: vec![story.cite(end), story.cite(record)],
                        against: Vec::new(),
                    });
                }
            }
            _ => {}
        }
    }
    None
}
