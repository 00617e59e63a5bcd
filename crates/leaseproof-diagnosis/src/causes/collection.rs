//! The runtime stopped the owner itself: a collection, another safepoint. Or it only claims so, and somebody stopped it
//! from outside in the middle of one.
//!
//! For a false suspect: CPU time far below the length; neighbours of the same operation that took a fraction of it.

use super::outside::same_span;
use super::{Draft, Part, cite};
use crate::story::Story;
use crate::story::fit::{Fit, contradicted, fit, is_the_losers};
use crate::story::stop::{FalseSuspect, How, Stop, Who};
use crate::words::{clock, span};
use leaseproof_evidence::record::SourceKind;
use leaseproof_evidence::says::{RuntimeSays, Says};
use leaseproof_model::diagnosis::{Boundary, Cited, Confidence};
use leaseproof_model::rule;
use leaseproof_model::truth::Truth;

pub fn causes(story: &Story<'_>) -> Vec<Draft> {
    let runtime =
        |stop: &&Stop<'_>| matches!(stop.how, How::Runtime { .. } | How::AllocationStall) && stop.who != Who::Store;
    let best = story
        .stops
        .iter()
        .filter(runtime)
        .filter(|stop| fit(story, stop) != Fit::Apart)
        .max_by_key(|stop| (is_the_losers(story, stop) != Truth::No, fit(story, stop), stop.took));
    best.and_then(|stop| draft(story, stop)).into_iter().collect()
}

fn draft(story: &Story<'_>, stop: &Stop<'_>) -> Option<Draft> {
    let fits = fit(story, stop);
    let loser = is_the_losers(story, stop);
    if loser == Truth::No {
        return None;
    }
    let inside = story
        .loss
        .as_ref()
        .and_then(|loss| contradicted(story, stop, loss.owner?));
    let suspect = stop.is_false_suspect();
    let outside = outside_record(story, stop);
    if outside.is_some() {
        // Who did it has said so: that cause names this one as its false suspect.
        return None;
    }
    let (agree, _) = same_span(story, stop);
    let at = stop
        .ended
        .map(|ended| format!(", over at {}", clock(ended)))
        .unwrap_or_default();
    let operation = match &stop.how {
        How::Runtime { operation, .. } => operation.to_string(),
        _ => "an allocation stall".to_owned(),
    };
    let mut evidence = cite(story, stop.lines.iter().copied());
    let mut against: Vec<Cited> = inside
        .into_iter()
        .map(|record| story.cite_why(record, "the owner wrote this in the middle of the stop"))
        .collect();
    if let Some(suspect) = suspect {
        evidence.extend(neighbours(story, stop));
        evidence.extend(agree);
        evidence.extend(
            story
                .loss
                .iter()
                .flat_map(|loss| cite(story, loss.lines.iter().copied())),
        );
        against.extend(stop.lines.iter().map(|record| {
            story.cite_why(
                record,
                format!("false suspect: the log claims {} of `{operation}`", span(stop.took)),
            )
        }));
        let both = suspect.cpu.is_some() && suspect.usual.is_some();
        let confidence = match (
            fits,
            suspect.cpu.is_some() || suspect.usual.is_some_and(|(count, _)| count >= 10),
            loser,
            against.len(),
        ) {
            (Fit::Covers, true, Truth::Yes, _) if story.loss.is_some() && contradicts_nothing(story, stop) => {
                Confidence::Certain
            }
            (Fit::Partly, ..) => Confidence::Possible,
            _ => Confidence::Likely,
        };
        return Some(Draft {
            id: "stopped-inside-collection",
            rule: &rule::LP025,
            confidence,
            boundary: Boundary::Runtime,
            part: Part::Trigger,
            weight: 21,
            says: format!(
                "the process was {} for about {}{at}, in the middle of `{operation}`: {}; the collection is a false suspect",
                if both {
                    "stopped from outside"
                } else {
                    "stopped from outside, or kept from its CPU or its memory,"
                },
                span(stop.took),
                why(&suspect)
            ),
            evidence,
            against,
        });
    }
    evidence.extend(agree);
    evidence.extend(
        story
            .loss
            .iter()
            .flat_map(|loss| cite(story, loss.lines.iter().copied())),
    );
    let own = is_own(stop);
    let confidence = match (fits, loser, own, against.is_empty()) {
        (_, _, _, false) | (Fit::Partly, ..) => Confidence::Possible,
        (Fit::Covers, Truth::Yes, true, _) => Confidence::Certain,
        (Fit::Apart, ..) => return None,
        (Fit::Unplaced, ..) if stop.took < std::time::Duration::from_secs(1) => Confidence::Possible,
        _ => Confidence::Likely,
    };
    Some(match &stop.how {
        How::AllocationStall => Draft {
            id: "allocation-stall",
            rule: &rule::LP025,
            confidence: confidence.max(Confidence::Likely),
            boundary: Boundary::Runtime,
            part: Part::Trigger,
            weight: 26,
            says: format!(
                "a thread waited {} for memory{at}: the others ran, and it may have been the one that renews",
                span(stop.took)
            ),
            evidence,
            against,
        },
        How::Runtime {
            reaching: Some(reaching),
            ..
        } if *reaching > stop.took / 2 => Draft {
            id: "slow-to-safepoint",
            rule: &rule::LP025,
            confidence,
            boundary: Boundary::Runtime,
            part: Part::Trigger,
            weight: 22,
            says: format!(
                "the program's threads stood still for {}{at}, of which {} were spent waiting for one thread to reach the safepoint (`{operation}`): a thread that was not scheduled, or a long loop, and not the collection",
                span(stop.took),
                span(*reaching)
            ),
            evidence,
            against,
        },
        _ => Draft {
            id: "collection",
            rule: &rule::LP025,
            confidence,
            boundary: Boundary::Runtime,
            part: Part::Trigger,
            weight: 22,
            says: format!(
                "the runtime stopped the program itself for {}{at}: `{operation}`",
                span(stop.took)
            ),
            evidence,
            against,
        },
    })
}

