//! What an operation on a lease came to.

use crate::error::StoreError;
#[cfg(any(feature = "consul", feature = "zookeeper"))]
use crate::{clock::boot_now, wire::Failed};
#[cfg(any(feature = "consul", feature = "zookeeper"))]
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::Outcome;
use leaseproof_model::moment::Moment;
use std::time::Duration;

/// Why the store itself refused, definitely. Only this ends a holder's belief: an attempt that never
/// reached the store is *not applied* too, and says nothing about who holds the lease.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// An acquire: another grant holds the lease.
    Held,
    /// An acquire: the key is there without a TTL, a lease or a session. It is no lease, and nothing ends it.
    Endless,
    /// A renewal or release: another grant holds the lease.
    NotTheHolder,
    /// A renewal, release or removal: nobody holds the lease, it is absent or expired.
    Gone,
}

impl Refusal {
    /// The same in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Held => "another holds the lease",
            Self::Endless => "the key is there with neither TTL nor session: it is no lease, and never ends by itself",
            Self::NotTheHolder => "not the holder",
            Self::Gone => "the lease is absent or expired",
        }
    }
}

/// What an acquire, renew or release came to.
#[derive(Clone, Debug)]
pub struct Done<T> {
    /// Applied, not applied or unknown.
    pub outcome: Outcome,
    /// Present exactly when applied.
    pub value: Option<T>,
    /// Present exactly when the store itself refused. *Not applied* without it: the request
    /// certainly never took effect (nobody answered, an error of the store), and a retry is safe.
    pub refusal: Option<Refusal>,
    /// Why not, in words fit for a log line.
    pub reason: Option<String>,
    /// From before the request was sent to after the answer was read (or the deadline passed).
    pub during: Moment,
    /// The store's own wall time at which it was applied, since 1970, where the store gives it along.
    pub store_time: Option<Duration>,
    /// Not applied, and asking again is of no use before somebody mends the call or the store: see
    /// [`StoreError::needs_mending`].
    pub needs_mending: bool,
}

/// Why something was not applied.
pub(crate) struct Why {
    words: String,
    needs_mending: bool,
}

impl From<StoreError> for Why {
    fn from(error: StoreError) -> Self {
        Self {
            needs_mending: error.needs_mending(),
            words: error.to_string(),
        }
    }
}

impl From<String> for Why {
    fn from(words: String) -> Self {
        Self {
            words,
            needs_mending: false,
        }
    }
}

impl From<&str> for Why {
    fn from(words: &str) -> Self {
        words.to_owned().into()
    }
}

/// What a step came to, without its moments.
#[cfg(any(feature = "consul", feature = "zookeeper"))]
pub(crate) type Step<T> = Result<Result<T, Refusal>, Failed>;

impl<T> Done<T> {
    /// A step that was asked at `asked` and is over now.
    #[cfg(any(feature = "consul", feature = "zookeeper"))]
    pub(crate) fn of(asked: BootNanos, step: Step<T>) -> Self {
        let during = Moment::between(asked, boot_now());
        match step {
            Ok(Ok(value)) => Self::applied(value, during),
            Ok(Err(refusal)) => Self::refused(refusal, during),
            Err(Failed::NotSent(error)) => Self::failed(error, during),
            Err(Failed::Unknown(error)) => Self::unknown(error, during),
        }
    }

    pub(crate) fn applied(value: T, during: Moment) -> Self {
        Self {
            outcome: Outcome::Applied,
            value: Some(value),
            refusal: None,
            reason: None,
            during,
            store_time: None,
            needs_mending: false,
        }
    }

    pub(crate) fn refused(refusal: Refusal, during: Moment) -> Self {
        Self {
            outcome: Outcome::NotApplied,
            value: None,
            refusal: Some(refusal),
            reason: Some(refusal.words().to_owned()),
            during,
            store_time: None,
            needs_mending: false,
        }
    }

    pub(crate) fn failed(why: impl Into<Why>, during: Moment) -> Self {
        let Why { words, needs_mending } = why.into();
        Self {
            outcome: Outcome::NotApplied,
            value: None,
            refusal: None,
            reason: Some(words),
            during,
            store_time: None,
            needs_mending,
        }
    }

    pub(crate) fn unknown(reason: impl ToString, during: Moment) -> Self {
        Self {
            outcome: Outcome::Unknown,
            value: None,
            refusal: None,
            reason: Some(reason.to_string()),
            during,
            store_time: None,
            needs_mending: false,
        }
    }

    /// The same, with the store's own time in microseconds since 1970.
    #[cfg(any(feature = "postgres", feature = "redis"))]
    pub(crate) fn at_store_micros(self, micros: i64) -> Self {
        Self {
            store_time: u64::try_from(micros).ok().map(Duration::from_micros),
            ..self
        }
    }

    /// Whether the store itself refused, definitely.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.refusal.is_some()
    }
}
