//! How one grant ends and the next begins: by its time, by its holder, or by another that has it now.

use super::whose::owner_of;
use super::{End, EndKind, Grant, last_sign};
use crate::story::Story;
use crate::story::loss::is_loss;
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::says::{OwnerSays, ResourceSays, Says, StoreSays};
use leaseproof_evidence::when::{Interval, StampMeans, nanos};
use leaseproof_model::truth::Truth;
use std::time::Duration;

/// A new grant: the one before it is over, unless it is the same one in a second record.
pub fn begin<'e>(story: &Story<'e>, grants: &mut Vec<Grant<'e>>, new: Grant<'e>) {
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

pub fn end<'e>(
    story: &Story<'e>,
    grants: &mut [Grant<'e>],
    which: impl Fn(&Grant<'_>) -> bool,
    kind: EndKind,
    by: &'e Record,
) {
    for grant in grants.iter_mut().filter(|grant| grant.end.is_none() && which(grant)) {
        let seen = seen_over(story, grant, by);
        // An expiry is noticed late: it was over at its deadline already.
        let at = match (kind, grant.until, seen) {
            (EndKind::Expired, Some(until), Some(seen)) if until.earliest <= seen.latest => Some(until),
            _ => seen,
        };
        grant.end = Some(End { kind, by, at });
    }
}

/// When it was over, by a line that shows it. Whoever only looked found it over: it ended at any time since its last sign.
fn seen_over(story: &Story<'_>, grant: &Grant<'_>, by: &Record) -> Option<Interval> {
    let seen = story.at(by)?;
    if !is_look(by) || by.place == grant.begun.place {
        return Some(seen);
    }
    let last = last_sign(story, grant).filter(|last| last.earliest <= seen.latest);
    Some(last.map_or(seen, |last| last.hull(seen)))
}

/// The line is no event: somebody looked, and nobody had it.
#[must_use]
pub fn is_look(by: &Record) -> bool {
    let nobody = matches!(
        by.says,
        Says::Store(StoreSays::SessionExpired { .. } | StoreSays::Held { holder: None, .. })
    );
    nobody && by.means == StampMeans::Observed
}

/// A TTL after the last sign of it.
fn by_ttl(story: &Story<'_>, grant: &Grant<'_>) -> Option<Interval> {
    Some(last_sign(story, grant)?.shifted(nanos(grant.ttl?)))
}

/// Whether its time is over when `record` was written, as far as the numbers say.
pub fn is_over(story: &Story<'_>, grant: &Grant<'_>, record: &Record) -> bool {
    let Some(now) = story.at(record) else { return false };
    let until = grant
        .until
        .or_else(|| Some(last_sign(story, grant)?.shifted(nanos(grant.ttl?))));
    until.is_some_and(|until| until.earliest <= now.latest)
}

pub fn deleted_how(story: &Story<'_>, grant: &Grant<'_>, record: &Record) -> EndKind {
    let Some(now) = story.at(record) else {
        return EndKind::Deleted;
    };
    if let Some(until) = grant.until {
        return match until.before(now) {
            Truth::Yes => EndKind::Expired,
            Truth::No if went_on(story, grant, now) => EndKind::Deleted,
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

/// The holder tells of a loss, or wrote on without acquiring anew, and nobody says that it let go: its key was taken from it.
fn went_on(story: &Story<'_>, grant: &Grant<'_>, now: Interval) -> bool {
    let Some(owner) = owner_of(story, grant).and_then(|index| story.owners.get(index)) else {
        return false;
    };
    if owner.is_mute() || let_go(story, now) {
        return false;
    }
    let again = owner
        .says
        .iter()
        .filter(|record| matches!(record.says, Says::Owner(OwnerSays::Acquired { .. })))
        .filter_map(|record| story.at(record))
        .filter(|at| at.latest > now.earliest)
        .map(|at| at.earliest)
        .min();
    let lost = |record: &&&Record| {
        is_loss(record)
            && story
                .at(record)
                .is_some_and(|at| at.latest >= now.earliest && again.is_none_or(|again| at.latest < again))
    };
    if owner.says.iter().any(|record| lost(&record)) {
        return true;
    }
    let after = |record: &Record| {
        story.at(record).is_some_and(|at| {
            at.earliest > now.latest.saturating_add(GOES_ON) && again.is_none_or(|again| at.latest < again)
        })
    };
    let writes = story
        .of(SourceKind::Resource)
        .filter(|record| match &record.says {
            Says::Resource(ResourceSays::Write { token, sender, .. }) => {
                let named = sender.as_deref().is_some_and(|sender| owner.answers_to(sender));
                named || token.is_some_and(|token| owner.tokens.contains(&token))
            }
            _ => false,
        })
        .filter(|record| after(record));
    writes.count() >= 2
}

/// A write may be on its way for so long (ns).
const GOES_ON: i64 = 300_000_000;

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
