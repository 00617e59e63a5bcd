//! Which causes fit, a cause a file. Each says what must be true for it, and what speaks against it.
//!
//! - Outside evidence outranks what a runtime says of itself.
//! - That something is not in the files never counts against a cause.
//! - "Certain" only where the lines exclude the others: two triggers of different sides that would each have been enough
//!   are both only likely.

mod blind_release;
mod blind_renew;
mod clock_step;
mod collection;
mod ended_early;
mod false_loss;
mod fence;
mod gone;
mod killed;
mod machine;
mod margin;
mod network;
mod no_ttl;
mod not_applied;
mod not_in_store;
mod outlives;
mod outside;
mod queue;
mod retention;
mod served;
mod silence;
mod store_moved;
mod store_paused;
mod throttled;
mod watchdog;

use crate::advice::advice;
use crate::story::{Story, early};
use leaseproof_model::diagnosis::{Boundary, Breach, Cause, Cited, Confidence};
use leaseproof_model::rule::{self, Rule};

/// The most lines that one cause names.
const MOST: usize = 10;

/// A cause, before it has its rank.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Its name, which never changes.
    pub id: &'static str,
    /// Its rule.
    pub rule: &'static Rule,
    /// How sure it is.
    pub confidence: Confidence,
    /// Where the fault lies.
    pub boundary: Boundary,
    /// What it is to the loss.
    pub part: Part,
    /// Its place among causes that are as sure: smaller is first.
    pub weight: u8,
    /// What happened.
    pub says: String,
    /// The lines that say so.
    pub evidence: Vec<Cited>,
    /// The lines that speak against it.
    pub against: Vec<Cited>,
}

/// What a cause is to the loss.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// It alone cost the lease: one is enough, and two can't both have been it.
    Trigger,
    /// It made the harm, whatever cost the lease.
    Defect,
    /// It made the loss likely, or did not prevent the harm.
    Ground,
}

/// The causes that fit, the best first.
#[must_use]
pub fn causes(story: &Story<'_>, breach: &Breach) -> Vec<Cause> {
    let mut drafts: Vec<Draft> = Vec::new();
    drafts.extend(blind_renew::causes(story));
    drafts.extend(blind_release::causes(story));
    drafts.extend(no_ttl::causes(story));
    drafts.extend(not_in_store::causes(story));
    drafts.extend(outlives::causes(story));
    drafts.extend(not_applied::causes(story));
    drafts.extend(watchdog::causes(story));
    drafts.extend(false_loss::causes(story));
    let moved = store_moved::causes(story, breach);
    drafts.extend(ended_early::causes(story, &moved));
    drafts.extend(moved);
    drafts.extend(gone::causes(story));
    drafts.extend(store_paused::causes(story));
    drafts.extend(queue::causes(story));
    drafts.extend(outside::causes(story));
    drafts.extend(collection::causes(story));
    drafts.extend(machine::causes(story));
    drafts.extend(killed::causes(story));
    drafts.extend(throttled::causes(story));
    drafts.extend(network::causes(story));
    drafts.extend(silence::causes(story));
    drafts.extend(clock_step::causes(story));
    drafts.extend(retention::causes(breach));
    drafts.extend(margin::causes(story));
    drafts.extend(fence::causes(story, breach));
    if early::by_store(story).is_yes() {
        before_its_time(&mut drafts);
    }
    exclude(&mut drafts);
    doubt(story, &mut drafts);
    let numbers = margin::is_the_numbers(story, &drafts);
    drafts.sort_by_key(|draft| {
        let first = numbers && draft.id == "budget-invalid";
        (if first { 0 } else { tier(draft) }, draft.confidence, draft.weight)
    });
    drafts
        .into_iter()
        .zip(1..)
        .map(|(draft, rank)| {
            let (next, not) = advice(draft.id);
            Cause {
                id: draft.id.to_owned(),
                rule: draft.rule.code.to_owned(),
                rank,
                confidence: draft.confidence,
                boundary: draft.boundary,
                says: draft.says,
                evidence: few(draft.evidence),
                against: few(draft.against),
                next: next.to_owned(),
                not: not.to_owned(),
            }
        })
        .collect()
}

