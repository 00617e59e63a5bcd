//! The store: one key, one holder, a counter for tokens.

use super::clock::Clock;
use super::network::{Holder, Wish};
use leaseproof::BootNanos;
use leaseproof::Token;

/// The grant in force.
#[derive(Clone, Copy, Debug)]
pub struct Grant {
    pub holder: Holder,
    pub token: Token,
    /// Which grant of this store it is: what order means, whatever the tokens say.
    pub number: u64,
    pub expires: BootNanos,
}

/// What the store says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Said {
    Granted(Token, u64),
    Applied,
    Refused,
}

pub struct Store {
    pub clock: Clock,
    pub grant: Option<Grant>,
    pub counter: u64,
    pub grants: u64,
    /// See [`super::plan::Plan::lazy`].
    pub lazy: bool,
}

impl Store {
    /// Does what is asked at an instant; `ttl` is what is left of the TTL once the store's slack is cut off.
    pub fn serve(&mut self, wish: Wish, holder: Holder, ttl: u64, instant: u64) -> Said {
        let now = self.clock.read(instant);
        let expires = BootNanos(now.0 + ttl);
        let ours = |grant: &Grant, token: Token| grant.holder == holder && grant.token == token;
        match wish {
            Wish::Acquire => {
                if self.grant.is_some_and(|grant| now < grant.expires) {
                    return Said::Refused;
                }
                self.counter += 1;
                self.grants += 1;
                let token = Token(self.counter);
                self.grant = Some(Grant {
                    holder,
                    token,
                    number: self.grants,
                    expires,
                });
                Said::Granted(token, self.grants)
            }
            Wish::Renew(token) => match &mut self.grant {
                Some(grant) if ours(grant, token) && (self.lazy || now < grant.expires) => {
                    grant.expires = expires;
                    Said::Applied
                }
                _ => Said::Refused,
            },
            Wish::Release(token) => match self.grant {
                Some(grant) if ours(&grant, token) => {
                    self.grant = None;
                    Said::Applied
                }
                _ => Said::Refused,
            },
        }
    }

    /// Whether this is the grant in force, and not lapsed.
    pub fn backs(&self, number: u64, instant: u64) -> bool {
        let now = self.clock.read(instant);
        self.grant
            .is_some_and(|grant| grant.number == number && now < grant.expires)
    }
}
