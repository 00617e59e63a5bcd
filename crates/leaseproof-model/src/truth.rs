//! Three values: yes, no, cannot tell.

use serde::{Deserialize, Serialize};

/// The answer of a rule or a premise. "Cannot tell" is an answer of its own and never counts as a pass.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Truth {
    /// It holds, and the events that prove it are named.
    Yes,
    /// It does not hold.
    No,
    /// The evidence does not decide it.
    CannotTell,
}

impl Truth {
    /// Both hold (Kleene's strong "and").
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Yes, Self::Yes) => Self::Yes,
            _ => Self::CannotTell,
        }
    }

    /// One of them holds (Kleene's strong "or").
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Yes, _) | (_, Self::Yes) => Self::Yes,
            (Self::No, Self::No) => Self::No,
            _ => Self::CannotTell,
        }
    }

    /// It is known to hold.
    #[must_use]
    pub fn is_yes(self) -> bool {
        self == Self::Yes
    }
}

impl From<bool> for Truth {
    fn from(known: bool) -> Self {
        if known { Self::Yes } else { Self::No }
    }
}

impl std::ops::Not for Truth {
    type Output = Self;

    fn not(self) -> Self {
        match self {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            Self::CannotTell => Self::CannotTell,
        }
    }
}
