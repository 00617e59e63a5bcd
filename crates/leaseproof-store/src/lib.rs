//! Lock stores: one required trait ([`Observe`]), optional ones, one adapter a store.
//!
//! Everything blocks, and every call has a deadline of its own: a store that does not answer is an
//! outcome (*unknown*), not a hang. Start at [`open`].

use leaseproof_model::event::{Outcome, Reading};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{HolderId, Token};
use leaseproof_model::store::StoreFacts;
use std::time::Duration;

mod error;
pub use error::StoreError;

/// The required trait: look at a lease. Read-only by its type.
pub trait Observe: Send {
    /// The store's semantics, as data.
    fn facts(&self) -> &StoreFacts;

    /// One consistent reading of `key`, and the interval in which it was taken.
    ///
    /// # Errors
    /// When the store does not answer within the observer's time-out, or answers something else.
    fn read(&mut self, key: &str) -> Result<(Moment, Reading), StoreError>;

    /// Like `read`, but proves that no writer is in the middle of a transaction, where the store can
    /// (SQLite: `BEGIN IMMEDIATE` succeeded). Elsewhere the same as `read`.
    ///
    /// # Errors
    /// As `read`; on a blocked store [`StoreError::Blocked`].
    fn read_proving_expiry(&mut self, key: &str) -> Result<(Moment, Reading), StoreError> {
        self.read(key)
    }
}

/// A grant, as the holder knows it: a name alone never identifies it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grant {
    /// The key.
    pub key: String,
    /// The holder's name and this grant's incarnation, as stored.
    pub holder: HolderId,
    /// The fencing token.
    pub token: Token,
}

/// What an acquire, renew or release came to.
#[derive(Clone, Debug)]
pub struct Done<T> {
    /// Applied, not applied or unknown.
    pub outcome: Outcome,
    /// Present exactly when applied.
    pub value: Option<T>,
    /// Why not, in words fit for a log line.
    pub reason: Option<String>,
    /// From before the request was sent to after the answer was read (or the deadline passed).
    pub during: Moment,
}

/// The optional trait of owners: acquire, renew, release.
///
/// `timeout` counts running time: after a pause of the process longer than the timeout, an answer
/// that already waits is read before the outcome is called unknown.
pub trait Lease: Send {
    /// Tries once to acquire `key` for `holder` with `ttl`. The grant's holder is made unique by
    /// an incarnation, the token is greater than every earlier one of the key.
    fn acquire(&mut self, key: &str, holder: &str, ttl: Duration, timeout: Duration) -> Done<Grant>;

    /// Extends the grant to a full TTL from now, if this very grant still holds and has not expired.
    fn renew(&mut self, grant: &Grant, ttl: Duration, timeout: Duration) -> Done<()>;

    /// Gives the lease up, if this very grant still holds it.
    fn release(&mut self, grant: &Grant, timeout: Duration) -> Done<()>;

    /// Drops the connection and opens another at the next use.
    fn reconnect(&mut self);
}
