//! Names of owners, processes, holders and tokens.

use serde::{Deserialize, Serialize};
use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

macro_rules! text_name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Arc<str>);

        impl $name {
            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(Arc::from(text))
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(Arc::from(text))
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_name!(
    /// One started owner process, unique in a scenario: seat, number of its start, letters of the run.
    /// `a1kqwrt`, `b1kqwrt`, and `a2kqwrt` where a supervisor started the first one anew: words that no
    /// other client of the store has by chance. The lab, as a silent successor, is `lab`.
    OwnerName
);
text_name!(
    /// What the store has as the holder of a grant. A foreign client's random value is stored as
    /// `value#` and a hash of it, so that it can be compared and is not disclosed.
    HolderId
);

impl OwnerName {
    /// The name under which the lab itself takes the lease.
    #[must_use]
    pub fn lab() -> Self {
        Self::from("lab")
    }

    /// Whether this is the lab itself.
    #[must_use]
    pub fn is_lab(&self) -> bool {
        self.as_str() == "lab"
    }
}

/// A fencing token: a number that strictly increases with every grant of a key.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(pub u64);

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A process: its pid and the tick at which it started, since pids are used again.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ProcessId {
    /// The pid in the lab's pid namespace.
    pub pid: u32,
    /// Field 22 of `/proc/<pid>/stat`: clock ticks after boot.
    pub start_ticks: u64,
}
