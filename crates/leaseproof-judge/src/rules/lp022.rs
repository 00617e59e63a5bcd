//! The TTL in force is not the one configured.

use super::{Facts, evidence, of};
use crate::timeline::By;
use crate::words::ms;
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::rule::LP022;
use leaseproof_model::truth::Truth;
use std::collections::BTreeSet;
use std::time::Duration;

/// Rounding of stores that count in milliseconds, and the slowness of an acquire.
const TOLERANCE: Duration = Duration::from_millis(25);

pub(super) fn judge(facts: &Facts<'_, '_>) -> Vec<Finding> {
    let timeline = facts.timeline;
    let asked = timeline.ask.budget.ttl;
    let tolerance = TOLERANCE + timeline.ask.store.early_slack;
    // What an acquire of several steps takes is cut off its TTL: as long as an owner waits for an answer.
    let steps = match timeline.ask.store.grants_in_steps {
        true => timeline.ask.budget.renew_timeout,
        false => Duration::ZERO,
    };
    let mut told = BTreeSet::new();
    let mut found = Vec::new();
    for grant in &timeline.grants {
        let By::Owner(owner) = grant.by else { continue };
        if grant.without_ttl.is_some() || grant.revives.is_some() {
            continue;
        }
        let (least, most) = match (grant.ttl, grant.first_expiry, grant.bound) {
            // A grant may be seen long after it was made: a slow commit, a slow answer. What the store states is not cut by that.
            (Some(ttl), ..) => (ttl, ttl),
            (None, Some(expires), _) => (
                expires.earliest.since(grant.begin.latest),
                expires.latest.since(grant.begin.earliest),
            ),
            (None, None, Some(most)) if timeline.ask.store.is_only_the_most(most) => continue,
            (None, None, Some(ttl)) => (ttl, ttl),
            (None, None, None) => continue,
        };
        if (least > asked + tolerance || most + tolerance + steps < asked) && told.insert(owner) {
            let says = format!(
                "{} got its lease for {}, and the plan says {}",
                timeline.owners[owner].name,
                ms(if least > asked { least } else { most }),
                ms(asked),
            );
            let ids = evidence([grant.first.id]);
            let finding = Finding::new(&LP022, Subject::Configuration, Truth::Yes, grant.first.cycle, says, ids);
            found.push(of(&timeline.owners[owner], finding));
        }
    }
    found
}
