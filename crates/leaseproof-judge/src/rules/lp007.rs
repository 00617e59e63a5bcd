//! A pause longer than the margin: expected by the numbers, no bug in the code. Said only where it
//! explains a breach, or a loss that availability asked about.

use super::{Facts, evidence};
use crate::words::ms;
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::rule::LP007;
use leaseproof_model::scenario::ScenarioId;
use leaseproof_model::truth::Truth;
use std::collections::BTreeSet;

/// The breaches that a lost lease leads to. A missing TTL, a token used twice or a grant that never was
/// are there without a pause.
const OF_A_LOSS: &[&str] = &["LP001", "LP002", "LP004", "LP006", "LP009", "LP010", "LP011"];

pub(super) fn explain(facts: &Facts<'_, '_>, found: &[Finding], lost: &[u32]) -> Vec<Finding> {
    let timeline = facts.timeline;
    let budget = &timeline.ask.budget;
    let mut explained: BTreeSet<u32> = lost.iter().copied().collect();
    explained.extend(
        found
            .iter()
            .filter(|it| OF_A_LOSS.contains(&it.rule.as_str()))
            // Whoever fills a cache acts on no lease.
            .filter(|_| timeline.ask.scenario != ScenarioId::CacheFill)
            .map(|it| it.cycle),
    );
    let mut causes = Vec::new();
    for fault in timeline
        .faults
        .iter()
        .filter(|fault| fault.pauses() && explained.contains(&fault.cycle))
    {
        let (Some(began), Some(ended)) = (fault.began(), fault.ended()) else {
            continue;
        };
        let real = ended.earliest.since(began.latest);
        if real <= budget.margin() {
            continue;
        }
        let says = format!(
            "the pause took {}, and the budget leaves {} for one: losing the lease was expected, acting on it was not",
            ms(real),
            ms(budget.margin()),
        );
        let ids = evidence(fault.events().map(|event| event.id));
        causes.push(Finding::new(
            &LP007,
            Subject::Configuration,
            Truth::Yes,
            fault.cycle,
            says,
            ids,
        ));
    }
    causes
}
