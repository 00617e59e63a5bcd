//! Who asks a store how often, by a record of every request; and when nobody did.
//!
//! One client that falls silent is a client or its way. All of them at one moment, and back at one moment, are the store,
//! or what is before it. Of each client three numbers are kept, and not its requests.

use crate::says::StoreSays;
use std::collections::HashMap;
use std::time::Duration;

/// A silence that is shorter explains no lost lease.
const SHORTEST: i64 = 700_000_000;

/// Fewer requests show no habit.
const FEW: u32 = 8;

/// Who is missed must have asked so many times in the span, by its habit.
const MISSED: i64 = 4;

/// Whoever waited for an answer is back within this time.
const BACK: i64 = 300_000_000;

/// More clients than that are not told apart.
const MOST: usize = 1024;

/// One client's habit.
#[derive(Clone, Copy, Debug)]
struct Habit {
    last: i64,
    /// The average distance of its requests, the later ones counting more.
    apart: i64,
    count: u32,
}

/// A silence whose clients are not all back yet.
#[derive(Clone, Debug)]
struct Silence {
    took: i64,
    until: i64,
    usual: i64,
    clients: u32,
    missing: Vec<Box<str>>,
}

/// Who asks how often.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traffic {
    clients: HashMap<Box<str>, Habit>,
    last: Option<i64>,
    silence: Option<Silence>,
}

impl Traffic {
    /// A client asked something at `at` (ns since 1970). Whether that ends a silence of all.
    pub(crate) fn hear(&mut self, client: &str, at: i64) -> Option<StoreSays> {
        if let Some(last) = self.last
            && at.saturating_sub(last) >= SHORTEST
        {
            self.silence = self.missed(last, at);
        }
        self.last = Some(at);
        let room = self.clients.len() < MOST;
        match self.clients.get_mut(client) {
            Some(habit) => {
                let apart = at.saturating_sub(habit.last).max(0);
                // A silence is no habit.
                if self.silence.as_ref().is_none_or(|silence| apart < silence.took) {
                    habit.apart = match habit.count {
                        1 => apart,
                        _ => habit.apart.saturating_mul(7).saturating_add(apart) / 8,
                    };
                    habit.count = habit.count.saturating_add(1);
                }
                habit.last = at;
            }
            None if room => {
                let first = Habit {
                    last: at,
                    apart: 0,
                    count: 1,
                };
                self.clients.insert(Box::from(client), first);
            }
            None => {}
        }
        let silence = self.silence.as_mut()?;
        silence.missing.retain(|missing| **missing != *client);
        if at.saturating_sub(silence.until) > BACK {
            // Somebody stays away: it is not the store alone, or not at all.
            self.silence = None;
            return None;
        }
        if !silence.missing.is_empty() {
            return None;
        }
        let done = self.silence.take()?;
        Some(StoreSays::Unheard {
            took: Duration::from_nanos(done.took.unsigned_abs()),
            clients: done.clients,
            usual: Duration::from_nanos(done.usual.unsigned_abs()),
        })
    }

    /// Who must have been missed between two moments.
    fn missed(&self, from: i64, to: i64) -> Option<Silence> {
        let took = to.saturating_sub(from);
        let regular = |habit: &&Habit| {
            let alive = from.saturating_sub(habit.last) <= habit.apart.saturating_mul(3);
            habit.count >= FEW && habit.apart.saturating_mul(MISSED) <= took && alive
        };
        let missing: Vec<Box<str>> = self
            .clients
            .iter()
            .filter(|(_, habit)| regular(habit))
            .map(|(client, _)| client.clone())
            .collect();
        let usual = self.clients.values().filter(regular).map(|habit| habit.apart).min()?;
        Some(Silence {
            took,
            until: to,
            usual,
            clients: u32::try_from(missing.len()).unwrap_or(u32::MAX),
            missing,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Requests of two clients, every 100 and every 300 ms, without those for which `silent` holds.
    fn heard(silent: impl Fn(&str, i64) -> bool) -> Vec<(i64, Duration, u32)> {
        let mut requests: Vec<(i64, &str)> = (0..100).map(|number| (number * 100, "waiter")).collect();
        requests.extend((0..33).map(|number| (number * 300 + 7, "owner")));
        requests.sort_unstable();
        let mut traffic = Traffic::default();
        requests
            .into_iter()
            .filter(|(at, client)| !silent(client, *at))
            .filter_map(|(at, client)| match traffic.hear(client, at * MS)? {
                StoreSays::Unheard { took, clients, .. } => Some((at, took, clients)),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn all_silent_and_back_at_once_bad() {
        let found = heard(|_, at| (5000..8000).contains(&at));
        assert_eq!(found.len(), 1, "{found:?}");
        let (at, took, clients) = found[0];
        assert!(
            (8000..8400).contains(&at) && took >= Duration::from_millis(3000),
            "{found:?}"
        );
        assert_eq!(clients, 2);
    }

    #[test]
    fn one_silent_ok() {
        assert_eq!(heard(|client, at| client == "owner" && (5000..8000).contains(&at)), []);
    }

    #[test]
    fn one_that_does_not_come_back_ok() {
        let gone = |client: &str, at: i64| (5000..8000).contains(&at) || (client == "owner" && at >= 5000);
        assert_eq!(heard(gone), []);
    }

    #[test]
    fn who_asks_seldom_is_not_missed_ok() {
        let mut traffic = Traffic::default();
        let found = (0..40)
            .filter_map(|number| traffic.hear("owner", number * 1000 * MS))
            .count();
        assert_eq!(found, 0);
    }
}
