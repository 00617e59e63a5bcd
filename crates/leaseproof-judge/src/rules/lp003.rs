//! A later grant has a token that is not greater.

use super::{Facts, evidence, of};
use crate::timeline::{By, Grant, Standing, Timeline};
use leaseproof_model::event::EventId;
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::name::Token;
use leaseproof_model::rule::LP003;
use leaseproof_model::truth::Truth;
use std::collections::BTreeMap;

pub(super) fn judge(facts: &Facts<'_, '_>) -> Vec<Finding> {
    let timeline = facts.timeline;
    let shown = |grant: &Grant<'_>| grant.token.map(|token| (token, grant.first.id));
    let said = |grant: &Grant<'_>| grant.said_token;
    let written = greatest_written(timeline);
    let wrote = |grant: &Grant<'_>| written.get(&grant.first.id).copied();
    let mut found = not_increasing(timeline, HAS, shown);
    let more = not_increasing(timeline, "was acquired, as its owner says, with", said)
        .into_iter()
        .chain(not_increasing(timeline, "was written on with", wrote));
    for finding in more.chain(passed_over(timeline, &written)) {
        if !found
            .iter()
            .any(|it| it.cycle == finding.cycle && it.owner == finding.owner)
        {
            found.push(finding);
        }
    }
    found
}

/// What is said of a token that the store itself shows.
const HAS: &str = "has";

fn not_increasing<'h>(
    timeline: &Timeline<'h>,
    verb: &str,
    token_of: impl Fn(&Grant<'h>) -> Option<(Token, EventId)>,
) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    let back = counter_went_back(timeline);
    let mut greatest: Option<(Token, EventId, usize)> = None;
    for (index, grant) in timeline.grants.iter().enumerate() {
        // A grant that its holder revived without acquiring is no later grant: LP010 is about it.
        if grant.is_revival() {
            continue;
        }
        let Some((token, id)) = token_of(grant) else { continue };
        match greatest {
            // One holder that stands in two grants, one right after the other, is no successor of itself.
            Some((before, _, place))
                if token <= before && verb != HAS && timeline.grants[place].holder == grant.holder => {}
            Some((before, earlier, place)) if token <= before => {
                let old = &timeline.grants[place];
                let store_moved = old.epoch != grant.epoch || back.iter().any(|it| (earlier..=id).contains(it));
                let subject = if store_moved { Subject::Store } else { Subject::Owner };
                let so = match token == before {
                    true => "a fence can't tell them apart",
                    false => "a fence refuses the new holder, and takes what the old one writes",
                };
                let says = format!(
                    "{} {verb} token {token}, and an earlier grant of {} had {before}: {so}",
                    timeline.holder(grant),
                    timeline.holder(old),
                );
                let cycle = grant.first.cycle;
                if found
                    .iter()
                    .rev()
                    .take_while(|it| it.cycle == cycle)
                    .any(|it| it.subject == subject)
                {
                    continue;
                }
                let ids = evidence([earlier, id, grant.first.id, old.first.id]);
                let finding = Finding::new(&LP003, subject, Truth::Yes, cycle, says, ids);
                found.push(match grant.by {
                    By::Owner(owner) => of(&timeline.owners[owner], finding),
                    _ => finding,
                });
            }
            _ => greatest = Some((token, id, index)),
        }
    }
    found
}

/// A grant that is written on with the token of an earlier one of its own holder, though somebody else had
/// the lease in between: the store gave the holder a new token and it kept the old, which a fence refuses or
/// can't tell from a stale one.
///
/// Only where both count alike: what was written on the earlier grant is the token that the store shows of it.
/// A holder that keeps one value for all its grants, and a count of its own beside it, is judged by that count.
fn passed_over(timeline: &Timeline<'_>, written: &BTreeMap<EventId, (Token, EventId)>) -> Vec<Finding> {
    let wrote = |grant: &Grant<'_>| written.get(&grant.first.id).copied();
    let grants = &timeline.grants;
    let mut found: Vec<Finding> = Vec::new();
    for (index, grant) in grants.iter().enumerate() {
        let (Some((token, id)), By::Owner(owner)) = (wrote(grant), grant.by) else {
            continue;
        };
        if grant.token.is_none_or(|shown| token >= shown) || found.iter().any(|it| it.cycle == grant.first.cycle) {
            continue;
        }
        let own = |old: &Grant<'_>| {
            old.holder == grant.holder
                && old.token == Some(token)
                && wrote(old).is_some_and(|(wrote, _)| wrote == token)
        };
        let Some(place) = grants[..index].iter().rposition(own) else {
            continue;
        };
        let between = &grants[place + 1..index];
        let Some((other, shown)) = between
            .iter()
            .filter(|it| it.holder != grant.holder)
            .find_map(|it| it.token.filter(|&shown| shown > token).map(|shown| (it, shown)))
        else {
            continue;
        };
        let says = format!(
            "{} was written on with token {token}, and an earlier grant of {} had {shown}: a fence refuses the new \
             holder, and takes what the old one writes",
            timeline.holder(grant),
            timeline.holder(other),
        );
        let ids = evidence([id, grant.first.id, other.first.id, grants[place].first.id]);
        let finding = Finding::new(&LP003, Subject::Owner, Truth::Yes, grant.first.cycle, says, ids);
        found.push(of(&timeline.owners[owner], finding));
    }
    found
}

/// How many writes must surely be of a grant before their token counts as its: fewer may straddle.
const ITS_OWN: u32 = 3;

/// The greatest token of the writes on each grant. Straddling writes of the grant before have a lesser
/// one, and are few.
fn greatest_written(timeline: &Timeline<'_>) -> BTreeMap<EventId, (Token, EventId)> {
    let mut written: BTreeMap<EventId, (Token, EventId, u32)> = BTreeMap::new();
    let acts = timeline.owners.iter().flat_map(|owner| &owner.acts);
    for act in acts.filter(|act| act.write.is_some() && act.says_from.is_none()) {
        let (Standing::Granted(grant), Some(token)) = (act.standing, act.token) else {
            continue;
        };
        let grant = &timeline.grants[grant];
        if grant.surely_covers(act.at) {
            let it = written.entry(grant.first.id).or_insert((token, act.event.id, 0));
            if token > it.0 {
                (it.0, it.1) = (token, act.event.id);
            }
            it.2 += 1;
        }
    }
    written
        .into_iter()
        .filter(|(_, (.., writes))| *writes >= ITS_OWN)
        .map(|(grant, (token, id, _))| (grant, (token, id)))
        .collect()
}

/// The readings in which the store's own counter had gone back.
fn counter_went_back(timeline: &Timeline<'_>) -> Vec<EventId> {
    let mut greatest = None;
    let mut back = Vec::new();
    for (event, reading) in &timeline.readings {
        if matches!((reading.counter, greatest), (Some(now), Some(before)) if now < before) {
            back.push(event.id);
        }
        greatest = greatest.max(reading.counter);
    }
    back
}
