//! What the store granted to whom, and how each grant ended, as the store's own records show it.
//!
//! - `take`, `turn`: what each line of the store makes of them, how one ends and the next begins
//! - `whose`, `takeover`: whose they are, and what the owners say themselves

mod take;
mod takeover;
mod turn;
mod whose;

pub use takeover::{Takeover, takeovers, writer};
pub use turn::is_look;

use crate::story::Story;
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::says::Says;
use leaseproof_evidence::when::Interval;
use leaseproof_model::name::Token;
use std::sync::Arc;
use std::time::Duration;

/// How a grant ended.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum EndKind {
    /// Its time was over.
    Expired,
    /// Its holder gave it back.
    Released,
    /// Another has it, and nothing says how this one ended.
    Overtaken,
    /// Its key was deleted, and it is not known by whom or whether its time was over.
    Deleted,
}

/// The end of a grant.
#[derive(Copy, Clone, Debug)]
pub struct End<'e> {
    /// How.
    pub kind: EndKind,
    /// The line that shows it.
    pub by: &'e Record,
    /// When: not before, not after.
    pub at: Option<Interval>,
}

/// What the store granted to one holder.
#[derive(Debug)]
pub struct Grant<'e> {
    /// The key, or the session.
    pub key: Arc<str>,
    /// The holder, as the store has it.
    pub holder: Option<Arc<str>>,
    /// The fencing token.
    pub token: Option<Token>,
    /// The TTL; `None`: none was set, or none is on record.
    pub ttl: Option<Duration>,
    /// The line with which it began.
    pub begun: &'e Record,
    /// Whether that line proves the grant, and does not only ask for it.
    pub sure: bool,
    /// The renewals that the store applied.
    pub renewals: Vec<&'e Record>,
    /// The last deadline that the store wrote.
    pub until: Option<Interval>,
    /// Its end.
    pub end: Option<End<'e>>,
    /// The owner, by its place in the story.
    pub owner: Option<usize>,
    /// Its key is a session's: that another took the lease is not seen here.
    pub is_session: bool,
}

impl Grant<'_> {
    /// Whether its holder lost it.
    #[must_use]
    pub fn was_lost(&self) -> bool {
        self.end.is_some_and(|end| end.kind != EndKind::Released)
    }
}

/// Whether a key of the record is the one that it is about.
#[must_use]
pub fn is_key(story: &Story<'_>, key: &str) -> bool {
    story.keys.is_it(key)
}

/// The grants, in order.
#[must_use]
pub fn grants<'e>(story: &Story<'e>) -> Vec<Grant<'e>> {
    let mut records: Vec<(Option<Interval>, &'e Record)> = story
        .of(SourceKind::Store)
        .map(|record| (story.at(record), record))
        .collect();
    // A record without a moment stays behind the line before it in its file.
    let mut last = i64::MIN;
    let mut keyed: Vec<(i64, &'e Record)> = Vec::with_capacity(records.len());
    for (at, record) in records.drain(..) {
        last = at.map_or(last, |at| at.earliest);
        keyed.push((last, record));
    }
    keyed.sort_by_key(|(at, record)| (*at, record.place));
    let granted = take::granted_asks(keyed.iter().map(|(_, record)| *record));
    let mut grants: Vec<Grant<'e>> = Vec::new();
    for (_, record) in keyed {
        if let Says::Store(said) = &record.says {
            take::take(story, &mut grants, record, said, granted.contains(&record.place));
        }
    }
    for grant in &mut grants {
        grant.owner = whose::owner_of(story, grant);
    }
    whose::one_session_each(story, &mut grants);
    grants
}

/// The last line that shows the grant alive at the store.
#[must_use]
pub fn last_sign(story: &Story<'_>, grant: &Grant<'_>) -> Option<Interval> {
    story.at(grant.renewals.last().copied().unwrap_or(grant.begun))
}
