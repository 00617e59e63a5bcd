//! The world at one instant.

use leaseproof::protocol::{Protocol, Terms};
use leaseproof::{BootNanos, Policy, Token};
use std::time::Duration;

/// A tick of every clock.
pub const TICK: u64 = 1_000_000_000;

/// What each owner's clock shows now, in every state: only differences matter, and what is longer ago than this is
/// over in any case.
pub const NOW: BootNanos = BootNanos(8 * TICK);

/// The TTL, in ticks.
pub const TTL: u8 = 3;

pub fn terms(policy: Policy, reserve: u64) -> Terms {
    Terms {
        ttl: ticks(u64::from(TTL)),
        heartbeat: ticks(1),
        renew_timeout: ticks(1),
        reserve: ticks(reserve),
        policy,
        ahead: Duration::ZERO,
    }
}

pub fn ticks(count: u64) -> Duration {
    Duration::from_nanos(count * TICK)
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    pub store: Option<Grant>,
    /// The last token.
    pub counter: Token,
    pub owners: [Owner; 2],
    /// Requests under way, in order, so that the same ones are the same state.
    pub flights: Vec<Flight>,
    /// For so many ticks to come no clock loses another.
    pub steady: u8,
}

/// What the store has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Grant {
    pub owner: u8,
    pub token: Token,
    /// Ticks of the store's clock.
    pub left: u8,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Owner {
    pub protocol: Protocol,
    pub permits: Permits,
    /// What a permit that is being given has seen in its first look.
    pub look: Option<(Token, BootNanos)>,
    /// The request that it waits for was sent then.
    pub asked: Option<BootNanos>,
    /// The answer to it, under way.
    pub answer: Option<Said>,
}

/// Until when permits are given, as the threads of an owner share it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Permits {
    None,
    /// None until they are extended.
    Doubted,
    Until(Token, BootNanos),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Wish {
    Acquire,
    Renew(Token),
    Release(Token),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Said {
    Granted(Token),
    Applied,
    Refused,
}

/// A request under way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Flight {
    pub owner: u8,
    pub wish: Wish,
    /// Its owner waits for the answer still.
    pub awaited: bool,
    /// It has not arrived before.
    pub fresh: bool,
}

impl Owner {
    pub fn new(terms: &Terms) -> Self {
        Self {
            protocol: Protocol::new(terms.clone(), NOW),
            permits: Permits::None,
            look: None,
            asked: None,
            answer: None,
        }
    }

    /// The token that it may act with now.
    pub fn live(&self) -> Option<Token> {
        match self.permits {
            Permits::Until(token, until) if NOW < until => Some(token),
            _ => None,
        }
    }

    /// The same with all moments and tokens mapped.
    fn mapped(&self, moment: &impl Fn(BootNanos) -> BootNanos, renamed: &impl Fn(Token) -> Token) -> Self {
        Self {
            // What has passed is as good as now; the clock shows whole ticks only.
            protocol: self
                .protocol
                .mapped(|it| BootNanos(moment(it).0.max(NOW.0).next_multiple_of(TICK)), renamed),
            permits: match self.permits {
                Permits::Until(token, until) if NOW < moment(until) => Permits::Until(renamed(token), moment(until)),
                Permits::Until(..) | Permits::None => Permits::None,
                Permits::Doubted => Permits::Doubted,
            },
            look: self
                .look
                .filter(|(_, until)| NOW < moment(*until))
                .map(|(token, until)| (renamed(token), moment(until))),
            // Whatever was sent more than a TTL ago extends nothing.
            asked: self
                .asked
                .map(|it| BootNanos(moment(it).0.max(NOW.0 - u64::from(TTL) * TICK))),
            answer: self.answer.map(|said| match said {
                Said::Granted(token) => Said::Granted(renamed(token)),
                other => other,
            }),
        }
    }
}

impl State {
    pub fn new(terms: &Terms) -> Self {
        Self {
            store: None,
            counter: Token(0),
            owners: [Owner::new(terms), Owner::new(terms)],
            flights: Vec::new(),
            steady: 0,
        }
    }

    /// A tick passes for the store, and for each owner but the one whose clock loses it.
    pub fn tick(&mut self, loses: Option<usize>) {
        self.store = self.store.and_then(|grant| {
            let left = grant.left - 1;
            (left > 0).then_some(Grant { left, ..grant })
        });
        for (at, owner) in self.owners.iter_mut().enumerate() {
            if loses != Some(at) {
                *owner = owner.mapped(&|it| it.minus(ticks(1)), &|it| it);
            }
        }
        self.steady = if loses.is_some() {
            TTL - 1
        } else {
            self.steady.saturating_sub(1)
        };
    }

    /// The same state, as it is told from others: tokens by their rank, and nothing that has no effect.
    pub fn normal(&self) -> Self {
        let mut tokens = vec![self.counter];
        tokens.extend(self.store.map(|grant| grant.token));
        for owner in &self.owners {
            tokens.extend(owner.protocol.held().map(|(token, _)| token));
            tokens.extend(owner.look.map(|(token, _)| token));
            if let Permits::Until(token, _) = owner.permits {
                tokens.push(token);
            }
            if let Some(Said::Granted(token)) = owner.answer {
                tokens.push(token);
            }
        }
        tokens.extend(self.flights.iter().filter_map(|flight| match flight.wish {
            Wish::Acquire => None,
            Wish::Renew(token) | Wish::Release(token) => Some(token),
        }));
        tokens.sort_unstable();
        tokens.dedup();
        let renamed = |token: Token| {
            let rank = tokens.iter().position(|it| *it == token).expect("all are there");
            Token(rank as u64 + 1)
        };
        let mut flights: Vec<Flight> = self
            .flights
            .iter()
            .map(|flight| {
                let wish = match flight.wish {
                    Wish::Acquire => Wish::Acquire,
                    Wish::Renew(token) => Wish::Renew(renamed(token)),
                    Wish::Release(token) => Wish::Release(renamed(token)),
                };
                Flight { wish, ..*flight }
            })
            .collect();
        flights.sort_unstable();
        Self {
            store: self.store.map(|grant| Grant {
                token: renamed(grant.token),
                ..grant
            }),
            counter: renamed(self.counter),
            owners: [0, 1].map(|at: usize| self.owners[at].mapped(&|it| it, &renamed)),
            flights,
            steady: self.steady,
        }
    }
}
