//! The fence: which writes a resource accepts. Pure.

use leaseproof_model::fence::{Admission, Mark};
use leaseproof_model::name::{OwnerName, Token};
use leaseproof_model::scenario::WitnessMode;
use serde::{Deserialize, Serialize};

/// A known way in which a resource's fence is broken.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WitnessFlaw {
    /// Accepts every write.
    AcceptAll,
    /// Keeps its mark in memory only, and forgets it when it restarts.
    ForgetOnRestart,
    /// Compares tokens for equality with the first one that it saw.
    Equality,
    /// Belongs to the first owner that wrote, for ever.
    FirstWriterWins,
}

impl WitnessFlaw {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::AcceptAll,
        Self::ForgetOnRestart,
        Self::Equality,
        Self::FirstWriterWins,
    ];

    /// The name that people type.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AcceptAll => "accept-all",
            Self::ForgetOnRestart => "forget-on-restart",
            Self::Equality => "equality",
            Self::FirstWriterWins => "first-writer-wins",
        }
    }

    /// The one with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.as_str() == name)
    }
}

/// What the fence makes of one write.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// It is accepted.
    Accepted,
    /// It is rejected: its token is below the mark.
    Stale,
}

/// The state of a fence: the greatest token that it accepted.
#[derive(Clone, Debug)]
pub struct Fence {
    flaw: Option<WitnessFlaw>,
    highest: Option<Token>,
    first_token: Option<Token>,
    first_owner: Option<OwnerName>,
}

impl Fence {
    /// A fence that knows `highest` already; `flaw` breaks it.
    #[must_use]
    pub fn new(highest: Option<Token>, flaw: Option<WitnessFlaw>) -> Self {
        Self {
            flaw,
            highest,
            first_token: highest,
            first_owner: None,
        }
    }

    /// The greatest token accepted so far.
    #[must_use]
    pub fn highest(&self) -> Option<Token> {
        self.highest
    }

    /// What to do with a write, without doing it. A write without a token is never fenced: it is
    /// accepted, and the record says that it was unfenced.
    #[must_use]
    pub fn decide(&self, mode: WitnessMode, owner: &OwnerName, token: Option<Token>) -> Decision {
        let Some(token) = token.filter(|_| mode == WitnessMode::Enforce) else {
            return Decision::Accepted;
        };
        let fits = match self.flaw {
            None | Some(WitnessFlaw::ForgetOnRestart) => {
                !matches!(Mark(self.highest).admit(token), Admission::Stale { .. })
            }
            Some(WitnessFlaw::AcceptAll) => true,
            Some(WitnessFlaw::Equality) => self.first_token.is_none_or(|first| token == first),
            Some(WitnessFlaw::FirstWriterWins) => self.first_owner.as_ref().is_none_or(|first| first == owner),
        };
        if fits { Decision::Accepted } else { Decision::Stale }
    }

    /// Takes note of an accepted write; true if it raised the mark, which must then be written down
    /// before the answer is sent.
    pub fn accept(&mut self, owner: &OwnerName, token: Option<Token>) -> bool {
        self.first_owner.get_or_insert_with(|| owner.clone());
        let Some(token) = token else { return false };
        self.first_token.get_or_insert(token);
        let raised = self.highest.is_none_or(|mark| token > mark);
        if raised {
            self.highest = Some(token);
        }
        raised
    }
}
