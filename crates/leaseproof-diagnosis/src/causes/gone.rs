//! The owner says nothing more, and does nothing more, from before the end of its lease on: it ended, was killed, or stands
//! still for good, and nothing on record says which.

use super::{Draft, Part, cite};
use crate::story::Story;
use crate::story::asking::{rhythm, told_of_no_answer, waited};
use crate::story::fit::{overdue, signs_of, store_answered_others};
use crate::story::stop::{How, Who};
use crate::words::clock;
use leaseproof_evidence::says::{OwnerSays, Says};
use leaseproof_evidence::when::nanos;
use leaseproof_model::diagnosis::{Boundary, Confidence};
use leaseproof_model::rule;
use leaseproof_model::truth::Truth;

/// Fewer signs of life show no habit.
const FEW: usize = 4;

pub fn causes(story: &Story<'_>) -> Vec<Draft> {
    draft(story).into_iter().collect()
}

fn draft(story: &Story<'_>) -> Option<Draft> {
    let loss = story.loss.as_ref()?;
    let index = loss.owner?;
    let ended = loss.ended?;
    // By a clock that leapt, the end is no moment that an owner's line could lie before.
    if super::clock_step::store_stepped(story).is_some() {
        return None;
    }
    let known = story.stops.iter().any(|stop| {
        matches!(stop.how, How::Killed { .. } | How::Paused { .. })
            && (stop.who == Who::Owner(index) || stop.who == Who::Unknown)
    });
    let signs = signs_of(story, index).count();
    let renewals = loss
        .grant
        .and_then(|grant| story.grants.get(grant))
        .map_or(0, |grant| grant.renewals.len());
    // A client that logs nothing while all is well shows its habit at the store.
    if known || signs + renewals < FEW || signs == 0 {
        return None;
    }
    let last = signs_of(story, index)
        .filter(|record| story.at(record).is_some())
        .max_by_key(|record| (story.at(record).map(|at| at.latest), record.place))?;
    if matches!(
        last.says,
        Says::Owner(OwnerSays::Released { .. } | OwnerSays::Lost { .. } | OwnerSays::SessionLost { .. })
    ) {
        return None;
    }
    // Who tells of its loss has not gone, whichever of two files has the last line by its clock.
    let parting = story.owners.get(index)?.says.last();
    let told = parting.is_some_and(|record| {
        matches!(
            record.says,
            Says::Owner(
                OwnerSays::Released { .. }
                    | OwnerSays::Lost { .. }
                    | OwnerSays::SessionLost { .. }
                    | OwnerSays::WriteRefused { .. }
            )
        )
    });
    let at = story.at(last)?;
    if told {
        return None;
    }
    // Others are on record for longer than its own habit lets it be silent.
    let ttl = story.numbers.ttl.as_ref().map_or(0, |ttl| nanos(ttl.value));
    let record_ends = story
        .evidence
        .files
        .iter()
        .filter_map(|file| Some(file.covers?.latest))
        .max()?;
    // Who writes until shortly before the end did what an owner has to do, whatever cost it the lease.
    let mute = story.owners.get(index)?.is_mute();
    if mute && at.latest >= ended.earliest.saturating_sub(ttl / 2) {
        return None;
    }
    if at.latest >= ended.earliest || record_ends < at.latest.saturating_add(ttl / 2).max(ended.latest) {
        return None;
    }
    // It fell silent before it had anything to ask of the store, which went on to serve the others: no wait explains that.
    let alone = !mute
        && signs >= FEW
        && !told_of_no_answer(story, index, at)
        && waited(story, index, at) == Truth::No
        && rhythm(story, index, at)
            .is_some_and(|usual| record_ends > at.latest.saturating_add(usual.saturating_mul(10)))
        && record_ends >= at.latest.saturating_add(ttl)
        && overdue(story).is_none()
        && store_answered_others(story).is_some();
    let mut evidence = vec![story.cite_why(last, "its last sign of life")];
    evidence.extend(cite(story, loss.lines.iter().copied()));
    Some(Draft {
        id: "gone-silent",
        rule: &rule::LP023,
        confidence: match () {
            () if alone => Confidence::Certain,
            () if signs < FEW => Confidence::Possible,
            () => Confidence::Likely,
        },
        boundary: Boundary::Runtime,
        part: Part::Trigger,
        weight: 28,
        says: format!(
            "{} gave no sign of life after {}, before its lease ended, and never again: it was killed, it ended, or it stands still; nothing on record says which",
            story.owner_name(Some(index)),
            clock(at)
        ),
        evidence,
        against: Vec::new(),
    })
}
