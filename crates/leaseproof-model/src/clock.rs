//! Clocks are types that do not mix.
//!
//! The reference clock of a live run is CLOCK_BOOTTIME: wall time steps, and CLOCK_MONOTONIC (so
//! `std::time::Instant`) stands still while the machine is suspended.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

macro_rules! nanos {
    ($(#[$doc:meta])* $name:ident, $int:ty) => {
        $(#[$doc])*
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $int);

        impl $name {
            /// This reading moved forward by `span`; saturates at the end of the range.
            #[must_use]
            pub fn plus(self, span: Duration) -> Self {
                Self(self.0.saturating_add(<$int>::try_from(span.as_nanos()).unwrap_or(<$int>::MAX)))
            }

            /// This reading moved back by `span`; saturates at the start of the range.
            #[must_use]
            pub fn minus(self, span: Duration) -> Self {
                Self(self.0.saturating_sub(<$int>::try_from(span.as_nanos()).unwrap_or(<$int>::MAX)))
            }

            /// The length from `earlier` to this reading; zero if `earlier` is later.
            #[must_use]
            pub fn since(self, earlier: Self) -> Duration {
                let span = self.0.saturating_sub(earlier.0);
                Duration::from_nanos(u64::try_from(span).unwrap_or(0))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

nanos!(
    /// Nanoseconds of CLOCK_BOOTTIME: since boot, suspension included.
    BootNanos,
    u64
);
nanos!(
    /// Nanoseconds of CLOCK_MONOTONIC: since boot, suspension left out.
    MonoNanos,
    u64
);
nanos!(
    /// Nanoseconds of CLOCK_REALTIME since 1970, UTC. It can step.
    WallNanos,
    i64
);

/// The three clocks of one host, read one right after the other.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Stamp {
    /// CLOCK_BOOTTIME.
    pub boot: BootNanos,
    /// CLOCK_MONOTONIC.
    pub mono: MonoNanos,
    /// CLOCK_REALTIME.
    pub wall: WallNanos,
}
