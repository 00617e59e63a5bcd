//! What the store granted to whom, and how each grant ended, as the store's own records show it.

use super::Story;
use super::sender::is_bare;
use crate::asked::Asked;
use leaseproof_evidence::evidence::Evidence;
use leaseproof_evidence::place::Place;
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::says::{OwnerSays, Says, StoreSays};
use leaseproof_evidence::when::{Interval, nanos};
use leaseproof_model::name::Token;
use leaseproof_model::truth::Truth;
use std::collections::{BTreeMap, BTreeSet};
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

/// The key that the files speak of most.
#[must_use]
pub fn key_of(evidence: &Evidence, asked: &Asked) -> Option<String> {
    if asked.key.is_some() {
        return asked.key.clone();
    }
    let mut count: BTreeMap<&str, u32> = BTreeMap::new();
    for record in &evidence.records {
        let key = match &record.says {
            Says::Store(StoreSays::Granted { key, .. } | StoreSays::Asked { key, .. }) => Some(key),
            Says::Store(
                StoreSays::Expired { key }
                | StoreSays::Held {
                    key, holder: Some(_), ..
                },
            ) => Some(key),
            Says::Owner(OwnerSays::Acquired { key: Some(key), .. }) => Some(key),
            _ => None,
        };
        if let Some(key) = key {
            *count.entry(key).or_default() += 1;
        }
    }
    let most = count.iter().max_by_key(|(_, count)| **count)?;
    Some((*most.0).to_owned())
}

/// Whether a key of the record is the one that is asked about: a client may put a prefix before it.
#[must_use]
pub fn is_key(story: &Story<'_>, key: &str) -> bool {
    match &story.key {
        None => true,
        Some(asked) => key == asked || key.ends_with(asked.as_str()) || asked.ends_with(key),
    }
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
    let granted = granted_asks(keyed.iter().map(|(_, record)| *record));
    let mut grants: Vec<Grant<'e>> = Vec::new();
    for (_, record) in keyed {
        if let Says::Store(said) = &record.says {
            take(story, &mut grants, record, said, granted.contains(&record.place));
        }
    }
    for grant in &mut grants {
        grant.owner = owner_of(story, grant);
    }
    grants
}

/// The requests to take a lease that were granted, though no answer is on record: their sender asks no more, and a
/// renewal of its is applied from inside a script, which compares the holder first.
fn granted_asks<'e>(records: impl Iterator<Item = &'e Record>) -> BTreeSet<Place> {
    let mut asked: BTreeMap<(&str, &str), Place> = BTreeMap::new();
    let mut granted = BTreeSet::new();
    for record in records {
        match &record.says {
            Says::Store(StoreSays::Asked {
                key,
                sender: Some(sender),
                ..
            }) => {
                asked.insert((&**key, &**sender), record.place);
            }
            Says::Store(StoreSays::RenewalApplied {
                key,
                sender: Some(sender),
                ..
            }) if !is_bare(record) => granted.extend(asked.remove(&(&**key, &**sender))),
            _ => {}
        }
    }
    granted
}

