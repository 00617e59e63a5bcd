//! Silent retention: the owner acted after its lease was due, without acquiring anew.

use super::{Facts, evidence, of};
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::rule::LP004;
use leaseproof_model::truth::Truth;

pub(super) fn judge(facts: &Facts<'_, '_>) -> Vec<Finding> {
    let timeline = facts.timeline;
    facts
        .late
        .iter()
        .map(|run| {
            let owner = &timeline.owners[run.owner];
            let label = timeline.label(&timeline.grants[run.grant]);
            let named = run.acts(timeline).find_map(|act| act.says_from);
            let doubt = match (run.certainty, named) {
                (Truth::Yes, _) => String::new(),
                (_, Some(other)) => format!(
                    " (possibly: requests to this owner's URL say that {other} sent them; give each its own URL)"
                ),
                _ => " (possibly: the evidence does not decide it)".to_owned(),
            };
            let says = format!(
                "{} {}, without acquiring anew; it still acted on {label}{doubt}",
                owner.name,
                run.says(timeline)
            );
            let ids = evidence(run.evidence(timeline));
            of(
                owner,
                Finding::new(&LP004, Subject::Owner, run.certainty, run.cycle, says, ids),
            )
        })
        .collect()
}
