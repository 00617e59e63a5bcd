//! The readings of all servers, as one.

use super::majority;
use leaseproof_model::event::{Held, Reading};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{HolderId, Token};
use std::collections::BTreeMap;

/// What the servers show together.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Together {
    /// A majority shows this holder.
    Held(Held),
    /// Nobody has a majority, whatever the silent ones would show.
    Free,
    /// The silent ones decide.
    Open,
}

impl Together {
    /// The holder of the majority.
    pub(super) fn holder(&self) -> Option<(&HolderId, Option<Token>)> {
        match self {
            Self::Held(held) => Some((&held.holder, held.token)),
            Self::Free | Self::Open => None,
        }
    }
}

/// Puts readings together; `None` for a server that did not answer.
pub(super) fn combine(readings: &[Option<&Reading>]) -> Together {
    let needed = majority(readings.len());
    let silent = readings.iter().filter(|reading| reading.is_none()).count();
    let mut votes: BTreeMap<(&str, Option<Token>), Vec<&Held>> = BTreeMap::new();
    for reading in readings.iter().flatten() {
        // A value whose token is 0 is one that still wants its majority: no grant yet.
        if let Some(held) = reading.held.as_ref().filter(|held| held.token != Some(Token(0))) {
            votes.entry((held.holder.as_str(), held.token)).or_default().push(held);
        }
    }
    let most = votes.values().max_by_key(|held| held.len());
    let count = most.map_or(0, Vec::len);
    match most {
        Some(held) if count >= needed => Together::Held(Held {
            expires: lapses(held, silent, needed),
            ..held[0].clone()
        }),
        _ if count + silent < needed => Together::Free,
        _ => Together::Open,
    }
}

/// When the majority lapses: with `n` holding, at the end of the one after which fewer than needed are left.
/// A silent server may hold it, too, and then for longer than all others.
fn lapses(held: &[&Held], silent: usize, needed: usize) -> Option<Moment> {
    let spare = held.len() - needed;
    let ends = |of: fn(&Moment) -> leaseproof_model::clock::BootNanos| {
        let mut ends: Vec<_> = held.iter().filter_map(|held| held.expires.as_ref()).map(of).collect();
        // One without a TTL never ends, and is missing at the end of the list.
        ends.sort_unstable();
        ends
    };
    let earliest = *ends(|it| it.earliest).get(spare)?;
    let latest = ends(|it| it.latest);
    let latest = *latest.get(spare + silent).or(latest.last())?;
    Some(Moment { earliest, latest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use leaseproof_model::clock::BootNanos;

    fn held(holder: &str, token: u64, expires: Option<u64>) -> Option<Reading> {
        let held = Held {
            holder: holder.into(),
            token: Some(Token(token)),
            expires: expires.map(|at| Moment {
                earliest: BootNanos(at),
                latest: BootNanos(at + 1),
            }),
            bound: None,
            ttl: None,
            expired: false,
            granted: None,
            renewed: None,
            write_lock: false,
        };
        Some(Reading {
            held: Some(held),
            ..free().expect("a reading")
        })
    }

    fn free() -> Option<Reading> {
        Some(Reading {
            previous: None,
            held: None,
            counter: None,
            server_ns: None,
            epoch: None,
        })
    }

    /// `x 10..11`, `free` or `open`.
    fn shown(readings: &[Option<Reading>]) -> String {
        let readings: Vec<_> = readings.iter().map(Option::as_ref).collect();
        match combine(&readings) {
            Together::Free => "free".to_owned(),
            Together::Open => "open".to_owned(),
            Together::Held(held) => match held.expires {
                Some(at) => format!("{} {}..{}", held.holder, at.earliest.0, at.latest.0),
                None => format!("{} for ever", held.holder),
            },
        }
    }

    #[test]
    fn the_majority_counts() {
        let x = |at| held("x", 1, Some(at));
        let silent = || None;
        for (readings, expected) in [
            (vec![x(10), x(30), x(20)], "x 20..21"),
            (vec![x(10), x(30), free()], "x 10..11"),
            (vec![x(10), free(), free()], "free"),
            (vec![free(), free(), free()], "free"),
            (vec![x(10), x(30), silent()], "x 10..31"),
            (vec![x(10), free(), silent()], "open"),
            (vec![free(), free(), silent()], "free"),
            (vec![x(10), held("y", 2, Some(9)), silent()], "open"),
            (vec![x(10), held("y", 2, Some(9)), free()], "free"),
            (vec![x(10), silent(), silent()], "open"),
            (vec![silent(), silent(), silent()], "open"),
            // Another token is another grant.
            (vec![x(10), held("x", 2, Some(10)), free()], "free"),
            // A value without a token of its own is no vote yet.
            (vec![held("x", 0, Some(10)), held("x", 0, Some(10)), free()], "free"),
            (vec![x(10), held("x", 0, Some(10)), held("x", 0, Some(10))], "free"),
            (vec![x(10), x(20), held("x", 1, None)], "x 20..21"),
            (vec![x(10), held("x", 1, None), held("x", 1, None)], "x for ever"),
            (vec![x(10), x(20), x(30), x(40), free()], "x 20..21"),
            (vec![x(10), x(20), x(30), silent(), silent()], "x 10..31"),
            (vec![x(10), x(20), x(30), x(40)], "x 20..21"),
            (vec![x(10), x(20), free(), free()], "free"),
        ] {
            assert_eq!(shown(&readings), expected, "{readings:?}");
        }
    }
}
