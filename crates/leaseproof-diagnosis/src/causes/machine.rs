//! The machine slept or stood still: suspended, or a virtual machine that its host did not run.

use super::outside::{confidence, same_span};
use super::{Draft, Part, cite};
use crate::story::Story;
use crate::story::fit::{Fit, contradicted, fit, is_the_losers};
use crate::story::stop::{How, Stop};
use crate::words::{clock, span};
use leaseproof_model::diagnosis::{Boundary, Confidence};
use leaseproof_model::rule;
use leaseproof_model::truth::Truth;

pub fn causes(story: &Story<'_>) -> Vec<Draft> {
    let machine = |stop: &&Stop<'_>| matches!(stop.how, How::Suspended | How::MachineStalled { .. });
    let best = story
        .stops
        .iter()
        .filter(machine)
        .filter(|stop| fit(story, stop) != Fit::Apart)
        .max_by_key(|stop| (fit(story, stop), stop.took));
    best.and_then(|stop| draft(story, stop)).into_iter().collect()
}

fn draft(story: &Story<'_>, stop: &Stop<'_>) -> Option<Draft> {
    // A line names its host, or the owner's own silence does.
    let host = stop.lines.first().and_then(|record| record.author.host.clone());
    let hosts = story
        .loss
        .as_ref()
        .and_then(|loss| story.owners.get(loss.owner?))
        .map(|owner| &owner.hosts);
    let loser = match (&host, hosts) {
        (Some(host), Some(hosts)) if hosts.contains(host) => Truth::Yes,
        (Some(_), Some(hosts)) if !hosts.is_empty() => Truth::No,
        _ => is_the_losers(story, stop),
    };
    let inside = story
        .loss
        .as_ref()
        .and_then(|loss| contradicted(story, stop, loss.owner?));
    let confidence = confidence(fit(story, stop), loser, inside.is_some())?;
    let (id, what, confidence) = match &stop.how {
        How::Suspended => ("suspended", "the machine was suspended".to_owned(), confidence),
        // One CPU that is stuck need not be the owner's.
        How::MachineStalled { what } if what.starts_with("a CPU") => {
            ("machine-stalled", what.clone(), confidence.max(Confidence::Likely))
        }
        How::MachineStalled { what } => ("machine-stalled", what.clone(), confidence),
        _ => return None,
    };
    let at = stop
        .began
        .map(|began| format!(" from {}", clock(began)))
        .unwrap_or_default();
    let (agree, suspects) = same_span(story, stop);
    let mut evidence = cite(story, stop.lines.iter().copied());
    evidence.extend(agree);
    evidence.extend(
        story
            .loss
            .iter()
            .flat_map(|loss| cite(story, loss.lines.iter().copied())),
    );
    let mut against = suspects;
    against.extend(inside.map(|record| story.cite_why(record, "the owner wrote this in the middle of it")));
    Some(Draft {
        id,
        rule: &rule::LP025,
        confidence,
        boundary: Boundary::Runtime,
        part: Part::Trigger,
        weight: 20,
        says: format!("{what}, for {}{at}", span(stop.took)),
        evidence,
        against,
    })
}
