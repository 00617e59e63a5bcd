//! The resource: it took a stale write, or its writes carry no token by which it could have refused one.

use super::{Draft, Part};
use crate::story::Story;
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::says::{Decision, ResourceSays, Says};
use leaseproof_model::diagnosis::{Boundary, Breach, Confidence, Seen};
use leaseproof_model::rule;

pub fn causes(story: &Story<'_>, breach: &Breach) -> Vec<Draft> {
    if let Some(stale) = breach.broken.iter().find(|it| it.rule == "LP002") {
        return vec![Draft {
            id: "fence-accepts-stale",
            rule: &rule::LP002,
            confidence: if stale.seen == Seen::Certainly {
                Confidence::Certain
            } else {
                Confidence::Possible
            },
            boundary: Boundary::Resource,
            part: Part::Ground,
            weight: 42,
            says: format!(
                "{}: it does not compare tokens, and was the last that could have prevented the harm",
                stale.says
            ),
            evidence: stale.evidence.clone(),
            against: Vec::new(),
        }];
    }
    let writes: Vec<(&Record, bool, Decision)> = story
        .of(SourceKind::Resource)
        .filter_map(|record| match &record.says {
            Says::Resource(ResourceSays::Write { token, decision, .. }) => Some((record, token.is_some(), *decision)),
            _ => None,
        })
        .collect();
    let bare: Vec<&Record> = writes
        .iter()
        .filter(|(_, token, _)| !token)
        .map(|(record, ..)| *record)
        .collect();
    if bare.is_empty() || bare.len() * 2 < writes.len() || story.loss.is_none() {
        return Vec::new();
    }
    vec![Draft {
        id: "unfenced",
        rule: &rule::LP024,
        confidence: Confidence::Likely,
        boundary: Boundary::Resource,
        part: Part::Ground,
        weight: 50,
        says: format!(
            "{} of {} writes at the resource carry no token: it could not have refused a stale one",
            bare.len(),
            writes.len()
        ),
        evidence: bare.into_iter().take(3).map(|record| story.cite(record)).collect(),
        against: Vec::new(),
    }]
}