/// The collection really worked for that long: by its CPU time, or since its neighbours take as long.
fn is_own(stop: &Stop<'_>) -> bool {
    let How::Runtime { cpu, usual, .. } = &stop.how else {
        return false;
    };
    let worked = cpu.is_some_and(|cpu| (cpu.user + cpu.sys) * 2 >= cpu.real);
    let as_usual = usual.is_some_and(|(count, median, _)| count >= 4 && stop.took <= median * 3);
    worked || (as_usual && cpu.is_none_or(|cpu| (cpu.user + cpu.sys) * 2 >= cpu.real))
}

fn contradicts_nothing(story: &Story<'_>, stop: &Stop<'_>) -> bool {
    story
        .loss
        .as_ref()
        .and_then(|loss| contradicted(story, stop, loss.owner?))
        .is_none()
}

/// A record from outside that covers the same span.
fn outside_record<'s, 'e>(story: &'s Story<'e>, stop: &Stop<'_>) -> Option<&'s Stop<'e>> {
    let at = stop.span()?;
    story
        .stops
        .iter()
        .filter(|other| other.is_from_outside() && other.who != Who::Store && !matches!(other.how, How::Killed { .. }))
        .find(|other| {
            other.span().is_some_and(|other| {
                let overlap = other
                    .latest
                    .min(at.latest)
                    .saturating_sub(other.earliest.max(at.earliest));
                overlap > at.latest.saturating_sub(at.earliest) / 2
            }) && is_the_losers(story, other) != Truth::No
        })
}

fn why(suspect: &FalseSuspect) -> String {
    let cpu = suspect.cpu.map(|cpu| {
        format!(
            "it used {} of CPU in {} of wall",
            span(cpu.user + cpu.sys),
            span(cpu.real)
        )
    });
    let usual = suspect.usual.map(|(count, median)| {
        format!(
            "its {} neighbours of the same kind took about {}",
            count.saturating_sub(1),
            span(median)
        )
    });
    [usual, cpu].into_iter().flatten().collect::<Vec<_>>().join(", and ")
}

/// Two neighbours of the same operation, for the eye.
fn neighbours(story: &Story<'_>, stop: &Stop<'_>) -> Vec<Cited> {
    let How::Runtime { operation, .. } = &stop.how else {
        return Vec::new();
    };
    let Some(line) = stop.lines.first().map(|record| record.place.line) else {
        return Vec::new();
    };
    let mut same: Vec<_> = story
        .of(SourceKind::Runtime)
        .filter(|record| record.place.file == stop.file)
        .filter_map(|record| match &record.says {
            Says::Runtime(RuntimeSays::Stop {
                took, operation: other, ..
            }) if other == operation && *took < stop.took / 4 => {
                Some((record.place.line.abs_diff(line), record, *took))
            }
            _ => None,
        })
        .collect();
    same.sort_by_key(|(apart, ..)| *apart);
    same.into_iter()
        .take(2)
        .map(|(_, record, took)| story.cite_why(record, format!("a neighbour of the same kind: {}", span(took))))
        .collect()
}
