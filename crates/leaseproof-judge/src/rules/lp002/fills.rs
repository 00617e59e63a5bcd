//! A stale value stored in a cache: read before a newer write, stored after it.
//!
//! A fill is no act of a holder: whoever reads may fill. What keeps a stale one out is the version that was read with
//! the value, and is sent with it. So a fill that says its version is the cache's to refuse, where it fences; one that
//! says none, or a newer one than its value has, is its owner's, since no cache could refuse it.

use super::super::{evidence, of};
use crate::timeline::Timeline;
use leaseproof_model::event::{Event, Fill, Write};
use leaseproof_model::finding::{Finding, Subject};
use leaseproof_model::name::Token;
use leaseproof_model::rule::LP002;
use leaseproof_model::scenario::WitnessMode;
use leaseproof_model::truth::Truth;
use std::collections::BTreeSet;

/// One finding a cycle and subject.
pub(super) fn judge(timeline: &Timeline<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut told = BTreeSet::new();
    for (event, fill) in timeline.fills.iter().copied().filter(|(_, fill)| fill.accepted) {
        let Some((version, newer)) = surpassed(timeline, fill) else {
            continue;
        };
        let owner = event.owner.as_ref().and_then(|name| timeline.owner(name.as_str()));
        let Some(subject) = subject(fill, newer.1) else {
            continue;
        };
        if !told.insert((event.cycle, subject, owner)) {
            continue;
        }
        let says = describe(event, fill, version, newer.1);
        let ids = evidence([newer.0.id, event.id]);
        let finding = Finding::new(&LP002, subject, Truth::Yes, event.cycle, says, ids);
        found.push(match owner.filter(|_| subject == Subject::Owner) {
            Some(owner) => of(&timeline.owners[owner], finding),
            None => finding,
        });
    }
    found
}

/// The version of the filled value, and the write with the greatest token that was accepted after that value's and
/// before the fill, if its token is greater. A value without a version can't be compared.
fn surpassed<'h>(timeline: &Timeline<'h>, fill: &Fill) -> Option<(Token, (&'h Event, &'h Write))> {
    let writes = &timeline.writes;
    let made = writes
        .binary_search_by_key(&fill.value, |(_, write)| write.serial)
        .ok()?;
    let version = writes[made].1.token?;
    let until = writes.partition_point(|(_, write)| write.serial <= fill.after);
    let newer = writes[made..until.max(made)]
        .iter()
        .filter(|(_, write)| write.accepted && write.token > Some(version))
        .max_by_key(|(_, write)| write.token)?;
    Some((version, *newer))
}

/// Whose fault it is that this fill was accepted.
fn subject(fill: &Fill, newer: &Write) -> Option<Subject> {
    if fill.token.is_none() || fill.token >= newer.token {
        return Some(Subject::Owner);
    }
    // A witness that only records takes whatever comes, and says nothing of any cache.
    (fill.mode == WitnessMode::Enforce).then_some(Subject::Resource)
}

fn describe(event: &Event, fill: &Fill, version: Token, newer: &Write) -> String {
    let who = event.owner.as_ref().map_or("an owner", |it| it.as_str());
    let newest = newer.token.unwrap_or(version);
    let end = match fill.token {
        Some(token) if token < newest => "it said so, and the cache, which fences, took it".to_owned(),
        Some(token) => format!("it said that the value has version {token}, so that no cache could refuse it"),
        None => "it said no version, so that no cache could refuse it".to_owned(),
    };
    format!(
        "{who} stored a value of version {version} in the cache after a write with token {newest} (serial {}): {end}",
        newer.serial
    )
}
