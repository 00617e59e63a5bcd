//! Many operations on their way at the same time: what an owner of very many leases needs of a store.

use crate::Grant;
use crate::done::Done;
use crate::error::{Lasts, StoreError};
#[cfg(feature = "redis")]
use crate::redis;
use crate::url::StoreUrl;
use std::task::Waker;
use std::time::Duration;

/// The optional trait of an owner of many leases: operations are sent without waiting for the ones before.
///
/// Nothing here blocks but [`turn`](Self::turn). What is said of an operation is the same as by
/// [`Lease`](crate::Lease), by the same step on the server, and each is answered exactly once: where its connection
/// is lost, or was silent for too long, as *unknown*, unless certainly no byte of it left.
pub trait Pipelined: Send {
    /// How many more may be put on their way now. It is bounded, so that an operation waits for the store and not for
    /// thousands of others before it: its time-out counts from the moment at which it is put.
    fn room(&self) -> usize;

    /// Puts one on its way; it leaves with the next turn at the latest. A moment that was read before this call is
    /// before the request left.
    ///
    /// `timeout` counts running time, as that of [`Lease`](crate::Lease) does.
    fn put(&mut self, ticket: Ticket, operation: Operation<'_>, timeout: Duration);

    /// Hands on what was put, and takes what was answered; waits for that, for `wait` at most.
    fn turn(&mut self, wait: Duration, answers: &mut Vec<Answered>);

    /// Ends a turn early, or the next one at once; from any thread.
    fn bell(&self) -> Waker;
}

/// By which an answer is told from others. Both numbers are the caller's, and mean nothing here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ticket {
    /// Whose operation it is.
    pub whose: u64,
    /// Which of its operations.
    pub number: u64,
}

/// What is asked for: see the functions of the same names of [`Lease`](crate::Lease).
#[derive(Clone, Copy, Debug)]
pub enum Operation<'a> {
    /// Tries once to acquire.
    Acquire {
        /// The key.
        key: &'a str,
        /// The holder's name, without an incarnation.
        holder: &'a str,
        /// For how long.
        ttl: Duration,
    },
    /// Extends the grant to a full TTL from now.
    Renew {
        /// The grant.
        grant: &'a Grant,
        /// For how long.
        ttl: Duration,
    },
    /// Gives the lease up.
    Release {
        /// The grant.
        grant: &'a Grant,
    },
}

/// An operation that is over.
#[derive(Debug)]
pub struct Answered {
    /// As it was put.
    pub ticket: Ticket,
    /// What it came to.
    pub what: What,
}

/// What an operation came to.
#[derive(Debug)]
pub enum What {
    /// An acquire.
    Acquire(Done<Grant>),
    /// A renewal.
    Renew(Done<()>),
    /// A release.
    Release(Done<()>),
}

/// Opens a store for an owner of many leases. Nothing is connected before the first use. A connection that could not be
/// made, or answered nothing, for `timeout` is given up.
///
/// # Errors
/// When the URL names something that can't be used, or a store that takes one operation after the other here.
pub fn open_pipelined(url: &StoreUrl, timeout: Duration) -> Result<Box<dyn Pipelined>, StoreError> {
    match url {
        #[cfg(feature = "redis")]
        StoreUrl::Redis(url) => redis::pipelined(url, timeout),
        _ => Err(none(url)),
    }
}

/// Why there is none.
pub(crate) fn none(url: &impl ToString) -> StoreError {
    let why = "many leases on one connection are held on one Redis server (redis:// or rediss://) only: hold each by a \
               connection of its own here";
    StoreError::refused(url, why, Lasts::Mended)
}
