//! By the owners' own words: it was told and went on (LP006), or went on after another had acquired (LP001).

use super::add;
use super::charge::{did, is_charged, moment};
use crate::story::Story;
use crate::story::act::Act;
use crate::story::loss::is_loss;
use leaseproof_evidence::record::Record;
use leaseproof_evidence::says::{OwnerSays, Says};
use leaseproof_model::diagnosis::{BreachSeen, Seen};
use leaseproof_model::name::Token;
use leaseproof_model::rule::{self};
use leaseproof_model::truth::Truth;

/// LP006: it was told, and went on: two acts or more after a refusal, in its own log, without acquiring anew.
pub fn swallowed(story: &Story<'_>, broken: &mut Vec<BreachSeen>) {
    for (index, owner) in story.owners.iter().enumerate() {
        let mut told: Option<&Record> = None;
        let mut after: Vec<&Record> = Vec::new();
        // The token of the lease that it speaks of: with another one it acts on another lease.
        let mut token: Option<Token> = None;
        let mut over: Vec<(&Record, Vec<&Record>)> = Vec::new();
        for record in &owner.says {
            let Says::Owner(said) = &record.says else { continue };
            match said {
                _ if is_loss(record) && told.is_none() => {
                    told = Some(record);
                    after.clear();
                }
                OwnerSays::Acquired { .. } | OwnerSays::Waiting { .. } => {
                    token = said.token().or(token);
                    over.extend(told.take().map(|told| (told, std::mem::take(&mut after))));
                }
                OwnerSays::Wrote { .. } | OwnerSays::Renewed { .. } | OwnerSays::BelievesHeld { .. }
                    if told.is_some_and(|told| of_the_same(told, token, said)) =>
                {
                    after.push(record)
                }
                _ => {}
            }
        }
        over.extend(told.map(|told| (told, after)));
        for (told, after) in over.into_iter().filter(|(_, after)| after.len() >= 2) {
            let name = story.owner_name(Some(index));
            let says = format!(
                "{name} was told that its lease was over, and went on as the holder ({} times)",
                after.len()
            );
            let mut lines = vec![told];
            lines.extend(after.iter().copied());
            let tokens = owner.tokens.iter().copied().collect();
            let when = after.first().and_then(|record| story.at(record));
            add(
                story,
                broken,
                &rule::LP006,
                Seen::Certainly,
                says,
                when,
                (tokens, [name].into_iter().collect()),
                &lines,
            );
        }
    }
}

/// What is said after a loss is about the lease that was lost, as far as tokens tell.
fn of_the_same(told: &Record, acquired: Option<Token>, said: &OwnerSays) -> bool {
    let lost = match &told.says {
        Says::Owner(lost) => lost.token().or(acquired),
        _ => acquired,
    };
    lost.zip(said.token()).is_none_or(|(lost, carried)| lost == carried)
}

/// LP001 without the store's record: one owner says that it acquired with a greater token, and the one before it acts on.
pub fn two_believers_by_word(story: &Story<'_>, broken: &mut Vec<BreachSeen>) {
    if broken.iter().any(|it| it.rule == rule::LP001.code) {
        return;
    }
    for (index, owner) in story.owners.iter().enumerate() {
        for (other, next) in story.owners.iter().enumerate().filter(|(other, _)| *other != index) {
            for acquired in &next.says {
                let Says::Owner(OwnerSays::Acquired {
                    token: Some(greater),
                    key,
                    ..
                }) = &acquired.says
                else {
                    continue;
                };
                if let Some(key) = key
                    && !crate::story::grant::is_key(story, key)
                {
                    continue;
                }
                let Some(own) = owner.tokens.iter().rfind(|token| *token < greater) else {
                    continue;
                };
                // What it did with its own, smaller token; the first may have been checked before.
                let mut acts = story
                    .acts
                    .iter()
                    .filter(|act| act.owner == Some(index) && act.token == Some(*own));
                let after: Vec<&Act<'_>> = acts
                    .by_ref()
                    .filter(|act| story.before(acquired, act.by) == Truth::Yes)
                    .collect();
                let charged: Vec<&Act<'_>> = after
                    .iter()
                    .filter(|act| is_charged(story, Some(index), act, &after, story.at(acquired)))
                    .copied()
                    .collect();
                let Some(first) = charged.first() else { continue };
                let (name, others) = (story.owner_name(Some(index)), story.owner_name(Some(other)));
                let says = format!(
                    "{name} {} with token {own} at {}, after {others} had acquired the lease with token {greater}",
                    did(first.kind),
                    moment(story, first.by)
                );
                let mut lines = vec![*acquired];
                lines.extend(charged.iter().map(|act| act.by));
                add(
                    story,
                    broken,
                    &rule::LP001,
                    Seen::Certainly,
                    says,
                    story.at(first.by),
                    (
                        [*own, *greater].into_iter().collect(),
                        [name, others].into_iter().collect(),
                    ),
                    &lines,
                );
                return;
            }
        }
    }
}
