//! The store stood still, and expired healthy leases when it woke.
//!
//! For: its own words, its container's, its file's gap, over the span in which the lease ran out; a client that gave up
//! after two thirds of its time-out, which one that does not run can't. Against: work of the store in that span.

use super::network::{in_time, others_too, owner_words};
use super::{Draft, Part, cite};
use crate::story::Story;
use crate::story::asking::told_of_no_answer;
use crate::story::fit::{Fit, fit, outlived, overdue, owner_ran, store_worked};
use crate::story::stop::{How, Stop, Who};
use crate::words::{clock, span};
use leaseproof_evidence::record::Record;
use leaseproof_evidence::says::{Definite, OwnerSays, Says};
use leaseproof_evidence::when::{Interval, nanos};
use leaseproof_model::diagnosis::{Boundary, Confidence};
use leaseproof_model::rule;
use std::time::Duration;

pub fn causes(story: &Story<'_>) -> Vec<Draft> {
    let store = |stop: &&Stop<'_>| stop.who == Who::Store && !matches!(stop.how, How::Killed { .. });
    let best = story
        .stops
        .iter()
        .filter(store)
        .filter(|stop| fit(story, stop) != Fit::Apart)
        .max_by_key(|stop| (fit(story, stop), positive(stop), stop.took));
    let stood = best.and_then(|stop| draft(story, stop));
    stood
        .or_else(|| overdue_end(story))
        .or_else(|| nobody_heard(story))
        .into_iter()
        .collect()
}

/// No line says that it stood still: but several owners lost touch with it at once, and ran.
fn nobody_heard(story: &Story<'_>) -> Option<Draft> {
    let words = owner_words(story);
    let ran = owner_ran(story);
    // Who tells of it before the lease is over runs.
    if words.is_empty() || (ran.is_empty() && in_time(story, &words).is_empty()) || !others_too(story, &words) {
        return None;
    }
    let mut evidence = cite(story, words.iter().copied().take(4));
    evidence.extend(
        ran.into_iter()
            .take(2)
            .map(|record| story.cite_why(record, "the owner ran all the while")),
    );
    Some(Draft {
        id: "store-paused",
        rule: &rule::LP017,
        confidence: Confidence::Likely,
        boundary: Boundary::Store,
        part: Part::Trigger,
        weight: 18,
        says: "several owners lost touch with the store at once, while they ran: it stood still or was down, or what is before it was"
            .to_owned(),
        evidence,
        against: Vec::new(),
    })
}

/// No line says that it stood still: but the lease outlived its TTL while its owner's renewals got no answer.
fn overdue_end(story: &Story<'_>) -> Option<Draft> {
    let over = late_end(story)?;
    let loss = story.loss.as_ref()?;
    let owner = story.owners.get(loss.owner?)?;
    let window = loss.window(story)?;
    let unanswered: Vec<&Record> = owner
        .says
        .iter()
        .copied()
        .filter(|record| {
            matches!(
                record.says,
                Says::Owner(
                    OwnerSays::RenewalFailed {
                        definite: Definite::Unknown,
                        ..
                    } | OwnerSays::Disconnected { .. }
                )
            ) && story
                .at(record)
                .is_some_and(|at| at.latest >= window.earliest && at.earliest <= window.latest)
        })
        .collect();
    let first = unanswered.first()?;
    let mut evidence = vec![story.cite_why(first, "no answer")];
    evidence.extend(cite(story, unanswered.iter().copied().skip(1).take(2)));
    evidence.extend(cite(story, loss.lines.iter().copied()));
    Some(Draft {
        id: "store-paused",
        rule: &rule::LP017,
        confidence: if unanswered.len() >= 2 && overdue(story).is_some() && answered_at_the_end(story) {
            Confidence::Certain
        } else {
            Confidence::Likely
        },
        boundary: Boundary::Store,
        part: Part::Trigger,
        weight: 18,
        says: format!(
            "the store answered nothing, and ended the lease {} later than its TTL says: a store that runs ends it in time, so it stood still itself",
            span(over)
        ),
        evidence,
        against: Vec::new(),
    })
}

/// By how much the lease outlived its TTL: by far, or by less, where its end is the very moment of the owner's first answer.
pub fn late_end(story: &Story<'_>) -> Option<Duration> {
    overdue(story).or_else(|| {
        let over = outlived(story)?;
        let loss = story.loss.as_ref()?;
        let (first, ended) = (first_answer(story)?, loss.ended?);
        let apart = first
            .earliest
            .saturating_sub(ended.latest)
            .max(ended.earliest.saturating_sub(first.latest));
        // Stamps of whole seconds hide the order of the two.
        let coarse = first.uncertainty() > Duration::from_millis(100);
        let least = if coarse { 1500 } else { 800 };
        (over > Duration::from_millis(least) && apart < nanos(Duration::from_millis(300))).then_some(over)
    })
}

/// The first answer that the owner got came with the end of the lease itself: what kept the answers from it kept the store
/// from ending the lease, too. A way that is cut does the one, and not the other.
fn answered_at_the_end(story: &Story<'_>) -> bool {
    let ended = story.loss.as_ref().and_then(|loss| loss.ended);
    first_answer(story)
        .zip(ended)
        .is_some_and(|(at, ended)| (at.middle() - ended.middle()).abs() < nanos(Duration::from_millis(500)))
}

