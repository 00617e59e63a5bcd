//! What is broken on purpose, to see that it is found. It is there with the feature `flaws` only, which is for tests:
//! without it nothing here does anything.

use crate::protocol::Answer;
use leaseproof_model::clock::BootNanos;

/// One known way in which an owner is broken, and sound in every other.
#[cfg(feature = "flaws")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flaw {
    /// A permit asks neither the clock nor the thread that renews.
    PermitUnchecked,
    /// Validity is counted from the answer, not from the request.
    ValidityFromAnswer,
    /// A renewal whose outcome nobody knows counts as applied.
    UnknownExtends,
    /// A refused renewal counts as applied.
    SilentRetain,
    /// A lease that was given up is said to be released, renewed for two heartbeats more, and only then released.
    RenewAfterDrop,
}

#[cfg(feature = "flaws")]
impl Flaw {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::PermitUnchecked,
        Self::ValidityFromAnswer,
        Self::UnknownExtends,
        Self::SilentRetain,
        Self::RenewAfterDrop,
    ];

    /// The name that people type.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PermitUnchecked => "permit-unchecked",
            Self::ValidityFromAnswer => "validity-from-answer",
            Self::UnknownExtends => "unknown-extends",
            Self::SilentRetain => "silent-retain",
            Self::RenewAfterDrop => "renew-after-drop",
        }
    }

    /// The one with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.as_str() == name)
    }
}

/// The flaw of one lease, if any.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bent {
    #[cfg(feature = "flaws")]
    pub(crate) flaw: Option<Flaw>,
}

#[cfg(not(feature = "flaws"))]
impl Bent {
    pub(crate) fn answer(self, answer: Answer) -> Answer {
        answer
    }

    pub(crate) fn sent(self, sent: BootNanos, _now: BootNanos) -> BootNanos {
        sent
    }
}

#[cfg(feature = "flaws")]
impl Bent {
    /// What is made of an answer.
    pub(crate) fn answer(self, answer: Answer) -> Answer {
        match (self.flaw, answer) {
            (Some(Flaw::UnknownExtends), Answer::Unknown) | (Some(Flaw::SilentRetain), Answer::Refused) => {
                Answer::Applied
            }
            _ => answer,
        }
    }

    /// From when validity is counted.
    pub(crate) fn sent(self, sent: BootNanos, now: BootNanos) -> BootNanos {
        match self.flaw {
            Some(Flaw::ValidityFromAnswer) => now,
            _ => sent,
        }
    }

    pub(crate) fn has(self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }
}
