//! A grant without a TTL was seen: if its owner ends now, the key stays for ever.

use super::{Facts, evidence, of};
use crate::timeline::By;
use crate::words::ms;
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::rule::LP012;
use leaseproof_model::truth::Truth;
use std::collections::BTreeSet;

pub(super) fn judge(facts: &Facts<'_, '_>) -> Vec<Finding> {
    let timeline = facts.timeline;
    let mut found = Vec::new();
    let mut said: BTreeSet<(u32, Option<usize>)> = BTreeSet::new();
    for grant in timeline.grants.iter().filter(|grant| grant.by != By::Lab) {
        let Some(seen) = grant.without_ttl else { continue };
        let owner = match grant.by {
            By::Owner(owner) => Some(owner),
            _ => None,
        };
        if !said.insert((grant.first.cycle, owner)) {
            continue;
        }
        let later = grant.extensions.first();
        let says = match later {
            Some(change) => format!(
                "{} stood without a TTL, and got one up to {} later: acquire is not atomic",
                timeline.label(grant),
                ms(change
                    .at
                    .latest
                    .since(grant.begin.earliest.max(grant.first.at.earliest))),
            ),
            None => format!(
                "{} stood without a TTL: if its owner ends, nobody ever gets the lease",
                timeline.label(grant)
            ),
        };
        let ids = evidence(
            [Some(grant.first.id), Some(seen), later.map(|change| change.event)]
                .into_iter()
                .flatten(),
        );
        let finding = Finding::new(&LP012, Subject::Owner, Truth::Yes, grant.first.cycle, says, ids);
        found.push(match owner {
            Some(owner) => of(&timeline.owners[owner], finding),
            None => finding,
        });
    }
    found
}
