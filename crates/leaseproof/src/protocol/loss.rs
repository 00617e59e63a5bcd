//! Why a lease is held no more.

use std::fmt;

/// Why a lease is held no more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Loss {
    /// Its validity passed, by the boot clock, before a renewal was known to be applied.
    Expired,
    /// The store said that this grant does not hold.
    Refused,
    /// A renewal's outcome is unknown, and the policy is the strict one.
    Unknown,
    /// The work that it was held for has shown no sign of life for as long as was agreed.
    WorkStopped,
    /// The protected resource has seen a greater token.
    Fenced,
    /// It was released, or its guard was dropped.
    Released,
}

impl Loss {
    /// Its name in events and metrics: it never changes.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
            Self::WorkStopped => "work_stopped",
            Self::Fenced => "fenced",
            Self::Released => "released",
        }
    }

    /// Whether the grant is given back after it, by holder and incarnation: a successor need not wait for the TTL. What
    /// the store refused is another's already.
    #[must_use]
    pub fn gives_back(self) -> bool {
        self != Self::Refused
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expired => "its validity passed before a renewal was known to be applied",
            Self::Refused => "the store says that this grant does not hold any more",
            Self::Unknown => "nobody knows what became of a renewal",
            Self::WorkStopped => "the work that it was held for shows no sign of life",
            Self::Fenced => "the resource has seen a greater token",
            Self::Released => "it was released",
        })
    }
}
