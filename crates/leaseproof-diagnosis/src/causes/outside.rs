//! The owner was stopped from outside: paused, frozen, stopped by a signal, by the word of who did it or of the kernel.
//!
//! For: such a record that fills the span between the last renewal and the end, of this owner. Against: lines of the
//! owner from inside that span.

use super::{Draft, Part, cite};
use crate::story::Story;
use crate::story::fit::{Fit, contradicted, fit, is_the_losers};
use crate::story::stop::{How, Stop, Who};
use crate::words::{clock, span};
use leaseproof_model::diagnosis::{Boundary, Cited, Confidence};
use leaseproof_model::rule;
use leaseproof_model::truth::Truth;

pub fn causes(story: &Story<'_>) -> Vec<Draft> {
    let paused = |stop: &&Stop<'_>| matches!(stop.how, How::Paused { .. }) && stop.who != Who::Store;
    let best = story
        .stops
        .iter()
        .filter(paused)
        .filter(|stop| fit(story, stop) != Fit::Apart)
        .max_by_key(|stop| (is_the_losers(story, stop) == Truth::Yes, fit(story, stop), stop.took));
    best.and_then(|stop| draft(story, stop)).into_iter().collect()
}

fn draft(story: &Story<'_>, stop: &Stop<'_>) -> Option<Draft> {
    let How::Paused { how } = &stop.how else { return None };
    let loser = is_the_losers(story, stop);
    let inside = story
        .loss
        .as_ref()
        .and_then(|loss| contradicted(story, stop, loss.owner?));
    let confidence = confidence(fit(story, stop), loser, inside.is_some())?;
    let who = match stop.who {
        Who::Owner(index) => story.owner_name(Some(index)),
        _ => who_by_line(stop),
    };
    let at = stop
        .began
        .map(|began| format!(" from {}", clock(began)))
        .unwrap_or_default();
    let mut evidence = cite(story, stop.lines.iter().copied());
    let (silent, suspects) = same_span(story, stop);
    evidence.extend(silent);
    evidence.extend(
        story
            .loss
            .iter()
            .flat_map(|loss| cite(story, loss.lines.iter().copied())),
    );
    let mut against: Vec<Cited> = inside
        .into_iter()
        .map(|record| story.cite_why(record, "the owner wrote this in the middle of the pause"))
        .collect();
    against.extend(suspects);
    Some(Draft {
        id: "stopped-from-outside",
        rule: &rule::LP025,
        confidence,
        boundary: Boundary::Runtime,
        part: Part::Trigger,
        weight: 20,
        says: format!("{who} was stopped from outside ({how}) for {}{at}", span(stop.took)),
        evidence,
        against,
    })
}

fn who_by_line(stop: &Stop<'_>) -> String {
    let author = stop.lines.first().map(|record| &record.author);
    author
        .and_then(|author| {
            author
                .container
                .as_deref()
                .or(author.process.as_deref())
                .map(str::to_owned)
        })
        .unwrap_or_else(|| "a process".to_owned())
}

/// How sure a stop with a record from outside is; `None`: it is another's.
pub fn confidence(fit: Fit, loser: Truth, contradicted: bool) -> Option<Confidence> {
    Some(match (fit, loser, contradicted) {
        (Fit::Apart, ..) | (_, Truth::No, _) => return None,
        (_, _, true) => Confidence::Possible,
        (Fit::Covers, Truth::Yes, _) => Confidence::Certain,
        (Fit::Covers, Truth::CannotTell, _) | (Fit::Unplaced, ..) => Confidence::Likely,
        (Fit::Partly, ..) => Confidence::Possible,
    })
}

/// What others say of the same span: silence that agrees, and runtime lines that claim it for themselves.
pub fn same_span(story: &Story<'_>, stop: &Stop<'_>) -> (Vec<Cited>, Vec<Cited>) {
    let (mut agree, mut suspects) = (Vec::new(), Vec::new());
    let Some(span_of) = stop.span() else {
        return (agree, suspects);
    };
    for other in &story.stops {
        let Some(at) = other.span() else { continue };
        let meets = at.earliest <= span_of.latest && at.latest >= span_of.earliest;
        let alike = other.took.abs_diff(stop.took) < stop.took / 3;
        if !meets
            || !alike
            || other.lines.first().map(|it| it.place) == stop.lines.first().map(|it| it.place)
            || other.who == Who::Store
        {
            continue;
        }
        match &other.how {
            How::Gap { .. } => {
                agree.extend(other.lines.iter().map(|record| {
                    story.cite_why(record, format!("nothing between these lines for {}", span(other.took)))
                }))
            }
            How::WokeLate { what } => {
                agree.extend(other.lines.iter().map(|record| story.cite_why(record, what.clone())))
            }
            How::Runtime { operation, .. } => suspects.extend(other.lines.iter().map(|record| {
                story.cite_why(
                    record,
                    format!(
                        "false suspect: `{operation}` claims {}, and the stop from outside fell into it",
                        span(other.took)
                    ),
                )
            })),
            _ => {}
        }
    }
    (agree, suspects)
}
