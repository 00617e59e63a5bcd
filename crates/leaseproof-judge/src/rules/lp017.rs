//! The store lost or moved the lease: its epoch changed, or its clock stepped, and a live grant was gone.

use super::{Facts, evidence};
use crate::timeline::EndKind;
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::rule::LP017;
use leaseproof_model::truth::Truth;

pub(super) fn judge(facts: &Facts<'_, '_>) -> Vec<Finding> {
    let grants = facts.timeline.grants.iter();
    grants
        .filter_map(|grant| Some((grant, grant.end.filter(|end| end.kind == EndKind::LostByStore)?)))
        .map(|(grant, end)| {
            let says = format!(
                "the store's epoch changed or its clock stepped, and {} was gone before its expiry",
                grant.label()
            );
            let ids = evidence([grant.first.id, end.event]);
            Finding::new(&LP017, Subject::Store, Truth::Yes, grant.first.cycle, says, ids)
        })
        .collect()
}
