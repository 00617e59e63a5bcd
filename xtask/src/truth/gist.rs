//! A verdict in short.

use crate::runs::Ran;
use leaseproof_model::truth::Truth;
use leaseproof_model::verdict::{RunVerdict, Verdict};
use std::collections::BTreeSet;

/// The codes that were found for sure.
pub fn codes(verdict: &RunVerdict) -> BTreeSet<String> {
    let scenarios = verdict.scenarios.iter().flat_map(|scenario| &scenario.findings);
    scenarios
        .filter(|finding| finding.certainty == Truth::Yes)
        .map(|finding| finding.rule.clone())
        .collect()
}

/// Whether the whole run can't tell.
pub fn is_cannot_tell(ran: &Ran) -> bool {
    ran.verdict
        .as_ref()
        .is_ok_and(|verdict| verdict.verdict == Verdict::CannotTell)
}

/// What kept it from being proven.
pub fn sore_points(verdict: &RunVerdict) -> String {
    let sore: Vec<String> = verdict
        .scenarios
        .iter()
        .filter(|scenario| scenario.verdict != Verdict::Proven)
        .map(|scenario| {
            let premises = scenario.premises.iter().filter(|premise| premise.holds != Truth::Yes);
            let premises: BTreeSet<_> = premises.map(|premise| premise.name.as_str()).collect();
            let findings: BTreeSet<_> = scenario.findings.iter().map(|finding| finding.rule.as_str()).collect();
            format!(
                "{} {} (premises {premises:?}, findings {findings:?})",
                scenario.id, scenario.verdict
            )
        })
        .collect();
    format!("{}: {}", verdict.verdict, sore.join("; "))
}
