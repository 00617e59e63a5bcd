//! Until when permits are given: one atomic moment that the thread which asks the store moves, and those that work
//! compare with the clock.
//!
//! A permit is three steps: [`Validity::look`], the clock, [`Validity::permit`]. Whoever is stopped between the first
//! and the second reads the clock afterwards, so that a moment is never compared with a clock of before the pause.
//! The third sees an end that came meanwhile: the lease may have been given back since the first, and another may
//! have it long before the moment that was looked at. So a permit was right at the instant of the clock.

use super::Change;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::name::Token;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Not granted yet. No clock is ever before it.
const NOT_YET: u64 = 1;

/// Over for good.
const OVER: u64 = 0;

/// The permits of one grant.
#[derive(Debug)]
pub struct Validity {
    /// In nanoseconds of the boot clock, or one of the two above.
    until: AtomicU64,
    token: AtomicU64,
    /// Nothing is permitted although that moment has not come.
    doubted: AtomicBool,
}

/// What a first look saw; the clock is to be read after it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[must_use = "the clock is read next"]
pub struct Look(BootNanos);

impl Default for Validity {
    fn default() -> Self {
        Self {
            until: AtomicU64::new(NOT_YET),
            token: AtomicU64::new(0),
            doubted: AtomicBool::new(false),
        }
    }
}

impl Validity {
    /// The first step of a permit.
    #[inline]
    pub fn look(&self) -> Look {
        Look(BootNanos(self.until.load(Ordering::Acquire)))
    }

    /// The last step of a permit: the token, and the moment at which the permit ends. `now` was read after `look`.
    #[must_use]
    #[inline]
    pub fn permit(&self, look: Look, now: BootNanos) -> Option<(Token, BootNanos)> {
        if now >= look.0 || self.until.load(Ordering::Acquire) == OVER || self.is_doubted() {
            return None;
        }
        Some((self.token(), look.0))
    }

    /// Does what a step of the protocol came to; whether a doubt ended by it.
    pub fn change(&self, change: Change) -> bool {
        match change {
            Change::None => false,
            Change::Extend { token, until } => self.extend(token, until),
            Change::Doubt => {
                self.doubted.store(true, Ordering::Release);
                false
            }
            Change::End => {
                self.end();
                false
            }
        }
    }

    /// The store granted it, or extended it. Whoever ended it meanwhile has the last word, and no end moves back.
    /// Whether a doubt ended by it.
    pub fn extend(&self, token: Token, until: BootNanos) -> bool {
        self.token.store(token.0, Ordering::Relaxed);
        // A failure says that it is over, or valid for longer already: both stand.
        let _ = self
            .until
            .fetch_update(Ordering::Release, Ordering::Relaxed, |standing| {
                (standing != OVER && standing < until.0).then_some(until.0)
            });
        self.doubted.swap(false, Ordering::AcqRel)
    }

    /// No permit from here on, whatever the store may say later.
    pub fn end(&self) {
        self.until.store(OVER, Ordering::Release);
    }

    /// Whether nothing is permitted until the store has said what became of a renewal.
    #[must_use]
    #[inline]
    pub fn is_doubted(&self) -> bool {
        self.doubted.load(Ordering::Acquire)
    }

    /// The validity that stands, whatever the time; zero: none.
    #[must_use]
    pub fn until(&self) -> BootNanos {
        match self.until.load(Ordering::Acquire) {
            NOT_YET => BootNanos(OVER),
            until => BootNanos(until),
        }
    }

    /// The fencing token of the grant.
    #[must_use]
    pub fn token(&self) -> Token {
        Token(self.token.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held() -> Validity {
        let validity = Validity::default();
        validity.extend(Token(7), BootNanos(100));
        validity
    }

    #[test]
    fn a_permit_is_a_comparison_with_a_clock_that_was_read_later() {
        let validity = held();
        let look = validity.look();
        assert_eq!(validity.permit(look, BootNanos(99)), Some((Token(7), BootNanos(100))));
        assert_eq!(validity.permit(look, BootNanos(100)), None);
        let none = Validity::default();
        assert_eq!(none.permit(none.look(), BootNanos(1)), None);
    }

    /// It may have been given back, and granted to another, between the first look and the last.
    #[test]
    fn an_end_between_the_looks_counts() {
        let validity = held();
        let look = validity.look();
        validity.end();
        assert_eq!(validity.permit(look, BootNanos(50)), None);
    }

    #[test]
    fn nothing_is_permitted_in_doubt() {
        let validity = held();
        let look = validity.look();
        assert!(!validity.change(Change::Doubt));
        assert_eq!(validity.permit(look, BootNanos(50)), None);
        assert!(validity.extend(Token(7), BootNanos(100)), "the doubt ends");
        assert_eq!(validity.permit(look, BootNanos(50)), Some((Token(7), BootNanos(100))));
    }

    /// A renewal can be answered right after the work has said that it was fenced.
    #[test]
    fn what_was_ended_is_not_extended_and_no_end_moves_back() {
        let validity = held();
        validity.extend(Token(7), BootNanos(90));
        assert_eq!(validity.until(), BootNanos(100));
        validity.end();
        validity.extend(Token(7), BootNanos(200));
        assert_eq!(validity.until(), BootNanos(0));
        assert_eq!(validity.permit(validity.look(), BootNanos(50)), None);
    }
}
