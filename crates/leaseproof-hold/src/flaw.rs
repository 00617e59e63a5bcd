//! Ways to be broken, for tests of what must notice them. Without the feature `flaws` there is none.

/// A known way to be wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flaw {
    /// The command is not stopped when the validity ends, nor when the lease is lost.
    NoStop,
}

impl Flaw {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoStop => "no-stop",
        }
    }

    /// The flaw of this name; none in a build without flaws.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        (cfg!(feature = "flaws") && name == Self::NoStop.as_str()).then_some(Self::NoStop)
    }

    /// The one that the environment asks for.
    #[must_use]
    pub fn from_env() -> Option<Self> {
        std::env::var("LEASEPROOF_HOLD_FLAW")
            .ok()
            .and_then(|name| Self::from_name(&name))
    }
}
