//! The protected resource: it refuses a token below the highest that it has seen.

use leaseproof::Token;

pub struct Resource {
    highest: u64,
    /// The latest grant that has written, by the store's own order.
    latest: u64,
    /// It accepts any token.
    fenceless: bool,
}

/// What became of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    Accepted,
    /// Accepted, after a write of a later grant.
    Stale,
    Refused,
}

impl Resource {
    pub fn new(fenceless: bool) -> Self {
        Self {
            highest: 0,
            latest: 0,
            fenceless,
        }
    }

    /// Somebody else writes, with a token greater than any so far.
    pub fn intrude(&mut self, token: Token) {
        self.highest = self.highest.max(token.0);
    }

    pub fn write(&mut self, token: Token, number: u64) -> Written {
        if token.0 < self.highest && !self.fenceless {
            return Written::Refused;
        }
        self.highest = self.highest.max(token.0);
        let stale = number < self.latest;
        self.latest = self.latest.max(number);
        if stale { Written::Stale } else { Written::Accepted }
    }
}
