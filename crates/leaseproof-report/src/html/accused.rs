//! Which events a record's findings name, and which act is the first violation.

use crate::html::grants::Grant;
use crate::html::straddling::straddling;
use crate::moments::Record;
use crate::words;
use leaseproof_model::event::{Event, EventId, What};
use leaseproof_model::finding::Finding;
use leaseproof_model::verdict::ScenarioVerdict;
use std::collections::{BTreeMap, BTreeSet};

/// What the verdict says about a record's events.
#[derive(Debug, Default)]
pub(crate) struct Accused {
    /// Events that a finding names.
    pub(crate) by_findings: BTreeSet<EventId>,
    /// Events that a finding or a premise names.
    pub(crate) named: BTreeSet<EventId>,
    /// Acts that a finding which moved the verdict accuses, with the rules that do.
    pub(crate) acts: BTreeMap<EventId, Vec<String>>,
    /// The first of them, or the first thing that a breach names where no act is accused.
    pub(crate) first: Option<EventId>,
    /// The finding on the first violation: its rule, its owner and its own sentence.
    pub(crate) because: Option<Because>,
    /// Writes that were on their way when the lease ended.
    pub(crate) straddling: BTreeSet<EventId>,
    /// All that the findings on the first violation name, the story around it.
    pub(crate) story: Vec<EventId>,
}

/// What a finding says.
#[derive(Debug)]
pub(crate) struct Because {
    pub(crate) rule: String,
    pub(crate) owner: Option<String>,
    pub(crate) says: String,
}

impl Accused {
    pub(crate) fn new(scenario: &ScenarioVerdict, record: &Record<'_>, grants: &[Grant]) -> Self {
        let mut it = Self::default();
        it.by_findings
            .extend(scenario.findings.iter().flat_map(|finding| &finding.evidence));
        it.named.extend(&it.by_findings);
        it.named
            .extend(scenario.premises.iter().flat_map(|premise| &premise.evidence));
        let mut first: Option<(&Event, &Finding)> = None;
        for finding in scenario
            .findings
            .iter()
            .filter(|finding| words::weighs(scenario, finding))
        {
            let acts = accused_acts(finding, record, grants);
            for act in &acts {
                it.acts.entry(act.id).or_default().push(finding.rule.clone());
            }
            let start = acts
                .first()
                .copied()
                .or_else(|| finding.evidence.iter().rev().find_map(|id| record.event(*id)));
            if let Some(event) = start
                && first.is_none_or(|(other, _)| event.at.latest < other.at.latest)
            {
                first = Some((event, finding));
            }
        }
        if let Some((event, finding)) = first {
            it.first = Some(event.id);
            it.story.clone_from(&finding.evidence);
            it.because = Some(Because {
                rule: finding.rule.clone(),
                owner: finding.owner.clone(),
                says: finding.says.clone(),
            });
        }
        it.straddling = straddling(scenario, record, grants, &|id| it.acts.contains_key(&id));
        it
    }
}

/// The acts in a finding's evidence that happened while the store had the lease granted to somebody
/// else or to nobody; where the grants don't decide, the last act that it names.
fn accused_acts<'a>(finding: &Finding, record: &Record<'a>, grants: &[Grant]) -> Vec<&'a Event> {
    let acts: Vec<&Event> = finding
        .evidence
        .iter()
        .filter_map(|id| record.event(*id))
        .filter(|event| matches!(&event.what, What::Write(_) | What::Fill(_) | What::Said(_)))
        .filter(|event| {
            finding.owner.is_none() || finding.owner.as_deref() == event.owner.as_ref().map(|it| it.as_str())
        })
        .collect();
    let outside: Vec<&Event> = acts
        .iter()
        .copied()
        .filter(|event| {
            let owner = event.owner.as_ref().map(|it| it.as_str());
            let covered = grants.iter().any(|grant| {
                grant.owner.as_deref() == owner
                    && grant.from.earliest <= event.at.latest
                    && event.at.earliest <= grant.until.latest
            });
            !covered
        })
        .collect();
    if outside.is_empty() {
        acts.into_iter().next_back().into_iter().collect()
    } else {
        outside
    }
}
