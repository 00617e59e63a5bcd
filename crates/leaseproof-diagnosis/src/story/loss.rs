//! The one loss that is to be explained.

use super::Story;
use super::act::Act;
use super::grant::{EndKind, Grant, Takeover, last_sign, takeovers};
use leaseproof_evidence::record::Record;
use leaseproof_evidence::says::{Definite, OwnerSays, Says};
use leaseproof_evidence::when::{Interval, nanos};
use leaseproof_model::truth::Truth;
use std::time::Duration;

/// The one loss that is to be explained.
#[derive(Debug)]
pub struct Loss<'e> {
    /// Whose.
    pub owner: Option<usize>,
    /// Which grant, by its place in the story.
    pub grant: Option<usize>,
    /// The grant after it.
    pub successor: Option<usize>,
    /// The last sign that it was renewed (by the store's word, else by the owner's, else a TTL before its end).
    pub renewed: Option<Interval>,
    /// When it ended at the store.
    pub ended: Option<Interval>,
    /// The line with which another took over, where the end is inferred from that alone.
    pub taken: Option<&'e Record>,
    /// The line by which the owner learned of it.
    pub told: Option<&'e Record>,
    /// The lines that show it.
    pub lines: Vec<&'e Record>,
}

impl Loss<'_> {
    /// Where neither the last renewal nor the TTL is on record, the window is no more than the moment at which the owner
    /// told of the end: what it was since then is not known, and what lies in the span before it may be why.
    #[must_use]
    pub fn may_reach_back(&self, story: &Story<'_>) -> Option<Interval> {
        let window = self.window(story)?;
        let begins = self.renewed.is_some() || story.numbers.ttl.is_some();
        (!begins).then(|| Interval {
            earliest: window.earliest.saturating_sub(nanos(LOOKED_BACK)),
            latest: window.latest,
        })
    }

    /// From the last renewal to the end, or to the moment at which the owner learned of it.
    #[must_use]
    pub fn window(&self, story: &Story<'_>) -> Option<Interval> {
        let told = || story.at(self.told?);
        let end = self.ended.or_else(told)?;
        let ttl = story.numbers.ttl.as_ref().map(|ttl| ttl.value);
        let begin = self.renewed.or_else(|| Some(end.shifted(-nanos(ttl?)))).unwrap_or(end);
        Some(Interval {
            earliest: begin.earliest.min(end.earliest),
            latest: end.latest,
        })
    }
}

/// How far before the owner's word a loss is looked for where nothing tells of its last renewal.
const LOOKED_BACK: Duration = Duration::from_secs(60);

/// The loss: of the asked owner; else the first one that did harm; else the first.
#[must_use]
pub fn loss<'e>(story: &Story<'e>) -> Option<Loss<'e>> {
    let wanted = |owner: Option<usize>| match (&story.asked.owner, owner) {
        (None, _) => true,
        (Some(name), Some(index)) => story
            .owners
            .get(index)
            .is_some_and(|owner| owner.name == *name || owner.is_called(name)),
        (Some(_), None) => false,
    };
    let by_store = story
        .grants
        .iter()
        .enumerate()
        .filter(|(_, grant)| grant.was_lost() && wanted(grant.owner) && !is_anothers(story, grant))
        .map(|(index, grant)| (harm(story, index, grant), index))
        // The greatest harm; of equal ones the first. Sessions that are looked with are shorter than those that hold.
        .max_by_key(|(harm, index)| {
            let session = story.grants.get(*index).filter(|grant| grant.is_session);
            (*harm, session.and_then(|grant| grant.ttl), usize::MAX - index)
        });
    // Without late acts or a successor the store's record says little: owners that take over from each other say more.
    let by_words = || {
        takeovers(story)
            .into_iter()
            .find(|it| wanted(Some(it.loser)))
            .map(|it| of_takeover(story, it))
    };
    match by_store {
        Some((harm, index)) if harm >= 2 => return of_grant(story, index),
        // A session of nobody's says less than what an owner says of its own loss.
        Some((0, index)) => {
            return by_words()
                .or_else(|| told(story, &wanted))
                .or_else(|| of_grant(story, index));
        }
        Some((_, index)) => return by_words().or_else(|| of_grant(story, index)),
        None => {}
    }
    by_words().or_else(|| told(story, &wanted))
}

/// By the first owner that tells of its loss.
fn told<'e>(story: &Story<'e>, wanted: &dyn Fn(Option<usize>) -> bool) -> Option<Loss<'e>> {
    let (index, told) = story
        .owners
        .iter()
        .enumerate()
        .filter(|(index, _)| wanted(Some(*index)))
        .find_map(|(index, owner)| {
            let told = owner.says.iter().find(|record| is_loss(record))?;
            Some((index, *told))
        })?;
    Some(of_owner(story, index, told))
}