/// When the owner was first answered after its last renewal.
fn first_answer(story: &Story<'_>) -> Option<Interval> {
    let loss = story.loss.as_ref()?;
    let owner = story.owners.get(loss.owner?)?;
    let renewed = loss.renewed?;
    let first = owner.says.iter().find(|record| {
        let answer = matches!(
            record.says,
            Says::Owner(
                OwnerSays::Renewed { .. }
                    | OwnerSays::RenewalFailed {
                        definite: Definite::Refused,
                        ..
                    }
            )
        );
        answer && story.at(record).is_some_and(|at| at.earliest > renewed.latest)
    });
    first.and_then(|record| story.at(record))
}

fn positive(stop: &Stop<'_>) -> bool {
    !matches!(stop.how, How::Gap { .. })
}

fn draft(story: &Story<'_>, stop: &Stop<'_>) -> Option<Draft> {
    let fits = fit(story, stop);
    let heard = healthy_client(story);
    let worked = store_worked(story).filter(|record| {
        // What it does on waking is no work within the stop.
        match (story.at(record), stop.span()) {
            (Some(at), Some(stop_at)) => {
                at.latest < stop_at.latest.saturating_sub(nanos(stop.took / 5))
                    && at.earliest > stop_at.earliest.saturating_add(nanos(stop.took / 5))
            }
            _ => false,
        }
    });
    let ran = owner_ran(story);
    let client_ran = heard.is_some() || !ran.is_empty();
    // Who looks from elsewhere may be cut off itself.
    let unheard = matches!(stop.how, How::Unheard { .. } | How::Unanswered { .. });
    let confidence = match fits {
        _ if worked.is_some() => Confidence::Possible,
        // All clients may have stood still together, on one host: who runs says so. And their way may be one.
        Fit::Covers if unheard && (client_ran || waited_for_it(story, stop)) => Confidence::Likely,
        _ if unheard => Confidence::Possible,
        Fit::Covers if positive(stop) && (client_ran || ends_with_the_loss(story, stop)) => Confidence::Certain,
        Fit::Covers if positive(stop) => Confidence::Likely,
        // Stores are silent for hours: their own silence counts only beside a sign that nothing was answered in it.
        Fit::Covers if heard.is_some() || overdue(story).is_some() => Confidence::Likely,
        Fit::Unplaced if positive(stop) => Confidence::Likely,
        _ => Confidence::Possible,
    };
    // A gap in a store's log is hardly anything: stores are silent for hours.
    if (unheard || !positive(stop)) && confidence == Confidence::Possible {
        return None;
    }
    let at = stop
        .ended
        .map(|ended| format!(" until {}", clock(ended)))
        .unwrap_or_default();
    let words = match &stop.how {
        How::StoreLate { what } => format!(": {what}"),
        How::Unanswered { what } => format!(", or could not be reached from where it was looked at: {what}"),
        How::Paused { how } => format!(" ({how})"),
        How::Unheard { clients, usual } => format!(
            ": it took no request in all that time, and {} that usually asked every {} came back at once",
            if *clients == 1 {
                "a client".to_owned()
            } else {
                format!("{clients} clients")
            },
            span(*usual)
        ),
        How::Gap { usual } => format!(": it wrote nothing, and its lines are usually {} apart", span(*usual)),
        How::Runtime { operation, .. } => format!(" (`{operation}`)"),
        _ => String::new(),
    };
    let mut evidence = cite(story, stop.lines.iter().copied());
    evidence.extend(heard.map(|(record, why)| story.cite_why(record, why)));
    evidence.extend(
        story
            .loss
            .iter()
            .flat_map(|loss| cite(story, loss.lines.iter().copied())),
    );
    evidence.extend(
        ran.into_iter()
            .take(2)
            .map(|record| story.cite_why(record, "the owner ran all the while")),
    );
    Some(Draft {
        id: "store-paused",
        rule: &rule::LP017,
        confidence,
        boundary: Boundary::Store,
        part: Part::Trigger,
        weight: 18,
        says: format!(
            "the store itself stood still for {}{at}{words}; it ended healthy leases when it woke, and the owner is not to blame",
            span(stop.took)
        ),
        evidence,
        against: worked
            .map(|record| story.cite_why(record, "the store did this in the middle of it"))
            .into_iter()
            .collect(),
    })
}

/// The owner tells of requests without an answer in that span; or no file says what it was doing.
fn waited_for_it(story: &Story<'_>, stop: &Stop<'_>) -> bool {
    let Some(owner) = story.loss.as_ref().and_then(|loss| loss.owner) else {
        return story.owners.is_empty();
    };
    let mute = story.owners.get(owner).is_some_and(|owner| owner.says.is_empty());
    mute || stop.span().is_some_and(|at| told_of_no_answer(story, owner, at))
}

/// The lease ended right when the store woke.
fn ends_with_the_loss(story: &Story<'_>, stop: &Stop<'_>) -> bool {
    let ended = story.loss.as_ref().and_then(|loss| loss.ended);
    ended
        .zip(stop.ended)
        .is_some_and(|(lost, woke)| (lost.middle() - woke.middle()).abs() < nanos(Duration::from_millis(500)))
}

/// A client that gave up after about two thirds of its time-out: it ran, and the other side said nothing.
fn healthy_client<'e>(story: &Story<'e>) -> Option<(&'e Record, String)> {
    let timeout = story.numbers.ttl.as_ref()?.value;
    let patience = timeout * 2 / 3;
    story
        .owners
        .iter()
        .flat_map(|owner| &owner.says)
        .find_map(|record| match &record.says {
            Says::Owner(OwnerSays::HeardNothing { lasted, .. })
                if *lasted >= patience.mul_f64(0.9) && *lasted <= patience + Duration::from_millis(200) =>
            {
                Some((
                    *record,
                    format!(
                        "it gave up after two thirds of {}: this client ran, and heard nothing",
                        span(timeout)
                    ),
                ))
            }
            _ => None,
        })
}
