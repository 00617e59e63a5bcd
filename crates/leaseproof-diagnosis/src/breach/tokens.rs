//! Tokens that went back: at the resource (LP002), and in what the store granted (LP003).

use super::add;
use crate::story::Story;
use leaseproof_evidence::place::FileId;
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::says::{Decision, ResourceSays, Says};
use leaseproof_model::diagnosis::{BreachSeen, Seen};
use leaseproof_model::name::Token;
use leaseproof_model::rule::{self};
use leaseproof_model::truth::Truth;
use std::collections::{BTreeMap, BTreeSet};

/// LP002: in the resource's own order, an accepted write after one with a greater token.
pub fn stale_writes(story: &Story<'_>, broken: &mut Vec<BreachSeen>) {
    let mut greatest: BTreeMap<FileId, (Token, &Record)> = BTreeMap::new();
    type Stale<'e> = Vec<(&'e Record, &'e Record, Decision)>;
    let mut found: BTreeMap<(Token, Token), Stale<'_>> = BTreeMap::new();
    let known = |token: Token| {
        story.grants.iter().any(|grant| grant.token == Some(token))
            || story.owners.iter().any(|owner| owner.tokens.contains(&token))
    };
    let several_keys = {
        let keys: BTreeSet<&str> = story
            .grants
            .iter()
            .filter(|grant| !grant.is_session)
            .map(|grant| &*grant.key)
            .collect();
        keys.len() > 1
    };
    for record in story.of(SourceKind::Resource) {
        let Says::Resource(ResourceSays::Write {
            token: Some(token),
            decision,
            ..
        }) = &record.says
        else {
            continue;
        };
        // Tokens of two leases have no order.
        if several_keys && !known(*token) {
            continue;
        }
        match greatest.get(&record.place.file) {
            Some((most, first)) if token < most => {
                if *decision != Decision::Rejected {
                    found
                        .entry((*token, *most))
                        .or_default()
                        .push((first, record, *decision));
                }
            }
            Some((most, _)) if token == most => {}
            _ => {
                greatest.insert(record.place.file, (*token, record));
            }
        }
    }
    for ((token, most), writes) in found {
        let accepted: Vec<_> = writes
            .iter()
            .filter(|(.., decision)| *decision == Decision::Accepted)
            .collect();
        let seen = if accepted.is_empty() {
            Seen::Possibly
        } else {
            Seen::Certainly
        };
        let Some((first, record, _)) = accepted.first().copied().or(writes.first()) else {
            continue;
        };
        let count = if accepted.is_empty() {
            writes.len()
        } else {
            accepted.len()
        };
        let says = format!(
            "the resource {} {} with token {token} after one with token {most}",
            if seen == Seen::Certainly { "accepted" } else { "got" },
            if count == 1 {
                "a write".to_owned()
            } else {
                format!("{count} writes")
            },
        );
        let mut lines = vec![*first];
        lines.extend(writes.iter().map(|(_, record, _)| *record));
        let owners = [token, most]
            .iter()
            .filter_map(|token| owner_of_token(story, *token))
            .collect();
        let tokens = [token, most].into_iter().collect();
        add(
            story,
            broken,
            &rule::LP002,
            seen,
            says,
            story.at(record),
            (tokens, owners),
            &lines,
        );
    }
}

fn owner_of_token(story: &Story<'_>, token: Token) -> Option<String> {
    let by_word = story.owners.iter().position(|owner| owner.tokens.contains(&token));
    let index = by_word.or_else(|| story.grants.iter().find(|grant| grant.token == Some(token))?.owner)?;
    Some(story.owner_name(Some(index)))
}

/// LP003: a later grant of the key whose token is not greater.
pub fn tokens_go_back(story: &Story<'_>, broken: &mut Vec<BreachSeen>) {
    for (index, grant) in story.grants.iter().enumerate() {
        let Some(token) = grant.token.filter(|_| grant.sure) else {
            continue;
        };
        let before = story
            .grants
            .get(..index)
            .unwrap_or_default()
            .iter()
            .rev()
            .find(|it| it.key == grant.key && it.sure && it.token.is_some());
        let Some((before, old)) = before.and_then(|before| Some((before, before.token?))) else {
            continue;
        };
        if token > old || (token == old && grant.holder == before.holder) {
            continue;
        }
        let seen = match story.before(before.begun, grant.begun) {
            Truth::Yes => Seen::Certainly,
            _ => Seen::Possibly,
        };
        let says = format!(
            "the store granted `{}` with token {token} after it had granted it with token {old}",
            grant.key
        );
        let owners = [before.owner, grant.owner]
            .into_iter()
            .flatten()
            .map(|owner| story.owner_name(Some(owner)))
            .collect();
        add(
            story,
            broken,
            &rule::LP003,
            seen,
            says,
            story.at(grant.begun),
            ([token, old].into_iter().collect(), owners),
            &[before.begun, grant.begun],
        );
    }
}
