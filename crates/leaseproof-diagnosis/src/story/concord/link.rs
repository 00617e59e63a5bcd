//! Lines of which one must come before the other.

use super::SOON;
use crate::story::Story;
use crate::story::grant::writer;
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::says::{Decision, OwnerSays, ResourceSays, Says};
use leaseproof_model::name::Token;
use std::collections::BTreeMap;

/// Changes that are further apart than this are not taken for each other.
const RARE: i64 = 2_000_000_000;

/// One comes before the other, in truth.
pub struct Link<'e> {
    pub cause: &'e Record,
    pub effect: &'e Record,
    /// The lines are tied to each other by more than their moments, so that an effect before its cause refutes the clock.
    pub tied: bool,
}

/// What must come before what, by the story's grants, owners and writes.
pub fn links<'e>(story: &Story<'e>) -> Vec<Link<'e>> {
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

/// Those that no other of them is near, but for what is of one and the same change: where a lease changes hands again and
/// again, any clock finds a change beside its own.
fn rare<'e>(story: &Story<'e>, records: impl Iterator<Item = &'e Record>) -> Vec<(i64, &'e Record)> {
    let mut placed: Vec<(i64, &'e Record)> = records
        .filter_map(|record| Some((story.at(record)?.middle(), record)))
        .collect();
    placed.sort_by_key(|(at, record)| (*at, record.place));
    let after = |moment: i64| placed.partition_point(|(at, _)| *at < moment);
    let none = |from: i64, to: i64| after(from) == after(to);
    let is_rare = |at: i64| {
        none(at.saturating_sub(RARE), at.saturating_sub(SOON)) && none(at.saturating_add(SOON), at.saturating_add(RARE))
    };
    placed.iter().filter(|(at, _)| is_rare(*at)).copied().collect()
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
        let causes = rare(story, begun.chain(ended));
        for effect in changes.iter().copied() {
            let Some(at) = story.at(effect) else { continue };
            // Stamps of whole seconds are half a second from their middle.
            let from = causes.partition_point(|(cause, _)| *cause < at.earliest.saturating_sub(RARE));
            let near = causes
                .iter()
                .skip(from)
                .take_while(|(cause, _)| *cause < at.latest.saturating_add(RARE));
            links.extend(near.map(|(_, cause)| Link {
                cause,
                effect,
                tied: false,
            }));
        }
        let first_write = story
            .of(SourceKind::Resource)
            .find(|record| writer(story, record) == Some(index));
        if let (Some(effect), Some(cause)) = (first_write, changes.first()) {
            links.push(Link {
                cause,
                effect,
                tied: false,
            });
        }
    }
}
