//! The right to do one thing now.

use leaseproof_model::clock::BootNanos;
use leaseproof_model::name::Token;
use leaseproof_store::boot_now;
use std::time::Duration;

/// The right to begin one protected act, checked on the boot clock when it was given.
///
/// A pause between this check and the act can't be seen by any owner: send the token along, and let the resource
/// refuse a lower one than it has seen. For work in several steps ask for a permit before each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a permit says that something may be done now"]
pub struct Permit {
    pub(crate) token: Token,
    pub(crate) deadline: BootNanos,
}

impl Permit {
    /// The fencing token of the grant, to be sent with each write.
    #[must_use]
    pub fn token(&self) -> Token {
        self.token
    }

    /// When the validity that stood when the permit was given ends. A renewal may have moved it on meanwhile.
    #[must_use]
    pub fn deadline(&self) -> BootNanos {
        self.deadline
    }

    /// How long that is from now; zero once it has passed. Fit to be the time-out of a request.
    #[must_use]
    pub fn left(&self) -> Duration {
        self.deadline.since(boot_now())
    }

    /// Whether the deadline has not passed yet. It knows nothing of what the store said since.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        !self.left().is_zero()
    }
}
