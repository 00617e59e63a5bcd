//! The owner was killed while it held the lease: for want of memory, or by a signal.

use super::{Draft, Part, cite};
use crate::story::Story;
use crate::story::fit::{Fit, fit, is_the_losers};
use crate::story::stop::{How, Stop, Who};
use crate::words::clock;
use leaseproof_evidence::when::Interval;
use leaseproof_model::diagnosis::{Boundary, Confidence};
use leaseproof_model::rule;
use leaseproof_model::truth::Truth;

pub fn causes(story: &Story<'_>) -> Vec<Draft> {
    let killed = |stop: &&Stop<'_>| matches!(stop.how, How::Killed { .. }) && stop.who != Who::Store;
    let best = story
        .stops
        .iter()
        .filter(killed)
        .filter(|stop| fit(story, stop) != Fit::Apart)
        .max_by_key(|stop| {
            (
                is_the_losers(story, stop) == Truth::Yes,
                fit(story, stop),
                matches!(stop.how, How::Killed { memory: true, .. }),
            )
        });
    best.and_then(|stop| draft(story, stop)).into_iter().collect()
}

fn draft(story: &Story<'_>, stop: &Stop<'_>) -> Option<Draft> {
    let How::Killed { why, memory } = &stop.how else {
        return None;
    };
    let loser = is_the_losers(story, stop);
    if loser == Truth::No {
        return None;
    }
    // What the owner still wrote after its death speaks against it: unless it was started anew.
    let after = story.loss.as_ref().and_then(|loss| {
        let died: Interval = stop.ended?;
        let owner = story.owners.get(loss.owner?)?;
        let window = loss.window(story)?;
        owner.says.iter().copied().find(|record| {
            story
                .at(record)
                .is_some_and(|at| died.before(at) == Truth::Yes && at.latest <= window.latest)
        })
    });
    let confidence = match (fit(story, stop), loser, after) {
        (_, _, Some(_)) => Confidence::Possible,
        (Fit::Covers, Truth::Yes, None) => Confidence::Certain,
        (Fit::Covers | Fit::Unplaced, ..) => Confidence::Likely,
        _ => Confidence::Possible,
    };
    let mut evidence = cite(story, stop.lines.iter().copied());
    evidence.extend(
        story
            .loss
            .iter()
            .flat_map(|loss| cite(story, loss.lines.iter().copied())),
    );
    let at = stop.began.map(|at| format!(" at {}", clock(at))).unwrap_or_default();
    Some(Draft {
        id: if *memory { "out-of-memory" } else { "killed" },
        rule: &rule::LP025,
        confidence,
        boundary: Boundary::Runtime,
        part: Part::Trigger,
        weight: if *memory { 20 } else { 23 },
        says: if *memory {
            format!("{why}{at}")
        } else {
            format!("the process was killed{at} ({why})")
        },
        evidence,
        against: after
            .map(|record| story.cite_why(record, "the owner wrote this after it"))
            .into_iter()
            .collect(),
    })
}
