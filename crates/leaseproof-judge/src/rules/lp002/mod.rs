//! A stale write accepted, by the resource's own order.
//!
//! Where the witness fences, acceptance is the resource's fault. Where it only records, it accepts
//! all: then the write is the owner's, after its lease was due, and never a straddling one.
//! A cache that is filled with a stale value is one more such resource ([`fills`]).

mod fills;

use super::lp021::gives_the_tokens;
use super::{Facts, evidence, of};
use crate::timeline::{By, Reach, Standing, Timeline, when};
use leaseproof_model::event::{Event, EventId, Write};
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::name::Token;
use leaseproof_model::rule::LP002;
use leaseproof_model::scenario::WitnessMode;
use leaseproof_model::truth::Truth;
use std::collections::BTreeMap;

/// What stale writes of one kind have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    cycle: u32,
    owner: Option<usize>,
    by_resource: bool,
}

struct Stale {
    certainty: Truth,
    ids: Vec<EventId>,
    says: String,
    writes: usize,
}

pub(super) fn judge(facts: &Facts<'_, '_>) -> Vec<Finding> {
    let timeline = facts.timeline;
    let mut groups: BTreeMap<Group, Stale> = BTreeMap::new();
    let mut highest: Option<(Token, EventId)> = None;
    let mut newest: Option<(usize, usize, EventId)> = None;
    for ((event, write), standing) in timeline.writes.iter().copied().zip(standings(timeline)) {
        if write.accepted {
            let owner = event.owner.as_ref().and_then(|name| timeline.owner(name.as_str()));
            let after = match write.token {
                Some(token) => highest.filter(|(greatest, _)| token < *greatest).map(|(_, id)| id),
                None => newest_of_another(timeline, newest, standing),
            };
            if let Some(after) = after
                && let Some(certainty) = charged(timeline, standing, event, write)
            {
                let by_resource = write.mode == WitnessMode::Enforce && write.token.is_some();
                let group = Group {
                    cycle: event.cycle,
                    owner: if by_resource { None } else { owner },
                    by_resource,
                };
                let stale = groups.entry(group).or_insert_with(|| Stale {
                    certainty,
                    ids: vec![after, event.id],
                    says: describe(event, write, highest.map(|(token, _)| token)),
                    writes: 0,
                });
                stale.certainty = stale.certainty.or(certainty);
                stale.writes += 1;
                if stale.ids.len() < 16 {
                    stale.ids.push(event.id);
                }
            }
        }
        if let Some(token) = write.token
            && highest.is_none_or(|(greatest, _)| token > greatest)
        {
            highest = Some((token, event.id));
        }
        if let Some((Standing::Granted(grant), owner)) = standing
            && newest.is_none_or(|(newest, ..)| grant > newest)
        {
            newest = Some((grant, owner, event.id));
        }
    }
    groups
        .into_iter()
        .map(|(group, stale)| finding(timeline, &group, stale))
        .chain(fills::judge(timeline))
        .collect()
}

fn finding(timeline: &Timeline<'_>, group: &Group, stale: Stale) -> Finding {
    let more = match stale.writes {
        1 => String::new(),
        n => format!(" ({n} such writes in this cycle)"),
    };
    let subject = if group.by_resource {
        Subject::Resource
    } else {
        Subject::Owner
    };
    let says = format!("{}{more}", stale.says);
    let finding = Finding::new(&LP002, subject, stale.certainty, group.cycle, says, evidence(stale.ids));
    match group.owner {
        Some(owner) => of(&timeline.owners[owner], finding),
        None => finding,
    }
}

/// The standing of each witnessed write, in serial order, and its owner.
type Standings = Vec<Option<(Standing, usize)>>;

fn standings(timeline: &Timeline<'_>) -> Standings {
    let mut all = vec![None; timeline.writes.len()];
    for (owner, it) in timeline.owners.iter().enumerate() {
        for act in &it.acts {
            if let Some((place, _)) = act.write {
                all[place] = Some((act.standing, owner));
            }
        }
    }
    all
}

/// For a write without a token: a write of a later grant, by another, came before it.
fn newest_of_another(
    timeline: &Timeline<'_>,
    newest: Option<(usize, usize, EventId)>,
    standing: Option<(Standing, usize)>,
) -> Option<EventId> {
    let (grant, of, id) = newest?;
    let (standing, owner) = standing?;
    let mine = match standing {
        Standing::Late(mine) | Standing::MayBeLate(mine) | Standing::Straddling(mine) => mine,
        Standing::Granted(_) | Standing::Unwatched(_) | Standing::Ungranted => return None,
    };
    (grant > mine && of != owner && timeline.grants[grant].by != By::Unknown).then_some(id)
}

/// Whether anybody is charged with this stale write, and how surely.
fn charged(
    timeline: &Timeline<'_>,
    standing: Option<(Standing, usize)>,
    event: &Event,
    write: &Write,
) -> Option<Truth> {
    if write.mode == WitnessMode::Enforce && write.token.is_some() {
        return Some(Truth::Yes);
    }
    if write.replay {
        return None;
    }
    let (standing, place) = standing?;
    match standing {
        Standing::Late(_) => Some(Truth::Yes),
        Standing::MayBeLate(_) => Some(Truth::CannotTell),
        Standing::Straddling(_) | Standing::Unwatched(_) | Standing::Ungranted => None,
        // It acquired anew, and this write still carries the old grant's token.
        Standing::Granted(_) => {
            let owner = &timeline.owners[place];
            let has_token = |index: &usize| timeline.grants[*index].token == write.token;
            let said_it = |index: &usize| timeline.grants[*index].said_token.map(|(token, _)| token) == write.token;
            let Some(old) = owner
                .grants
                .iter()
                .rev()
                .find(|index| has_token(index) || said_it(index))
            else {
                // It never had this token: one of another's grants is no token of a straddling write. Where
                // the owners count elsewhere, a number that the store shows for another means nothing.
                let counted_here = gives_the_tokens(timeline)
                    && owner.grants.iter().all(|index| timeline.grants[*index].token.is_some());
                let anothers = timeline.ask.store_shows_token
                    && counted_here
                    && (0..timeline.grants.len())
                        .filter(has_token)
                        .map(|index| timeline.is_not_of(index, place))
                        .reduce(|all, it| all && it)?;
                return anothers.then_some(Truth::Yes);
            };
            let due = timeline.grants[*old].due_for_writes?;
            let reach = Reach::new(&timeline.ask.budget, &timeline.cycles);
            let late = reach.exceeded(owner, due, when(event, write), event.cycle);
            (late == Truth::Yes).then_some(Truth::Yes)
        }
    }
}

fn describe(event: &Event, write: &Write, highest: Option<Token>) -> String {
    let who = match &event.owner {
        Some(owner) if !write.replay => format!("a write of {owner}"),
        _ => "a replayed write".to_owned(),
    };
    let mode = match write.mode {
        WitnessMode::Enforce => "the resource, which fences, accepted it",
        WitnessMode::Record => "the witness, which only records, took it as a resource without a fence would",
    };
    match (write.token, highest) {
        (Some(token), Some(highest)) => {
            format!(
                "{who} with token {token} came after one with token {highest} (serial {}): {mode}",
                write.serial
            )
        }
        _ => {
            format!(
                "{who} without a token came after a write of the next holder (serial {}): {mode}",
                write.serial
            )
        }
    }
}
