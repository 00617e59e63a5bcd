//! One resource key's turn: which write may go to the resource now. Pure.
//!
//! Two things must hold together. Once a write was sent on, none with a smaller token is sent on any more; and
//! while one is under way at the resource, none with a greater token is sent on, since the resource may take the
//! two in either order. So the mark rises when a write is *offered*, which stops smaller ones at once, and a
//! write *starts* only when nothing of a smaller token is under way.

use leaseproof_model::fence::{Admission, Mark};
use leaseproof_model::name::Token;
use std::time::Instant;

/// The state of one key.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lane {
    /// The greatest token that was offered.
    seen: Mark,
    /// The greatest that is written down.
    durable: Mark,
    /// The writes under way at the resource: they all have one token, since a greater one waits for the others.
    flying: Option<Flying>,
    /// Until then an earlier write may still be applied, though nobody waits for its answer any more.
    doubt: Option<Doubt>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Flying {
    token: Token,
    writes: u32,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Doubt {
    /// Writes with a greater token wait. None: all do.
    token: Option<Token>,
    until: Instant,
}

/// What becomes of an offered write.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Offer {
    /// Its token is written down already.
    Known,
    /// Its token must be written down first.
    WriteDown,
    /// It is refused.
    Stale(Token),
}

/// Whether a write may go on to the resource.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Start {
    /// It may; [`Lane::end`] must follow.
    Go,
    /// One with this smaller token is under way.
    After(Token),
    /// An earlier one may still be applied until then.
    Settling(Instant),
    /// A greater token was offered meanwhile: this write is refused.
    Stale(Token),
    /// Its mark is not written down: an error of the caller.
    NotDurable,
}

/// How a write that was under way ended.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The resource answered, or nothing was ever sent to it.
    Answered,
    /// Its connection ended without an answer: until then the resource may still apply it.
    Unknown(Instant),
}

impl Lane {
    /// A key whose mark was read from disk. After an unclean end its last writes may still be under way until
    /// `doubt`; which ones is not known: the mark may have been written down while a smaller token's write was
    /// still under way, so that a write with the mark's own token waits, too.
    #[must_use]
    pub fn remembered(mark: Token, doubt: Option<Instant>) -> Self {
        Self {
            seen: Mark(Some(mark)),
            durable: Mark(Some(mark)),
            flying: None,
            doubt: doubt.map(|until| Doubt { token: None, until }),
        }
    }

    /// The greatest token that was offered.
    #[must_use]
    pub fn highest(&self) -> Option<Token> {
        self.seen.0
    }

    /// Offers a write.
    pub fn offer(&mut self, token: Token) -> Offer {
        match self.seen.admit(token) {
            Admission::Stale { highest } => Offer::Stale(highest),
            Admission::Same | Admission::Raises => {
                self.seen.raise(token);
                if self.durable.0 >= Some(token) {
                    Offer::Known
                } else {
                    Offer::WriteDown
                }
            }
        }
    }

    /// Takes note that this mark is on disk.
    pub fn written_down(&mut self, token: Token) {
        self.durable.raise(token);
    }

    /// Whether a write that was offered may go on now.
    pub fn start(&mut self, token: Token, now: Instant) -> Start {
        if let Admission::Stale { highest } = self.seen.admit(token) {
            return Start::Stale(highest);
        }
        if self.durable.0 < Some(token) {
            return Start::NotDurable;
        }
        if let Some(doubt) = self.doubt
            && now >= doubt.until
        {
            self.doubt = None;
        }
        if let Some(doubt) = self.doubt.filter(|doubt| doubt.token < Some(token)) {
            return Start::Settling(doubt.until);
        }
        match &mut self.flying {
            Some(flying) if flying.token < token => Start::After(flying.token),
            Some(flying) => {
                flying.writes += 1;
                Start::Go
            }
            None => {
                self.flying = Some(Flying { token, writes: 1 });
                Start::Go
            }
        }
    }

    /// Ends one write that had started.
    pub fn end(&mut self, token: Token, how: Ended) {
        if let Some(flying) = &mut self.flying {
            flying.writes -= 1;
            if flying.writes == 0 {
                self.flying = None;
            }
        }
        if let Ended::Unknown(until) = how {
            let before = self.doubt.take();
            self.doubt = Some(Doubt {
                token: before.map_or(Some(token), |it| it.token.max(Some(token))),
                until: before.map_or(until, |it| it.until.max(until)),
            });
        }
    }

    /// Whether nothing is under way and nothing is in doubt.
    #[must_use]
    pub fn is_at_rest(&self, now: Instant) -> bool {
        self.flying.is_none() && self.doubt.is_none_or(|doubt| now >= doubt.until)
    }
}

#[cfg(test)]
mod tests;