/// A session that no owner is known to have had, where another's is known, or where its length is not that of the lease
/// and others' is: any client of the store has sessions.
fn is_anothers(story: &Story<'_>, grant: &Grant<'_>) -> bool {
    if !grant.is_session || grant.owner.is_some() {
        return false;
    }
    let others = || story.grants.iter().filter(|other| other.is_session && other.was_lost());
    let planned = story.asked.plan.as_ref().map(|(budget, _)| budget.ttl);
    let fits = |other: &Grant<'_>| {
        let pair = planned.zip(other.ttl);
        pair.is_some_and(|(planned, own)| planned.abs_diff(own) <= planned / 4)
    };
    others().any(|other| other.owner.is_some()) || (!fits(grant) && others().any(fits))
}

/// The line tells an owner that its lease is over.
#[must_use]
pub fn is_loss(record: &Record) -> bool {
    matches!(
        record.says,
        Says::Owner(
            OwnerSays::Lost { .. }
                | OwnerSays::SessionLost { .. }
                | OwnerSays::RenewalFailed {
                    definite: Definite::Refused,
                    ..
                }
        )
    )
}

/// Acts after it, then a successor, then that the owner is known.
fn harm(story: &Story<'_>, index: usize, grant: &Grant<'_>) -> u32 {
    let late = late_acts(story, index).next().is_some();
    let followed = successor(story, index).is_some()
        || (grant.is_session && takeovers(story).iter().any(|it| Some(it.loser) == grant.owner));
    u32::from(late) * 4 + u32::from(followed) * 2 + u32::from(grant.owner.is_some())
}

/// What the grant's owner did after its end, without acquiring anew: possibly (`CannotTell`) or surely (`Yes`).
pub fn late_acts<'s, 'e>(story: &'s Story<'e>, index: usize) -> impl Iterator<Item = (&'s Act<'e>, Truth)> {
    let grant = story.grants.get(index);
    let end = grant.and_then(|grant| grant.end);
    let again = grant.and_then(|grant| acquired_again(story, grant));
    story.acts.iter().filter_map(move |act| {
        let (grant, end) = (grant?, end?);
        let mine = match (act.token, grant.token) {
            (Some(carried), Some(own)) if !grant.is_session => {
                carried == own && (act.owner == grant.owner || act.owner.is_none())
            }
            _ => grant.owner.is_some() && act.owner == grant.owner,
        };
        if !mine {
            return None;
        }
        if let Some(again) = again
            && (act.token.is_none() || act.token != grant.token)
            && story.before(again, act.by) != Truth::No
        {
            return None;
        }
        let after = match (end.at, story.at(act.by)) {
            (Some(end_at), Some(at)) => {
                let same_file = end.by.place.file == act.by.place.file && end.by.place.line < act.by.place.line;
                if same_file {
                    Truth::Yes
                } else {
                    story_order(story, end.by, act.by, end_at, at)
                }
            }
            _ => Truth::CannotTell,
        };
        (after != Truth::No).then_some((act, after))
    })
}

/// The order of two moments of which the first is not quite that of its line.
fn story_order(story: &Story<'_>, first: &Record, then: &Record, first_at: Interval, then_at: Interval) -> Truth {
    match story.before(first, then) {
        Truth::Yes => Truth::Yes,
        // The line came later than the end that it tells of: the end itself may still have been before.
        Truth::No | Truth::CannotTell if first_at != story.at(first).unwrap_or(first_at) => first_at.before(then_at),
        other => other,
    }
}

fn acquired_again<'e>(story: &Story<'e>, grant: &Grant<'e>) -> Option<&'e Record> {
    let owner = story.owners.get(grant.owner?)?;
    let end = grant.end?.at?;
    owner.says.iter().copied().find(|record| {
        matches!(record.says, Says::Owner(OwnerSays::Acquired { .. }))
            && story.at(record).is_some_and(|at| end.before(at) == Truth::Yes)
    })
}

fn successor(story: &Story<'_>, index: usize) -> Option<usize> {
    let grant = story.grants.get(index)?;
    story
        .grants
        .iter()
        .enumerate()
        .skip(index + 1)
        .find(|(_, next)| next.key == grant.key && (next.holder != grant.holder || next.token != grant.token))
        .map(|(index, _)| index)
}

