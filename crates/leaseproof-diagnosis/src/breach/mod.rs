//! Was there a breach: by the same definitions as the rules of `verify`, on what the files show.
//!
//! An act that may have been checked before its grant was over is never charged to its owner: the first one after the
//! end or after a stop, and those within a heartbeat of it. At the resource such a write still counts, where it was
//! accepted after a write with a greater token.
//!
//! - `tokens`, `late`, `told`: what was broken; `charge`: what is charged to an owner
//! - `covered`: what the files cover

mod charge;
mod covered;
mod late;
mod tokens;
mod told;

use crate::story::Story;
use crate::words::document;
use leaseproof_evidence::record::Record;
use leaseproof_evidence::when::Interval;
use leaseproof_model::diagnosis::{Breach, BreachSeen, Seen};
use leaseproof_model::name::Token;
use leaseproof_model::rule::Rule;
use std::collections::BTreeSet;

/// The most lines that one broken promise names.
const MOST: usize = 8;

/// Was there a breach.
#[must_use]
pub fn breach(story: &Story<'_>) -> Breach {
    let covered = covered::covered(story);
    if story.keys.is_nowhere {
        return Breach {
            seen: Seen::CannotTell,
            says: format!(
                "no line names the key {}: the files speak of {}",
                story.keys.asked.as_deref().unwrap_or_default(),
                story.keys.others()
            ),
            broken: Vec::new(),
            covered,
        };
    }
    let mut broken = Vec::new();
    tokens::stale_writes(story, &mut broken);
    tokens::tokens_go_back(story, &mut broken);
    for index in 0..story.grants.len() {
        late::late(story, index, &mut broken);
    }
    told::swallowed(story, &mut broken);
    told::two_believers_by_word(story, &mut broken);
    broken.sort_by_key(|it: &BreachSeen| (it.seen, it.rule.clone()));
    let whole = covered::covers_all(story, &covered)
        .and_then(|()| covered::no_doubt(story))
        .and_then(|()| covered::one_clock(story));
    let seen = match broken.first().map(|it| it.seen) {
        Some(Seen::Certainly) => Seen::Certainly,
        Some(_) => Seen::Possibly,
        None if whole.is_ok() => Seen::NoneSeen,
        None => Seen::CannotTell,
    };
    let says = match (seen, broken.first()) {
        (Seen::Certainly, Some(first)) => first.says.clone(),
        (Seen::Possibly, Some(first)) => format!("it may be that {}", first.says),
        (Seen::NoneSeen, _) => {
            "nobody acted on a lease that was over, as far as owner, store and resource show".to_owned()
        }
        _ => format!(
            "no breach is on record, and that says little: {}",
            whole.err().unwrap_or_default()
        ),
    };
    Breach {
        seen,
        says,
        broken,
        covered,
    }
}

#[expect(clippy::too_many_arguments, reason = "the parts of one sentence")]
fn add(
    story: &Story<'_>,
    broken: &mut Vec<BreachSeen>,
    rule: &Rule,
    seen: Seen,
    says: String,
    when: Option<Interval>,
    (tokens, owners): (BTreeSet<Token>, BTreeSet<String>),
    lines: &[&Record],
) {
    // Lines of files whose clocks are only taken to agree have an order that is only taken, too.
    let guessed = story.concord.is_guessed(lines.iter().map(|record| record.place.file));
    broken.push(BreachSeen {
        rule: rule.code.to_owned(),
        name: rule.name.to_owned(),
        seen: if guessed { seen.max(Seen::Possibly) } else { seen },
        says,
        when: when.map(document),
        tokens: tokens.into_iter().map(|token| token.0).collect(),
        owners: owners.into_iter().collect(),
        evidence: lines.iter().take(MOST).map(|record| story.cite(record)).collect(),
    });
}
