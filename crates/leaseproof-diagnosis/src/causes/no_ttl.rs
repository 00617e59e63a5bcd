//! A lease without a TTL: taken in two steps, and the second never came. Nobody gets it any more.

use super::{Draft, Part};
use crate::story::Story;
use crate::story::sender::command;
use leaseproof_model::diagnosis::{Boundary, Confidence};
use leaseproof_model::rule;

pub fn causes(story: &Story<'_>) -> Vec<Draft> {
    let found = story.grants.iter().find(|grant| {
        let words = command(grant.begun);
        let mut parts = words.split_whitespace();
        let bare = match parts.next() {
            Some("setnx") => true,
            Some("set") => !parts.any(|word| matches!(word, "px" | "ex" | "pxat" | "exat" | "keepttl")),
            _ => false,
        };
        bare && grant.ttl.is_none() && grant.until.is_none()
    });
    let Some(grant) = found else { return Vec::new() };
    // With an EXPIRE behind it, it is not atomic, and was lucky.
    let lucky = !grant.renewals.is_empty();
    vec![Draft {
        id: "unsafe-acquire",
        rule: &rule::LP012,
        confidence: if lucky {
            Confidence::Possible
        } else {
            Confidence::Certain
        },
        boundary: Boundary::LockClient,
        part: Part::Defect,
        weight: if lucky { 55 } else { 10 },
        says: if lucky {
            format!(
                "`{}` is taken in two steps, the TTL second: an owner that dies between them leaves a lease for ever",
                grant.key
            )
        } else {
            format!(
                "`{}` was taken without a TTL, and none was set after: it never ends by itself",
                grant.key
            )
        },
        evidence: std::iter::once(grant.begun)
            .chain(grant.renewals.first().copied())
            .map(|record| story.cite(record))
            .collect(),
        against: Vec::new(),
    }]
}
