//! The fence rule: which tokens a resource may still accept. Pure; the witness and the gate share it.

use crate::name::Token;

/// The greatest token that was ever admitted for one resource key; none yet for a new one.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Mark(pub Option<Token>);

/// What the rule makes of one token.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Admission {
    /// It is greater than the mark: the mark must be raised to it, durably, before the write goes on.
    Raises,
    /// It is the mark itself: the same holder writes again.
    Same,
    /// It is below the mark: a greater one was admitted before.
    Stale {
        /// The mark.
        highest: Token,
    },
}

impl Mark {
    /// What to do with a write that carries this token. Order decides, never equality with the first.
    #[must_use]
    pub fn admit(self, token: Token) -> Admission {
        match self.0 {
            Some(highest) if token < highest => Admission::Stale { highest },
            Some(highest) if token == highest => Admission::Same,
            _ => Admission::Raises,
        }
    }

    /// Raises the mark; it never goes down.
    pub fn raise(&mut self, token: Token) {
        self.0 = self.0.max(Some(token));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_decides() {
        let mut mark = Mark::default();
        assert_eq!(mark.admit(Token(0)), Admission::Raises);
        mark.raise(Token(10));
        assert_eq!(mark.admit(Token(9)), Admission::Stale { highest: Token(10) });
        assert_eq!(mark.admit(Token(10)), Admission::Same);
        assert_eq!(mark.admit(Token(11)), Admission::Raises);
        mark.raise(Token(3));
        assert_eq!(mark, Mark(Some(Token(10))));
    }
}
