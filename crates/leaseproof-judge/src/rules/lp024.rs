//! Writes carry no token, or the token is no ordered number. A breach where the plan requires tokens.

use super::{Facts, evidence, of};
use crate::words::count;
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::rule::{Class, LP024};
use leaseproof_model::truth::Truth;

pub(super) fn judge(facts: &Facts<'_, '_>) -> Vec<Finding> {
    let timeline = facts.timeline;
    let mut found = Vec::new();
    for owner in &timeline.owners {
        let unfenced: Vec<_> = owner
            .writes
            .iter()
            .map(|place| timeline.writes[*place])
            .filter(|(_, write)| write.token.is_none())
            .collect();
        let Some((first, write)) = unfenced.first() else {
            continue;
        };
        let how = match &write.bad_token {
            Some(_) => "a token that is no ordered number",
            None => "no token",
        };
        let says = format!(
            "{} of {} carried {how}: no resource can tell a stale one from a good one",
            count(unfenced.len(), "write"),
            owner.name,
        );
        let ids = evidence(unfenced.iter().take(3).map(|(event, _)| event.id));
        let mut finding = Finding::new(&LP024, Subject::Owner, Truth::Yes, first.cycle, says, ids);
        if timeline.ask.require_token {
            finding.class = Class::Breach;
        }
        found.push(of(owner, finding));
    }
    found
}