fn of_grant<'e>(story: &Story<'e>, index: usize) -> Option<Loss<'e>> {
    let grant = story.grants.get(index)?;
    let end = grant.end?;
    let successor = successor(story, index);
    let told = grant.owner.and_then(|owner| {
        let owner = story.owners.get(owner)?;
        owner
            .says
            .iter()
            .copied()
            .filter(|record| is_loss(record))
            .find(|record| story.before(grant.begun, record) != Truth::No)
    });
    let at_store = (!grant.renewals.is_empty() || !grant.is_session)
        .then(|| last_sign(story, grant))
        .flatten();
    let ttl = grant.ttl.or(story.numbers.ttl.as_ref().map(|ttl| ttl.value));
    let by_ttl = || {
        let ended = end.at.filter(|_| end.kind == EndKind::Expired)?;
        Some(ended.shifted(-nanos(ttl?)))
    };
    // A record that shows no renewals at all (a session's log) dates the last one by the TTL alone.
    // A deadline that the store wrote dates the last renewal better than a stamp of whole seconds.
    let by_deadline = grant.until.zip(ttl).map(|(until, ttl)| until.shifted(-nanos(ttl)));
    // It lived longer than its TTL: it was renewed, and only its owner says when.
    let by_word = || {
        let (owner, begun, ended) = (grant.owner?, story.at(grant.begun)?, end.at?);
        let lived_on = ended.earliest > begun.latest.saturating_add(nanos(ttl? + ttl? / 4));
        let last = last_claim(story, owner, end.by).filter(|_| lived_on)?;
        story.at(last)
    };
    let renewed = if grant.renewals.is_empty() {
        by_deadline.or_else(by_ttl).or_else(by_word).or(at_store)
    } else {
        by_deadline.or(at_store)
    };
    let mut lines = vec![grant.begun];
    lines.extend(grant.renewals.last());
    if end.by.place != grant.begun.place {
        lines.push(end.by);
    }
    lines.extend(successor.and_then(|next| story.grants.get(next)).map(|next| next.begun));
    lines.extend(told);
    lines.dedup_by_key(|record| record.place);
    Some(Loss {
        owner: grant.owner,
        grant: Some(index),
        successor,
        renewed,
        ended: end.at,
        taken: None,
        told,
        lines,
    })
}

/// The owner's last word, before a line, by which it still had the lease.
fn last_claim<'e>(story: &Story<'e>, owner: usize, before: &Record) -> Option<&'e Record> {
    story.owners.get(owner)?.says.iter().copied().rfind(|record| {
        matches!(
            record.says,
            Says::Owner(OwnerSays::Renewed { .. } | OwnerSays::Acquired { .. })
        ) && story.before(record, before) == Truth::Yes
    })
}

fn of_takeover<'e>(story: &Story<'e>, takeover: Takeover<'e>) -> Loss<'e> {
    let Takeover { loser, taken } = takeover;
    let last = last_claim(story, loser, taken);
    // A client that logs no renewals does not say when its last one was.
    let ttl = story.numbers.ttl.as_ref().map(|ttl| nanos(ttl.value));
    let fresh = |record: &&Record| {
        !matches!(record.says, Says::Owner(OwnerSays::Acquired { .. }))
            || story
                .at(record)
                .zip(story.at(taken))
                .zip(ttl)
                .is_none_or(|((last, taken), ttl)| taken.earliest <= last.latest.saturating_add(ttl + ttl / 4))
    };
    let told = story.owners.get(loser).and_then(|owner| {
        let mut told = owner.says.iter().copied().filter(|record| is_loss(record));
        told.find(|record| last.is_none_or(|last| story.before(last, record) != Truth::No))
    });
    let mut lines: Vec<&Record> = last.into_iter().collect();
    lines.push(taken);
    lines.extend(told);
    Loss {
        owner: Some(loser),
        grant: None,
        successor: None,
        renewed: last.filter(fresh).and_then(|record| story.at(record)),
        ended: story.at(taken),
        taken: Some(taken),
        told,
        lines,
    }
}

fn of_owner<'e>(story: &Story<'e>, index: usize, told: &'e Record) -> Loss<'e> {
    let alive = |record: &&&'e Record| {
        matches!(
            record.says,
            Says::Owner(
                OwnerSays::Renewed { .. }
                    | OwnerSays::Acquired { .. }
                    | OwnerSays::RenewSent { .. }
                    | OwnerSays::SessionOpened { .. }
            )
        ) && story.before(record, told) == Truth::Yes
    };
    let last = story
        .owners
        .get(index)
        .and_then(|owner| owner.says.iter().rfind(alive).copied());
    let heard = heard_last(story, index, last, told);
    let mut lines: Vec<&Record> = last.into_iter().collect();
    lines.push(told);
    Loss {
        owner: Some(index),
        grant: None,
        successor: None,
        renewed: heard.or_else(|| story.at(last?)),
        ended: None,
        taken: None,
        told: Some(told),
        lines,
    }
}

/// When the store was heard from last, as the client of a session says after a silence: until then the session was renewed,
/// without a line of it.
fn heard_last(story: &Story<'_>, owner: usize, after: Option<&Record>, told: &Record) -> Option<Interval> {
    let heard = story.owners.get(owner)?.says.iter().filter_map(|record| {
        let Says::Owner(OwnerSays::HeardNothing { lasted, .. }) = &record.says else {
            return None;
        };
        let at = story.at(record)?.shifted(-nanos(*lasted));
        let later = after.is_none_or(|last| story.at(last).is_some_and(|last| last.before(at) == Truth::Yes));
        (later && story.before(record, told) == Truth::Yes).then_some(at)
    });
    heard.max_by_key(|at| at.earliest)
}