/// Whether an owner logs renewals that the store's record does not have.
pub fn renewals_unapplied(story: &Story<'_>) -> bool {
    !not_applied::causes(story).is_empty()
}

/// First what cost the lease, or broke another's, as long as it is at least likely; then what made the harm of it, and the
/// ground on which it grew; then what is only possible.
fn tier(draft: &Draft) -> u8 {
    let afterwards = matches!(draft.id, "silent-retention" | "renewal-failure-swallowed");
    match (draft.part, draft.confidence) {
        (_, Confidence::Possible) => 2,
        (Part::Ground, _) => 1,
        _ if afterwards => 1,
        _ => 0,
    }
}

/// A lease that the store ended before its time was not lost for want of renewals: whatever kept its owner from them did
/// not cost it.
fn before_its_time(drafts: &mut [Draft]) {
    for draft in drafts {
        let starves = match draft.part {
            Part::Trigger => matches!(
                draft.boundary,
                Boundary::Runtime | Boundary::Network | Boundary::Configuration
            ),
            _ => matches!(draft.id, "pause-exceeds-margin" | "late-renewal"),
        };
        if starves && draft.rule.code != rule::LP018.code {
            draft.confidence = Confidence::Possible;
        }
    }
}

/// Two triggers of different sides, each of which would have been enough: neither is certain.
fn exclude(drafts: &mut [Draft]) {
    let sure = |draft: &Draft| draft.part == Part::Trigger && draft.confidence == Confidence::Certain;
    let sides: Vec<Boundary> = drafts
        .iter()
        .filter(|draft| sure(draft))
        .map(|draft| draft.boundary)
        .collect();
    let several = sides.windows(2).any(|pair| pair.first() != pair.last());
    if several {
        for draft in drafts.iter_mut().filter(|draft| sure(draft)) {
            draft.confidence = Confidence::Likely;
        }
    }
}

/// What hangs on the order of lines whose clocks are only taken to agree is not certain, and where lines show that the
/// clocks are apart, it is hardly likely.
fn doubt(story: &Story<'_>, drafts: &mut [Draft]) {
    let apart = story.concord.contradiction().is_some();
    let lost = story.loss.as_ref().map(|loss| {
        let grant = loss.grant.and_then(|index| story.grants.get(index));
        let store = grant.map(|grant| grant.end.map_or(grant.begun, |end| end.by).place.file);
        let owner = loss.owner.and_then(|index| story.owners.get(index));
        (store, owner.map(|owner| owner.files.clone()).unwrap_or_default())
    });
    for draft in drafts {
        let mut files = story.files_named(draft.evidence.iter().map(|line| &*line.file));
        if let (Part::Trigger, Some((store, owner))) = (draft.part, &lost) {
            // It is the cause of a loss whose moment the store tells.
            files.extend(store);
            files.extend(owner);
        }
        if story.concord.is_guessed(files.into_iter()) {
            draft.confidence = draft.confidence.max(if apart {
                Confidence::Possible
            } else {
                Confidence::Likely
            });
        }
    }
}

fn few(mut lines: Vec<Cited>) -> Vec<Cited> {
    let mut seen: Vec<(String, u64)> = Vec::new();
    lines.retain(|line| {
        let place = (line.file.clone(), line.line);
        let new = !seen.contains(&place);
        seen.push(place);
        new
    });
    lines.truncate(MOST);
    lines
}

/// Lines, each cited once.
fn cite<'e>(
    story: &Story<'e>,
    records: impl IntoIterator<Item = &'e leaseproof_evidence::record::Record>,
) -> Vec<Cited> {
    records.into_iter().map(|record| story.cite(record)).collect()
}