fn take<'e>(story: &Story<'e>, grants: &mut Vec<Grant<'e>>, record: &'e Record, said: &StoreSays, granted: bool) {
    match said {
        StoreSays::Granted {
            key,
            holder,
            token,
            ttl,
            until,
        } if is_key(story, key) => {
            let new = new(key, holder.as_ref(), *token, *ttl, *until, record, true);
            begin(story, grants, new);
        }
        StoreSays::Asked { key, holder, ttl, .. } if is_key(story, key) => {
            // A request is a grant only where nobody holds the key: who asks again and again gets nothing.
            let held = grants
                .iter()
                .any(|grant| grant.end.is_none() && grant.key == *key && !is_over(story, grant, record));
            if !held || granted {
                let new = new(key, holder.as_ref(), None, *ttl, None, record, granted);
                begin(story, grants, new);
            }
        }
        StoreSays::Held {
            key,
            holder: Some(holder),
            token,
            ..
        } if is_key(story, key) => {
            let known = open(grants, key).is_some_and(|grant| {
                grant.holder.as_ref() == Some(holder)
                    && (token.is_none() || grant.token.is_none() || grant.token == *token)
            });
            if !known {
                let new = new(key, Some(holder), *token, None, None, record, true);
                begin(story, grants, new);
            }
        }
        StoreSays::Held { key, holder: None, .. } if is_key(story, key) => {
            let key = Arc::clone(key);
            end(story, grants, |grant| grant.key == key, EndKind::Deleted, record);
        }
        StoreSays::RenewalApplied { key, until, ttl, .. } => {
            let matches = |grant: &Grant<'_>| grant.key == *key || grant.holder.as_ref() == Some(key);
            if let Some(grant) = grants
                .iter_mut()
                .rev()
                .find(|grant| grant.end.is_none() && matches(grant))
            {
                grant.renewals.push(record);
                grant.until = until.or(grant.until);
                grant.ttl = grant.ttl.or(*ttl);
                grant.sure = true;
            }
        }
        StoreSays::Expired { key } => {
            let key = Arc::clone(key);
            end(
                story,
                grants,
                |grant| grant.key == key || grant.holder.as_ref() == Some(&key),
                EndKind::Expired,
                record,
            );
        }
        StoreSays::Deleted { key, by, .. } if is_key(story, key) => {
            let key = Arc::clone(key);
            let kind = match open(grants, &key) {
                Some(grant) if by.is_none() => deleted_how(story, grant, record),
                _ if by.is_some() => EndKind::Released,
                _ => EndKind::Deleted,
            };
            end(story, grants, |grant| grant.key == key, kind, record);
        }
        StoreSays::SessionOpened { id, timeout }
            if !grants
                .iter()
                .any(|grant| grant.is_session && grant.key == *id && grant.end.is_none()) =>
        {
            let mut new = new(id, Some(id), None, *timeout, None, record, true);
            new.is_session = true;
            grants.push(new);
        }
        StoreSays::SessionExpired { id, timeout } => {
            let id = Arc::clone(id);
            if !grants.iter().any(|grant| of_session(grant, &id)) {
                let mut unseen = new(&id, Some(&id), None, *timeout, None, record, true);
                unseen.is_session = true;
                grants.push(unseen);
            }
            end(story, grants, |grant| of_session(grant, &id), EndKind::Expired, record);
        }
        StoreSays::SessionClosed { id } => {
            let id = Arc::clone(id);
            end(story, grants, |grant| of_session(grant, &id), EndKind::Released, record);
        }
        _ => {}
    }
}

fn of_session(grant: &Grant<'_>, id: &Arc<str>) -> bool {
    grant.key == *id || grant.holder.as_ref() == Some(id)
}

fn new<'e>(
    key: &Arc<str>,
    holder: Option<&Arc<str>>,
    token: Option<Token>,
    ttl: Option<Duration>,
    until: Option<Interval>,
    begun: &'e Record,
    sure: bool,
) -> Grant<'e> {
    Grant {
        key: Arc::clone(key),
        holder: holder.cloned(),
        token,
        ttl,
        begun,
        sure,
        renewals: Vec::new(),
        until,
        end: None,
        owner: None,
        is_session: false,
    }
}

fn open<'g, 'e>(grants: &'g [Grant<'e>], key: &str) -> Option<&'g Grant<'e>> {
    grants
        .iter()
        .rev()
        .find(|grant| grant.end.is_none() && *grant.key == *key)
}

/// A new grant: the one before it is over, unless it is the same one in a second record.
fn begin<'e>(story: &Story<'e>, grants: &mut Vec<Grant<'e>>, new: Grant<'e>) {
    if let Some(before) = grants
        .iter_mut()
        .rev()
        .find(|grant| grant.end.is_none() && grant.key == new.key)
    {
        let same_holder = new.holder.is_some() && before.holder == new.holder;
        let same_token = before.token.is_none() || new.token.is_none() || before.token == new.token;
        if same_holder && same_token {
            before.token = before.token.or(new.token);
            before.ttl = before.ttl.or(new.ttl);
            // Set anew by its own holder, it is renewed.
            let again = match (before.until, new.until) {
                (Some(old), Some(until)) => until.earliest > old.earliest,
                _ => !new.is_session && new.sure && story.before(before.begun, new.begun) == Truth::Yes,
            };
            if again {
                before.renewals.push(new.begun);
            }
            before.until = new.until.or(before.until);
            before.sure |= new.sure;
            return;
        }
        let begun = story.at(new.begun);
        let (kind, at) = match (before.until, begun) {
            (Some(until), Some(begun)) if until.earliest <= begun.latest => (EndKind::Expired, Some(until)),
            (_, Some(begun)) if by_ttl(story, before).is_some_and(|over| over.earliest <= begun.latest) => {
                // Nobody renewed it for a TTL, and then another got it.
                let over = by_ttl(story, before).unwrap_or(begun);
                (EndKind::Expired, Some(over.hull(begun)))
            }
            (_, Some(begun)) => {
                let from = last_sign(story, before).map_or(begun, |at| at);
                (EndKind::Overtaken, Some(from.hull(begun)))
            }
            _ => (EndKind::Overtaken, None),
        };
        before.end = Some(End {
            kind,
            by: new.begun,
            at,
        });
    }
    grants.push(new);
}

