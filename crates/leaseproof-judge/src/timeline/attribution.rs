//! Grants → their owners. What can't be attributed stays so: a rule that needs it then cannot tell.

use super::Deeded;
use super::grant::{By, Grant};
use super::owner::{Owner, Saying};
use leaseproof_model::event::{Deed, OwnerEvent};
use leaseproof_model::name::{HolderId, Token};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

/// How long after the latest begin of a grant its owner may say `acquired`, when several did.
const SOON: Duration = Duration::from_millis(250);

/// Says of each grant whose it is, by the strongest evidence first.
pub(crate) fn attribute<'h>(grants: &mut [Grant<'h>], owners: &mut [Owner<'h>], deeds: &[Deeded<'h>]) {
    let claims = Claims::of(owners);
    let lab = LabGrants::of(deeds);
    let names: HashMap<&str, usize> = owners
        .iter()
        .enumerate()
        .map(|(place, it)| (it.name.as_str(), place))
        .collect();
    let starts_lie = names_lie(grants, owners, &claims, &lab, |grant| by_first_word(grant, &names));
    let insides_lie = names_lie(grants, owners, &claims, &lab, |grant| {
        let outer = by_given_name(grant, &names).or_else(|| by_first_word(grant, &names));
        by_hidden_name(grant, &names).filter(|_| outer.is_none())
    });
    for grant in grants.iter_mut() {
        grant.by = lab
            .holds(grant)
            .or_else(|| by_given_name(grant, &names))
            .or_else(|| by_first_word(grant, &names).filter(|_| !starts_lie))
            .or_else(|| by_hidden_name(grant, &names).filter(|_| !starts_lie && !insides_lie))
            .or_else(|| claims.by_token(grant))
            .unwrap_or(By::Unknown);
    }
    claims.by_acquired(grants, owners);
    by_same_holder(grants, owners);
    for grant in grants.iter_mut().filter(|grant| grant.by == By::Unknown) {
        grant.by = by_elimination(grant, owners);
    }
    for (index, grant) in grants.iter().enumerate() {
        if let By::Owner(owner) = grant.by {
            owners[owner].grants.push(index);
        }
    }
    name_tokens(grants, owners);
}

/// What the lab took as a silent successor.
struct LabGrants<'h> {
    holders: HashSet<&'h HolderId>,
    /// Of deeds that name no holder.
    tokens: HashSet<Token>,
}

