//! Acts on a lease that was over (LP004), while another held it (LP001).

use super::add;
use super::charge::{did, is_charged, moment};
use crate::story::Story;
use crate::story::act::{Act, ActKind};
use crate::story::loss::late_acts;
use crate::story::owner::Owner;
use crate::words::span;
use leaseproof_model::diagnosis::{BreachSeen, Seen};
use leaseproof_model::name::Token;
use leaseproof_model::rule::{self};
use leaseproof_model::truth::Truth;
use std::collections::BTreeSet;

/// LP001 and LP004: acts after a grant's end that were not begun before it.
pub fn late(story: &Story<'_>, index: usize, broken: &mut Vec<BreachSeen>) {
    let Some(grant) = story.grants.get(index).filter(|grant| grant.was_lost()) else {
        return;
    };
    let Some(end) = grant.end else { return };
    let mut late: Vec<(&Act<'_>, Truth)> = late_acts(story, index).collect();
    late.sort_by_key(|(act, _)| (story.at(act.by).map(|at| at.earliest), act.by.place));
    let acts: Vec<&Act<'_>> = late.iter().map(|(act, _)| *act).collect();
    let charged: Vec<&(&Act<'_>, Truth)> = late
        .iter()
        .filter(|(act, _)| is_charged(story, grant.owner, act, &acts, end.at))
        .collect();
    let sure: Vec<&Act<'_>> = charged
        .iter()
        .filter(|(_, after)| after.is_yes())
        .map(|(act, _)| *act)
        .collect();
    let (acts, seen) = if sure.is_empty() {
        // What is only possible needs an act that may be late at all.
        let maybe: Vec<&Act<'_>> = charged.iter().map(|(act, _)| *act).collect();
        (maybe, Seen::Possibly)
    } else {
        // Of one that says nothing it is not known whether it had acquired anew.
        let mute = grant
            .owner
            .and_then(|owner| story.owners.get(owner))
            .is_some_and(Owner::is_mute);
        let certainly = grant.sure && !mute;
        (sure, if certainly { Seen::Certainly } else { Seen::Possibly })
    };
    let Some(first) = acts.first() else { return };
    let name = story.owner_name(grant.owner);
    let next = story
        .grants
        .iter()
        .skip(index + 1)
        .find(|next| next.key == grant.key && next.sure && next.owner != grant.owner);
    let after_next = next.and_then(|next| {
        let order = |act: &&&Act<'_>| {
            story.before(next.begun, act.by) == Truth::Yes
                && next.end.is_none_or(|end| story.before(end.by, act.by) != Truth::Yes)
        };
        acts.iter()
            .filter(|act| !matches!(act.kind, ActKind::Believes))
            .find(order)
            .map(|act| (next, *act))
    });
    let mut lines = vec![grant.begun, end.by];
    lines.extend(acts.iter().map(|act| act.by));
    let owners: BTreeSet<String> = [name.clone()].into_iter().collect();
    let tokens: BTreeSet<Token> = grant.token.into_iter().collect();
    if let Some((next, act)) = after_next {
        let mut both = owners.clone();
        both.extend(next.owner.map(|owner| story.owner_name(Some(owner))));
        let mut all = tokens.clone();
        all.extend(next.token);
        let says = format!(
            "{name} {} at {} on a lease that had ended, while {} held it",
            did(act.kind),
            moment(story, act.by),
            next.owner.map_or_else(
                || next.holder.as_deref().unwrap_or("another").to_owned(),
                |owner| story.owner_name(Some(owner))
            ),
        );
        add(
            story,
            broken,
            &rule::LP001,
            seen,
            says,
            story.at(act.by),
            (all, both),
            &[grant.begun, end.by, next.begun, act.by],
        );
    }
    let late_by = end.at.zip(story.at(first.by)).map(|(end, at)| {
        span(std::time::Duration::from_nanos(
            at.middle().saturating_sub(end.middle()).max(0).unsigned_abs(),
        ))
    });
    let says = format!(
        "{name} {} {}{} after its lease had ended, without acquiring anew",
        did(first.kind),
        late_by.unwrap_or_default(),
        if acts.len() > 1 {
            format!(" (and {} times more)", acts.len() - 1)
        } else {
            String::new()
        },
    );
    add(
        story,
        broken,
        &rule::LP004,
        seen,
        says,
        story.at(first.by),
        (tokens, owners),
        &lines,
    );
}
