//! The lines of several owners in one file that names neither process nor host: told apart by holder and token.
//!
//! What such a line says counts for its own owner, and a line that has neither counts for nobody: charged to whoever
//! speaks first in the file, what a sound owner does would be another's breach.

use super::Story;
use super::loss::is_loss;
use leaseproof_evidence::place::{FileId, Place};
use leaseproof_evidence::record::{Record, SourceKind};
use leaseproof_evidence::says::{OwnerSays, Says};
use leaseproof_model::name::Token;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The lines of each owner. `None`: nothing shows that there are several.
#[must_use]
pub fn apart<'e>(says: &[&'e Record]) -> Option<Vec<Vec<&'e Record>>> {
    let holders = several(says)?;
    let mut lines: Vec<Vec<&'e Record>> = holders.iter().map(|_| Vec::new()).collect();
    let tokens = tokens(says, &holders);
    for record in says {
        let Says::Owner(said) = &record.says else { continue };
        let by_name = holder(said).and_then(|name| holders.iter().position(|known| known == name));
        let whose = by_name.or_else(|| tokens.get(&said.token()?).copied());
        if let Some(lines) = whose.and_then(|index| lines.get_mut(index)) {
            lines.push(record);
        }
    }
    Some(lines)
}

fn holder(said: &OwnerSays) -> Option<&Arc<str>> {
    match said {
        OwnerSays::Acquired { holder, .. } => holder.as_ref(),
        _ => None,
    }
}

/// Whose each token is, by the line with which it was acquired.
fn tokens(says: &[&Record], holders: &[Arc<str>]) -> BTreeMap<Token, usize> {
    let mut tokens = BTreeMap::new();
    for record in says {
        let Says::Owner(said) = &record.says else { continue };
        let index = holder(said).and_then(|name| holders.iter().position(|known| known == name));
        tokens.extend(said.token().zip(index));
    }
    tokens
}

/// The holders, where their lines lie between one another: one acquires before the other said of its end, or speaks of
/// its token after the other acquired. One owner may have a new name for each grant, but not two grants at once.
fn several(says: &[&Record]) -> Option<Vec<Arc<str>>> {
    let mut holders: Vec<Arc<str>> = Vec::new();
    for record in says {
        let Says::Owner(said) = &record.says else { continue };
        if let Some(name) = holder(said).filter(|name| !holders.contains(name)) {
            holders.push(Arc::clone(name));
        }
    }
    if holders.len() < 2 {
        return None;
    }
    let tokens = tokens(says, &holders);
    let mut last: Option<usize> = None;
    let mut over = false;
    let mut between = false;
    for record in says {
        let Says::Owner(said) = &record.says else { continue };
        if let Some(name) = holder(said) {
            let new = holders.iter().position(|known| known == name);
            let others = last.is_some() && last != new && !over;
            between |= others && !is_drawn(name);
            last = new;
            over = false;
            continue;
        }
        let whose = said.token().and_then(|token| tokens.get(&token).copied());
        between |= whose.is_some() && whose != last;
        over = match said {
            OwnerSays::Released { .. } | OwnerSays::Waiting { .. } => true,
            _ if is_loss(record) => true,
            OwnerSays::Wrote { .. } | OwnerSays::Renewed { .. } | OwnerSays::BelievesHeld { .. } => false,
            _ => over,
        };
    }
    between.then_some(holders)
}

/// Lines of a file in which several owners speak that don't say whose they are.
pub fn nobodys_lines<'s, 'e>(story: &'s Story<'e>, file: FileId) -> impl Iterator<Item = &'e Record> + use<'s, 'e> {
    let speak: Vec<_> = story
        .owners
        .iter()
        .filter(|owner| owner.files.contains(&file))
        .collect();
    let heard: BTreeSet<Place> = speak
        .iter()
        .flat_map(|owner| owner.says.iter().chain(&owner.others))
        .map(|record| record.place)
        .collect();
    let several = speak.len() > 1;
    story.evidence.of(file).filter(move |record| {
        several
            && record.source == SourceKind::Owner
            && matches!(record.says, Says::Owner(_))
            && !heard.contains(&record.place)
    })
}

/// A name that a client draws anew for each grant, as many do: another such name is no other owner.
fn is_drawn(name: &str) -> bool {
    let plain = name.chars().filter(|c| *c != '-');
    let digits = plain.clone().filter(char::is_ascii_hexdigit).count();
    digits >= 16 && digits * 8 >= plain.count() * 7
}