impl<'h> LabGrants<'h> {
    fn of(deeds: &[Deeded<'h>]) -> Self {
        let taken = || {
            deeds
                .iter()
                .map(|it| it.deed)
                .filter(|it| matches!(it.deed, Deed::Acquired | Deed::Stole))
        };
        Self {
            holders: taken().filter_map(|it| it.holder.as_ref()).collect(),
            tokens: taken()
                .filter(|it| it.holder.is_none())
                .filter_map(|it| it.token)
                .collect(),
        }
    }

    fn holds(&self, grant: &Grant<'_>) -> Option<By> {
        let mine = self.holders.contains(grant.holder)
            || grant.token.is_some_and(|token| self.tokens.contains(&token))
            || grant.holder.as_str().starts_with("lab#");
        mine.then_some(By::Lab)
    }
}

/// The owner's name alone, or before a `#`: nobody's host is written so.
fn by_given_name(grant: &Grant<'_>, names: &HashMap<&str, usize>) -> Option<By> {
    let name = grant.holder.as_str().split('#').next()?;
    Some(By::Owner(*names.get(name)?))
}

/// The owner's name as the first word of a holder that isn't written so.
fn by_first_word(grant: &Grant<'_>, names: &HashMap<&str, usize>) -> Option<By> {
    if by_given_name(grant, names).is_some() {
        return None;
    }
    let owner = words(grant.holder.as_str()).next().and_then(|word| names.get(word))?;
    Some(By::Owner(*owner))
}

/// Names in holders are somebody else's words (a host may be called `db-a1`, or `a1-box`) where one of them
/// names an owner that stood still as the grant began, or another owner says that it is its own.
fn names_lie(
    grants: &[Grant<'_>],
    owners: &[Owner<'_>],
    claims: &Claims<'_>,
    lab: &LabGrants<'_>,
    named: impl Fn(&Grant<'_>) -> Option<By>,
) -> bool {
    grants
        .iter()
        .filter(|grant| lab.holds(grant).is_none())
        .filter_map(|grant| Some((grant, named(grant)?)))
        .any(|(grant, by)| {
            let still = matches!(by, By::Owner(owner) if owners[owner].surely_idle(grant.begin));
            still || claims.by_token(grant).is_some_and(|claimed| claimed != by)
        })
}

/// The owner's name as any word of the holder, if only one owner's name is there.
fn by_hidden_name(grant: &Grant<'_>, names: &HashMap<&str, usize>) -> Option<By> {
    let holder = grant.holder.as_str();
    let mut named = words(holder).filter_map(|word| names.get(word));
    let first = named.next()?;
    named.all(|owner| owner == first).then_some(By::Owner(*first))
}

fn words(holder: &str) -> impl Iterator<Item = &str> {
    holder
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
}

/// All that was said as `acquired`, in order of time.
struct Claims<'h> {
    /// The owner and what it said.
    all: Vec<(usize, Saying<'h>)>,
    by_token: HashMap<Token, Vec<usize>>,
}

impl<'h> Claims<'h> {
    fn of(owners: &[Owner<'h>]) -> Self {
        let mut all: Vec<(usize, Saying<'h>)> = owners
            .iter()
            .enumerate()
            .flat_map(|(owner, it)| it.said.iter().map(move |saying| (owner, *saying)))
            .filter(|(_, saying)| saying.is(OwnerEvent::Acquired))
            .collect();
        all.sort_by_key(|(_, saying)| saying.at.latest);
        let mut by_token: HashMap<Token, Vec<usize>> = HashMap::new();
        for (place, (_, saying)) in all.iter().enumerate() {
            if let Some(token) = saying.said.token {
                by_token.entry(token).or_default().push(place);
            }
        }
        Self { all, by_token }
    }

    /// A token names its owner, if only one owner claims it for a time after the grant's begin.
    fn by_token(&self, grant: &Grant<'_>) -> Option<By> {
        let places = self.by_token.get(&grant.token?)?;
        let mut owners = places
            .iter()
            .map(|place| &self.all[*place])
            .filter(|(_, it)| fits(grant, it))
            .map(|(owner, _)| *owner);
        let first = owners.next()?;
        owners.all(|owner| owner == first).then_some(By::Owner(first))
    }

    /// An `acquired` whose time fits one grant, where no other owner's does.
    fn by_acquired(&self, grants: &mut [Grant<'h>], owners: &[Owner<'h>]) {
        let mut taken = vec![false; self.all.len()];
        for index in 0..grants.len() {
            if grants[index].by != By::Unknown {
                continue;
            }
            let grant = &grants[index];
            // A command that a lock tool starts takes its time to say so: until the next grant begins, or where
            // none does, while this one lasts, if that is known.
            let next_begin = match grants.get(index + 1) {
                Some(next) => Some(next.begin.latest),
                None => grant.lasts_until().map(|end| end.latest),
            };
            let from = self.all.partition_point(|(_, it)| it.at.latest < grant.begin.earliest);
            let candidates = || {
                (from..self.all.len())
                    .take_while(|place| {
                        let at = self.all[*place].1.at;
                        at.earliest <= grant.begin.latest.plus(SOON)
                            || next_begin.is_some_and(|next| at.earliest <= next)
                    })
                    .filter(|place| {
                        let (owner, claim) = &self.all[*place];
                        // Who did not run can't have acquired it, whatever it says when it runs again.
                        !taken[*place]
                            && fits(grant, claim)
                            && (grant.token.is_none() || claim.said.token.is_none() || grant.token == claim.said.token)
                            && !owners[*owner].surely_idle(grant.begin)
                    })
            };
            let soon = || candidates().filter(|place| self.all[*place].1.at.earliest <= grant.begin.latest.plus(SOON));
            let one = |places: &mut dyn Iterator<Item = usize>| -> Option<usize> {
                let first = places.next()?;
                let owner = self.all[first].0;
                places.take(8).all(|place| self.all[place].0 == owner).then_some(first)
            };
            if let Some(place) = one(&mut soon()).or_else(|| one(&mut candidates())) {
                taken[place] = true;
                let owner = self.all[place].0;
                grants[index].by = By::Owner(owner);
            }
        }
    }
}

/// Whether an `acquired` can be about this grant: said after its begin, and not stamped after its end. The
/// stamp may be that of sending, from which a careful owner counts, and come before the begin.
fn fits(grant: &Grant<'_>, claim: &Saying<'_>) -> bool {
    claim.at.latest.max(claim.event.at.latest) >= grant.begin.earliest
        && grant.lasts_until().is_none_or(|end| claim.at.earliest <= end.latest)
}

/// A random value stands for the owner that had it before, if only one owner had it, and that ran as the grant
/// began.
fn by_same_holder(grants: &mut [Grant<'_>], owners: &[Owner<'_>]) {
    let mut known: BTreeMap<&str, Option<By>> = BTreeMap::new();
    for grant in grants.iter().filter(|grant| grant.by != By::Unknown) {
        known
            .entry(grant.holder.as_str())
            .and_modify(|by| {
                if *by != Some(grant.by) {
                    *by = None;
                }
            })
            .or_insert(Some(grant.by));
    }
    for grant in grants.iter_mut().filter(|grant| grant.by == By::Unknown) {
        if let Some(Some(by)) = known.get(grant.holder.as_str())
            && !matches!(by, By::Owner(owner) if owners[*owner].surely_idle(grant.begin))
        {
            grant.by = *by;
        }
    }
}

/// Every other owner surely did nothing while the grant began.
fn by_elimination(grant: &Grant<'_>, owners: &[Owner<'_>]) -> By {
    let mut able = (0..owners.len()).filter(|owner| !owners[*owner].surely_idle(grant.begin));
    match (able.next(), able.next()) {
        (Some(owner), None) => By::Owner(owner),
        _ => By::Unknown,
    }
}

/// Joins each grant with the `acquired` that its owner said for it.
fn name_tokens<'h>(grants: &mut [Grant<'h>], owners: &[Owner<'h>]) {
    for owner in owners {
        let mut said: Vec<&Saying<'h>> = owner.said.iter().filter(|it| it.is(OwnerEvent::Acquired)).collect();
        said.sort_by_key(|claim| claim.event.at.latest);
        let mut claims = owner
            .said
            .iter()
            .filter(|saying| saying.is(OwnerEvent::Acquired))
            .peekable();
        let speaks = !said.is_empty();
        for (place, index) in owner.grants.iter().enumerate() {
            let next = owner.grants.get(place + 1).map(|next| grants[*next].begin);
            let grant = &mut grants[*index];
            grant.owner_speaks = speaks;
            let from = said.partition_point(|claim| claim.event.at.latest < grant.begin.earliest);
            grant.may_be_acquired = said[from..]
                .iter()
                .take_while(|claim| next.is_none_or(|next| claim.at.earliest <= next.latest))
                .any(|claim| grant.token.is_none() || claim.said.token.is_none() || claim.said.token == grant.token);
            while let Some(claim) = claims.peek() {
                let past = next.is_some_and(|next| claim.at.earliest >= next.earliest);
                // Near the begin of the next, it is of that one where this has its word.
                let nears = next.is_some_and(|next| claim.at.latest.max(claim.event.at.latest) >= next.earliest);
                if past || (nears && grant.acquired.is_some()) {
                    break;
                }
                let claim = claims.next().expect("it was peeked");
                // It may be said after the grant's end: the pause can fall between the two.
                let mine = claim.at.latest.max(claim.event.at.latest) >= grant.begin.earliest
                    && (grant.token.is_none() || claim.said.token.is_none() || claim.said.token == grant.token);
                if mine && grant.acquired.is_none() {
                    grant.acquired = Some(claim.event);
                    grant.said_token = claim.said.token.map(|token| (token, claim.event.id));
                }
            }
        }
    }
}
