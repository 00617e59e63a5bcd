//! The owner was held back by its CPU quota. It stretches renewals, and rarely stops them: it ranks below a stop.

use super::{Draft, Part, cite};
use crate::story::Story;
use crate::story::fit::{Fit, fit, is_the_losers};
use crate::story::stop::{How, Stop};
use crate::words::span;
use leaseproof_model::diagnosis::{Boundary, Confidence};
use leaseproof_model::rule;
use leaseproof_model::truth::Truth;

pub fn causes(story: &Story<'_>) -> Vec<Draft> {
    let throttled = |stop: &&Stop<'_>| matches!(stop.how, How::Throttled { .. });
    let best = story
        .stops
        .iter()
        .filter(throttled)
        .filter(|stop| fit(story, stop) != Fit::Apart)
        .max_by_key(|stop| (fit(story, stop), stop.took));
    best.and_then(|stop| draft(story, stop)).into_iter().collect()
}

fn draft(story: &Story<'_>, stop: &Stop<'_>) -> Option<Draft> {
    let How::Throttled { share } = stop.how else {
        return None;
    };
    let loser = is_the_losers(story, stop);
    let confidence = match (fit(story, stop), loser, share >= 0.85) {
        (_, Truth::No, _) => return None,
        (Fit::Covers, Truth::Yes, true) => Confidence::Certain,
        (Fit::Covers, ..) => Confidence::Likely,
        _ => Confidence::Possible,
    };
    let mut evidence = cite(story, stop.lines.iter().copied());
    evidence.extend(
        story
            .loss
            .iter()
            .flat_map(|loss| cite(story, loss.lines.iter().copied())),
    );
    Some(Draft {
        id: "throttled",
        rule: &rule::LP025,
        confidence,
        boundary: Boundary::Runtime,
        part: Part::Trigger,
        weight: 24,
        says: format!(
            "the CPU quota held the process back for {} ({:.0} % of the span between two looks)",
            span(stop.took),
            share * 100.0
        ),
        evidence,
        against: Vec::new(),
    })
}
