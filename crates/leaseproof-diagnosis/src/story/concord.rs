//! Whether files whose clocks nothing relates may be laid on one timeline: what must come before what, and did.
//!
//! Most files name no host, and are taken to be of one clock. That is a guess, and a wrong one makes breaches out of
//! nothing. The lines can bear it out: a grant comes before its owner's "acquired", and that before the first write with
//! its token; each follows soon in a sound run. An effect that is stamped before its cause refutes it.

use super::Story;
use leaseproof_evidence::place::FileId;
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::says::{Decision, OwnerSays, ResourceSays, Says};
use leaseproof_model::name::Token;
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

/// One comes before the other, in truth.
struct Link<'e> {
    cause: &'e Record,
    effect: &'e Record,
    /// The lines are tied to each other by more than their moments, so that an effect before its cause refutes the clock.
    tied: bool,
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

fn links<'e>(story: &Story<'e>) -> Vec<Link<'e>> {
    let mut links = Vec::new();
    let acquired = first_of(
        story.owners.iter().flat_map(|owner| owner.says.iter().copied()),
        |said| match said {
            Says::Owner(OwnerSays::Acquired { token, .. }) => *token,
            _ => None,
        },
    );
    let wrote = first_of(
        story.owners.iter().flat_map(|owner| owner.says.iter().copied()),
        |said| match said {
            Says::Owner(OwnerSays::Wrote { token, .. }) => *token,
            _ => None,
        },
    );
    let written = first_of(story.of(SourceKind::Resource), |said| match said {
        Says::Resource(ResourceSays::Write {
            token,
            decision: Decision::Accepted,
            ..
        }) => *token,
        _ => None,
    });
    let mut link = |cause: Option<&&'e Record>, effect: Option<&&'e Record>, tied| {
        if let (Some(cause), Some(effect)) = (cause, effect) {
            links.push(Link { cause, effect, tied });
        }
    };
    for grant in story.grants.iter().filter(|grant| !grant.is_session && grant.sure) {
        let Some(token) = grant.token else { continue };
        link(Some(&grant.begun), acquired.get(&token), true);
        link(Some(&grant.begun), written.get(&token), true);
    }
    for (token, begun) in &acquired {
        link(Some(begun), written.get(token), true);
        link(written.get(token), wrote.get(token), false);
    }
    by_moment(story, &mut links);
    links
}

/// The first record of each token.
fn first_of<'e>(
    records: impl Iterator<Item = &'e Record>,
    token: impl Fn(&Says) -> Option<Token>,
) -> BTreeMap<Token, &'e Record> {
    let mut first = BTreeMap::new();
    for record in records {
        if let Some(token) = token(&record.says) {
            first.entry(token).or_insert(record);
        }
    }
    first
}

/// Where no token ties them: what an owner says soon after the store, and the resource soon after the owner. Any two
/// moments may be near each other by chance, those at which a lease changes hands seldom are.
fn by_moment<'e>(story: &Story<'e>, links: &mut Vec<Link<'e>>) {
    for (index, owner) in story.owners.iter().enumerate() {
        let changes: Vec<&'e Record> = owner
            .says
            .iter()
            .copied()
            .filter(|record| {
                matches!(
                    record.says,
                    Says::Owner(
                        OwnerSays::Acquired { .. } | OwnerSays::Released { .. } | OwnerSays::SessionOpened { .. }
                    )
                )
            })
            .collect();
        let begun = story
            .grants
            .iter()
            .filter(|grant| grant.owner == Some(index))
            .map(|grant| grant.begun);
        // A lease that another waits for is his as soon as it is over.
        let ended = story.grants.iter().filter_map(|grant| grant.end.map(|end| end.by));
        for cause in begun.chain(ended) {
            links.extend(changes.iter().map(|effect| Link {
                cause,
                effect,
                tied: false,
            }));
        }
        let first_write = story
            .of(SourceKind::Resource)
            .find(|record| super::grant::writer(story, record) == Some(index));
        if let (Some(effect), Some(cause)) = (first_write, changes.first()) {
            links.push(Link {
                cause,
                effect,
                tied: false,
            });
        }
    }
}