fn end<'e>(
    story: &Story<'e>,
    grants: &mut [Grant<'e>],
    which: impl Fn(&Grant<'_>) -> bool,
    kind: EndKind,
    by: &'e Record,
) {
    for grant in grants.iter_mut().filter(|grant| grant.end.is_none() && which(grant)) {
        let seen = story.at(by);
        // An expiry is noticed late: it was over at its deadline already.
        let at = match (kind, grant.until, seen) {
            (EndKind::Expired, Some(until), Some(seen)) if until.earliest <= seen.latest => Some(until),
            _ => seen,
        };
        grant.end = Some(End { kind, by, at });
    }
}

/// The last line that shows the grant alive at the store.
#[must_use]
pub fn last_sign(story: &Story<'_>, grant: &Grant<'_>) -> Option<Interval> {
    story.at(grant.renewals.last().copied().unwrap_or(grant.begun))
}

/// A TTL after the last sign of it.
fn by_ttl(story: &Story<'_>, grant: &Grant<'_>) -> Option<Interval> {
    Some(last_sign(story, grant)?.shifted(nanos(grant.ttl?)))
}

/// Whether its time is over when `record` was written, as far as the numbers say.
fn is_over(story: &Story<'_>, grant: &Grant<'_>, record: &Record) -> bool {
    let Some(now) = story.at(record) else { return false };
    let until = grant
        .until
        .or_else(|| Some(last_sign(story, grant)?.shifted(nanos(grant.ttl?))));
    until.is_some_and(|until| until.earliest <= now.latest)
}

fn deleted_how(story: &Story<'_>, grant: &Grant<'_>, record: &Record) -> EndKind {
    let Some(now) = story.at(record) else {
        return EndKind::Deleted;
    };
    if let Some(until) = grant.until {
        return match until.before(now) {
            Truth::Yes => EndKind::Expired,
            Truth::No => EndKind::Released,
            // Within the second of its deadline: an expiry, unless its holder says that it let go just then.
            Truth::CannotTell if !let_go(story, now) => EndKind::Expired,
            Truth::CannotTell => EndKind::Deleted,
        };
    }
    match (last_sign(story, grant), grant.ttl) {
        (Some(last), Some(ttl)) if now.earliest.saturating_sub(last.earliest) >= nanos(ttl) => EndKind::Expired,
        _ => EndKind::Deleted,
    }
}

/// An owner says that it released at about this moment.
fn let_go(story: &Story<'_>, now: Interval) -> bool {
    let near = now.widened(Duration::from_secs(1));
    story.owners.iter().flat_map(|owner| &owner.says).any(|record| {
        matches!(record.says, Says::Owner(OwnerSays::Released { .. }))
            && story
                .at(record)
                .is_some_and(|at| at.earliest <= near.latest && at.latest >= near.earliest)
    })
}

fn owner_of(story: &Story<'_>, grant: &Grant<'_>) -> Option<usize> {
    let by_name = |holder: &Arc<str>| {
        let mut found = story
            .owners
            .iter()
            .enumerate()
            .filter(|(_, owner)| owner.is_called(holder) || owner.name == **holder);
        let first = found.next()?;
        found.next().is_none().then_some(first.0)
    };
    if let Some(index) = grant.holder.as_ref().and_then(by_name) {
        return Some(index);
    }
    // Owners that log no token at all can't be known by it.
    if let Some(token) = grant.token
        && story.owners.iter().any(|owner| !owner.tokens.is_empty())
    {
        let mut found = story
            .owners
            .iter()
            .enumerate()
            .filter(|(_, owner)| owner.tokens.contains(&token));
        let first = found.next()?;
        return found.next().is_none().then_some(first.0);
    }
    if grant.is_session && grant.end.is_some_and(|end| end.by.place == grant.begun.place) {
        // Only its end is on record: whose it was shows where another owner took over right after it.
        let ended = grant.end?.at?;
        let near = Interval {
            earliest: ended.earliest.saturating_sub(nanos(Duration::from_millis(500))),
            latest: ended.latest.saturating_add(nanos(Duration::from_millis(2500))),
        };
        return takeovers(story)
            .into_iter()
            .filter(|it| {
                story
                    .at(it.taken)
                    .is_some_and(|at| at.earliest <= near.latest && at.latest >= near.earliest)
            })
            .map(|it| it.loser)
            .next();
    }
    // By the moment: exactly one owner says that it acquired within a second of it.
    let begun = story.at(grant.begun)?.widened(Duration::from_secs(1));
    let acquired = |record: &&&Record| matches!(record.says, Says::Owner(OwnerSays::Acquired { .. }));
    let near = |record: &&Record| {
        story
            .at(record)
            .is_some_and(|at| at.earliest <= begun.latest && at.latest >= begun.earliest)
    };
    let mut found = story
        .owners
        .iter()
        .enumerate()
        .filter(|(_, owner)| owner.says.iter().filter(acquired).any(&near));
    let first = found.next()?;
    found.next().is_none().then_some(first.0)
}

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
