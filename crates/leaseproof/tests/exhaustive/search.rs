//! All that can be reached, breadth first: the first state that breaks a property is one with the shortest way to it.

use super::moves::{Bounds, Broken, Given, Move};
use super::state::{State, terms};
use leaseproof::Policy;
use leaseproof::protocol::Step;
use std::collections::HashMap;
use std::collections::hash_map::{DefaultHasher, Entry};
use std::hash::BuildHasherDefault;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub states: usize,
    /// States in which somebody may act; in which two requests of one owner are under way; in which an owner is
    /// over; permits that were refused at the last look or the clock.
    pub live: usize,
    pub over: usize,
    pub refused: usize,
    /// An owner believes no more, and the store has its grant still, for another to wait for.
    pub orphaned: usize,
    /// What does not hold, and the way to it.
    pub failure: Option<(&'static str, Vec<String>)>,
}

/// Looks at all states, or up to the first that breaks something.
pub fn search(policy: Policy, reserve: u64, broken: Broken, bounds: Bounds) -> Found {
    let terms = terms(policy, reserve);
    let first = State::new(&terms).normal();
    let mut found = Found::default();
    let mut places: HashMap<State, u32, BuildHasherDefault<DefaultHasher>> = HashMap::default();
    places.insert(first.clone(), 0);
    // Where each state was reached from, and by what.
    let mut ways: Vec<(u32, Option<Move>)> = vec![(0, None)];
    let mut front = vec![(first, 0_u32)];
    while !front.is_empty() {
        let mut next_front = Vec::new();
        for (state, place) in front {
            count(&state, &mut found);
            for it in state.moves(bounds) {
                let (next, given) = state.after(it, &terms, broken);
                found.refused += usize::from(given == Given::Refused);
                if let Some(says) = wrong(&state, &next, given) {
                    let way = way(&ways, place, it);
                    found.failure = Some((says, way));
                    found.states = ways.len();
                    return found;
                }
                let next = next.normal();
                if let Entry::Vacant(vacant) = places.entry(next) {
                    let number = u32::try_from(ways.len()).expect("a small world");
                    next_front.push((vacant.key().clone(), number));
                    vacant.insert(number);
                    ways.push((place, Some(it)));
                }
            }
        }
        front = next_front;
    }
    found.states = ways.len();
    found
}

fn count(state: &State, found: &mut Found) {
    found.live += usize::from(state.owners.iter().any(|owner| owner.live().is_some()));
    let over = |owner: &super::state::Owner| matches!(owner.protocol.clone().next(super::state::NOW), Step::Over(_));
    found.over += usize::from(state.owners.iter().any(over));
    let orphaned = state.store.is_some_and(|grant| {
        let held = state.owners[usize::from(grant.owner)].protocol.held();
        held.is_none_or(|(token, _)| token != grant.token)
    });
    found.orphaned += usize::from(orphaned);
}

fn wrong(state: &State, next: &State, given: Given) -> Option<&'static str> {
    let backed = |state: &State, at: usize, token| {
        state
            .store
            .is_some_and(|grant| usize::from(grant.owner) == at && grant.token == token)
    };
    if let Given::Permit(at, token) = given
        && !backed(state, at, token)
    {
        return Some("a permit was given for a grant that the store did not have any more");
    }
    let live: Vec<_> = next
        .owners
        .iter()
        .enumerate()
        .filter_map(|(at, owner)| owner.live().map(|token| (at, token)))
        .collect();
    if live.len() > 1 {
        return Some("two grants are permitted at the same instant");
    }
    if live.iter().any(|&(at, token)| !backed(next, at, token)) {
        return Some("the store does not have what is permitted");
    }
    if next.counter < state.counter || live.iter().any(|(_, token)| *token > next.counter) {
        return Some("tokens went back");
    }
    None
}

fn way(ways: &[(u32, Option<Move>)], place: u32, last: Move) -> Vec<String> {
    let mut moves = vec![last];
    let mut place = place;
    while let (from, Some(it)) = ways[place as usize] {
        moves.push(it);
        place = from;
    }
    moves.iter().rev().map(|it| format!("{it:?}")).collect()
}
