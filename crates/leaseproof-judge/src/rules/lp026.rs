//! A write with the greatest token so far was rejected: the fence refuses the successor.

use super::{Facts, evidence};
use leaseproof_model::event::EventId;
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::name::{OwnerName, Token};
use leaseproof_model::rule::{Class, LP026};
use leaseproof_model::scenario::{ScenarioId, WitnessMode};
use leaseproof_model::truth::Truth;
use std::collections::BTreeSet;

pub(super) fn judge(facts: &Facts<'_, '_>) -> Vec<Finding> {
    let timeline = facts.timeline;
    let mut found: Vec<Finding> = Vec::new();
    let mut told = BTreeSet::new();
    let mut greatest: Option<(Token, Option<&OwnerName>, EventId)> = None;
    for (event, write) in &timeline.writes {
        let Some(token) = write.token else { continue };
        let owner = event.owner.as_ref().filter(|_| !write.replay);
        let refused = !write.accepted && write.mode == WitnessMode::Enforce;
        let legitimate = match &greatest {
            None => true,
            // An equal token is the same holder's next write; another's is a token used twice.
            Some((before, first, _)) => token > *before || (token == *before && *first == owner),
        };
        if refused && legitimate && told.insert(event.cycle) {
            let says = format!(
                "the resource rejected a write with token {token}, the greatest so far{}: its fence refuses the rightful holder",
                greatest
                    .map(|(before, ..)| format!(" (before it: {before})"))
                    .unwrap_or_default(),
            );
            let ids = evidence([Some(event.id), greatest.map(|(.., id)| id)].into_iter().flatten());
            let mut finding = Finding::new(&LP026, Subject::Resource, Truth::Yes, event.cycle, says, ids);
            // The self-check of the rig is a fence test.
            if timeline.ask.scenario == ScenarioId::StaleToken {
                finding.class = Class::Breach;
            }
            found.push(finding);
        }
        if greatest.is_none_or(|(before, ..)| token > before) {
            greatest = Some((token, owner, event.id));
        }
    }
    found
}
