//! By the owners' own words, who took over from whom.

use super::is_key;
use crate::story::Story;
use leaseproof_evidence::record::Record;
use leaseproof_evidence::says::{OwnerSays, Says};
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

fn is_acquired(story: &Story<'_>, record: &Record) -> bool {
    matches!(&record.says, Says::Owner(OwnerSays::Acquired { key, .. }) if key.as_ref().is_none_or(|key| is_key(story, key)))
}
