//! By the owners' own words, who took over from whom.

use super::is_key;
use crate::story::Story;
use crate::story::owner::Owner;
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::says::{OwnerSays, ResourceSays, Says};
use leaseproof_model::truth::Truth;

/// One owner says that it acquired while another, which had, said of no end.
#[derive(Copy, Clone, Debug)]
pub struct Takeover<'e> {
    /// Who had it before.
    pub loser: usize,
    /// The line with which the other one acquired it.
    pub taken: &'e Record,
}

/// By the owners' own words, who took over from whom. The first of each.
#[must_use]
pub fn takeovers<'e>(story: &Story<'e>) -> Vec<Takeover<'e>> {
    if story.owners.iter().all(Owner::is_mute) {
        return by_writes(story);
    }
    let mut found = Vec::new();
    for (loser, owner) in story.owners.iter().enumerate() {
        let mut acquired: Vec<&'e Record> = story
            .owners
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != loser)
            .flat_map(|(_, next)| next.says.iter().copied())
            .filter(|record| is_acquired(story, record))
            .collect();
        acquired.sort_by_key(|record| story.at(record).map(|at| at.earliest));
        let taken = acquired.into_iter().find(|taken| {
            let mut before = owner
                .says
                .iter()
                .filter(|record| story.before(record, taken) == Truth::Yes);
            let begun = before.clone().any(|record| is_acquired(story, record));
            let last = before.rfind(|record| {
                is_acquired(story, record) || matches!(record.says, Says::Owner(OwnerSays::Released { .. }))
            });
            begun && last.is_some_and(|record| is_acquired(story, record))
        });
        found.extend(taken.map(|taken| Takeover { loser, taken }));
    }
    found
}

/// By the resource's word, where no owner says anything: one begins to write that never did, and another did before.
fn by_writes<'e>(story: &Story<'e>) -> Vec<Takeover<'e>> {
    let mut writes: Vec<(i64, usize, &'e Record)> = story
        .of(SourceKind::Resource)
        .filter_map(|record| {
            let owner = writer(story, record)?;
            Some((story.at(record)?.middle(), owner, record))
        })
        .collect();
    writes.sort_by_key(|(at, _, record)| (*at, record.place));
    let mut found: Vec<Takeover<'e>> = Vec::new();
    let mut seen: Vec<usize> = Vec::new();
    for (_, owner, taken) in writes {
        if seen.contains(&owner) {
            continue;
        }
        found.extend(seen.last().map(|loser| Takeover { loser: *loser, taken }));
        seen.push(owner);
    }
    found
}

/// The owner that a line of the resource names.
pub fn writer(story: &Story<'_>, record: &Record) -> Option<usize> {
    let Says::Resource(ResourceSays::Write {
        sender: Some(sender), ..
    }) = &record.says
    else {
        return None;
    };
    story.owners.iter().position(|owner| owner.answers_to(sender))
}

fn is_acquired(story: &Story<'_>, record: &Record) -> bool {
    matches!(&record.says, Says::Owner(OwnerSays::Acquired { key, .. }) if key.as_ref().is_none_or(|key| is_key(story, key)))
}
