//! What each line of the store makes of the grants so far.

use super::turn::{begin, deleted_how, end, is_over};
use super::{EndKind, Grant, is_key};
use crate::story::Story;
use crate::story::sender::is_bare;
use leaseproof_evidence::place::Place;
use leaseproof_evidence::record::Record;
use leaseproof_evidence::says::{Says, StoreSays};
use leaseproof_evidence::when::Interval;
use leaseproof_model::name::Token;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// The requests to take a lease that were granted, though no answer is on record: their sender asks no more, and a
/// renewal of its is applied from inside a script, which compares the holder first.
pub fn granted_asks<'e>(records: impl Iterator<Item = &'e Record>) -> BTreeSet<Place> {
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

pub fn take<'e>(story: &Story<'e>, grants: &mut Vec<Grant<'e>>, record: &'e Record, said: &StoreSays, granted: bool) {
    let deadline = |until: Option<Interval>| until.map(|until| story.told_by(record, until));
    match said {
        StoreSays::Granted {
            key,
            holder,
            token,
            ttl,
            until,
        } if is_key(story, key) => {
            let new = new(key, holder.as_ref(), *token, *ttl, deadline(*until), record, true);
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
                grant.until = deadline(*until).or(grant.until);
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
