//! Whether files whose clocks nothing relates may be laid on one timeline: what must come before what, and did.
//!
//! Most files name no host, and are taken to be of one clock. That is a guess, and a wrong one makes breaches out of
//! nothing. The lines can bear it out: a grant comes before its owner's "acquired", and that before the first write with
//! its token; each follows soon in a sound run. An effect that is stamped before its cause refutes it.

mod link;

use super::Story;
use leaseproof_evidence::place::FileId;
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::says::{OwnerSays, Says};
use link::{Link, links};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// An effect that follows its cause within this bears out that both were stamped by one clock.
const SOON: i64 = 300_000_000;

/// Programs may write two lines in another order than that of what they tell of; by no more than this.
const DISORDER: i64 = 100_000_000;

/// What the lines say about the files' clocks.
#[derive(Debug, Default)]
pub struct Concord {
    /// Each file of owner, store or resource, and the group of files that is shown to be of one clock with it.
    groups: BTreeMap<FileId, usize>,
    /// An effect before its cause.
    contradiction: Option<String>,
    /// What is not known of the clocks, and what would be so if they were one.
    unshown: Option<String>,
}

impl Concord {
    /// Of the story's grants, owners and writes.
    #[must_use]
    pub fn of(story: &Story<'_>) -> Self {
        let mut concord = Self::default();
        for file in files(story) {
            let next = concord.groups.len();
            concord.groups.insert(file, next);
        }
        let all: Vec<FileId> = concord.groups.keys().copied().collect();
        for (index, one) in all.iter().enumerate() {
            for other in all.iter().skip(index + 1) {
                if is_told(story, *one, *other) {
                    concord.join(*one, *other);
                }
            }
        }
        let mut worst = 0;
        let links = links(story);
        for link in &links {
            let (Some(cause), Some(effect)) = (story.at(link.cause), story.at(link.effect)) else {
                continue;
            };
            let (one, other) = (link.cause.place.file, link.effect.place.file);
            if one == other {
                continue;
            }
            let at_most = effect.latest.saturating_sub(cause.earliest);
            let at_least = effect.earliest.saturating_sub(cause.latest);
            if at_most >= -DISORDER && at_least <= SOON {
                concord.join(one, other);
            } else if link.tied && at_most < -DISORDER && at_most < worst {
                worst = at_most;
                concord.contradiction = Some(format!(
                    "{} is stamped {} or more before {}, which it must follow: the clocks of the two are apart (if it is \
                     known by how much: --offset FILE=+12ms±3ms)",
                    story.evidence.show(link.effect.place),
                    crate::words::span(Duration::from_nanos(at_most.unsigned_abs())),
                    story.evidence.show(link.cause.place),
                ));
            }
        }
        concord.unshown = concord.unshown_of(story, &links);
        concord
    }

    /// In words: which clocks, and the two lines that follow each other soonest.
    fn unshown_of(&self, story: &Story<'_>, links: &[Link<'_>]) -> Option<String> {
        let loose: Vec<String> = self.loose().into_iter().map(|file| story.name(file)).collect();
        if loose.is_empty() {
            return None;
        }
        let apart = |link: &Link<'_>| self.is_guessed([link.cause.place.file, link.effect.place.file].into_iter());
        let after = |link: &Link<'_>| {
            let span = story
                .at(link.effect)?
                .earliest
                .saturating_sub(story.at(link.cause)?.latest);
            (span > SOON).then_some(span)
        };
        let soonest = links
            .iter()
            .filter(|link| link.tied && apart(link))
            .filter_map(|link| Some((after(link)?, link)))
            .min_by_key(|(span, _)| *span);
        let hint = soonest.map(|(span, link)| {
            format!(
                "; {} comes {} or more after {}, which is usually a matter of milliseconds",
                story.evidence.show(link.effect.place),
                crate::words::span(Duration::from_nanos(span.unsigned_abs())),
                story.evidence.show(link.cause.place),
            )
        });
        Some(format!(
            "nothing shows that the clock of {} is that of the others, and what hangs on it is not called certain{} (if it \
             is known how far they are apart: --offset FILE=+12ms±3ms)",
            loose.join(", "),
            hint.unwrap_or_default()
        ))
    }

    /// What is not known of the clocks, in words; `None`: all are shown to agree.
    #[must_use]
    pub fn unshown(&self) -> Option<&str> {
        self.unshown.as_deref()
    }

    fn join(&mut self, one: FileId, other: FileId) {
        let (Some(&from), Some(&to)) = (self.groups.get(&one), self.groups.get(&other)) else {
            return;
        };
        for group in self.groups.values_mut().filter(|group| **group == from) {
            *group = to;
        }
    }

    /// How two lines show that the files' clocks are apart.
    #[must_use]
    pub fn contradiction(&self) -> Option<&str> {
        self.contradiction.as_deref()
    }

    /// Whether nothing relates the clocks of some of these files; those that are no owner's, store's or resource's don't
    /// count.
    #[must_use]
    pub fn is_guessed(&self, files: impl Iterator<Item = FileId>) -> bool {
        let known: BTreeMap<FileId, usize> = files
            .filter_map(|file| Some((file, *self.groups.get(&file)?)))
            .collect();
        let groups: BTreeSet<&usize> = known.values().collect();
        groups.len() > 1 || (self.contradiction.is_some() && known.len() > 1)
    }

    /// The files whose clocks nothing relates to that of the first one.
    #[must_use]
    pub fn loose(&self) -> Vec<FileId> {
        let first = self.groups.values().next();
        let loose = self.groups.iter().filter(|(_, group)| Some(*group) != first);
        loose.map(|(file, _)| *file).collect()
    }
}

/// The files of owners, store and resource that have moments.
fn files(story: &Story<'_>) -> BTreeSet<FileId> {
    let store = story
        .grants
        .iter()
        .flat_map(|grant| [Some(grant.begun), grant.end.map(|end| end.by)])
        .flatten();
    // One that never held it can't have acted too late, whatever its clock is.
    let held = |record: &&Record| {
        matches!(
            record.says,
            Says::Owner(
                OwnerSays::Acquired { .. }
                    | OwnerSays::Renewed { .. }
                    | OwnerSays::BelievesHeld { .. }
                    | OwnerSays::Wrote { .. }
            )
        )
    };
    let holders = story.owners.iter().filter(|owner| owner.says.iter().any(held));
    let owners = holders.flat_map(|owner| owner.says.iter().copied());
    store
        .chain(owners)
        .chain(story.of(SourceKind::Resource))
        .filter(|record| story.at(record).is_some())
        .map(|record| record.place.file)
        .collect()
}

/// Whether the texts, or the user, relate the two clocks.
fn is_told(story: &Story<'_>, one: FileId, other: FileId) -> bool {
    let host = |file| story.evidence.file(file).and_then(|file| file.clock.host.as_deref());
    let (Some(one), Some(other)) = (host(one), host(other)) else {
        return false;
    };
    let known = |host: &str| story.timeline.offsets.iter().any(|offset| *offset.host == *host);
    one == other || (known(one) && known(other))
}
