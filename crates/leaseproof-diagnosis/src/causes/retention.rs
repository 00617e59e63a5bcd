//! The owner went on as the holder after its lease was over: it was never told, or it was told and went on.
//! Whatever cost the lease, this made the harm.

use super::{Draft, Part};
use leaseproof_model::diagnosis::{Boundary, Breach, Confidence, Seen};
use leaseproof_model::rule;

pub fn causes(breach: &Breach) -> Vec<Draft> {
    let of = |code: &str| breach.broken.iter().find(|it| it.rule == code);
    if let Some(told) = of("LP006") {
        return vec![Draft {
            id: "renewal-failure-swallowed",
            rule: &rule::LP006,
            confidence: Confidence::Certain,
            boundary: Boundary::LockClient,
            part: Part::Defect,
            weight: 34,
            says: told.says.clone(),
            evidence: told.evidence.clone(),
            against: Vec::new(),
        }];
    }
    // Without the store's record it is the next owner's word that tells when the lease was over.
    let Some(kept) = of("LP004").or_else(|| of("LP001")) else {
        return Vec::new();
    };
    vec![Draft {
        id: "silent-retention",
        rule: &rule::LP004,
        confidence: if kept.seen == Seen::Certainly {
            Confidence::Certain
        } else {
            Confidence::Possible
        },
        boundary: Boundary::LockClient,
        part: Part::Defect,
        weight: 35,
        says: format!(
            "{}: nothing in the client ended the work when the lease ended",
            kept.says
        ),
        evidence: kept.evidence.clone(),
        against: Vec::new(),
    }]
}
