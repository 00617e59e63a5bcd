//! Very many leases of one process: one thread and one connection for all of them.

mod crew;
mod office;
mod seat;
#[cfg(test)]
mod tests;

pub use office::Tally;

pub(crate) use office::Bell;

use crate::budget::Sound;
use crate::duty::Duty;
use crate::error::AcquireError;
use crate::lease::Lease;
use crate::options::Options;
use crate::shared::Shared;
use crate::store::Store;
use crew::Crew;
use leaseproof_store::boot_now;
use leaseproof_store::{Pipelined, open_pipelined};
use office::{Handle, Office};
use std::fmt;
use std::io;
use std::sync::Arc;

/// Very many leases of one process: one thread renews them all, on one connection, and waits for none of them.
///
/// A lease of it is a [`Lease`] like any other, and the same [`protocol`](crate::protocol) decides about it. A slow
/// answer delays no other lease's end: a permit is checked by the clock. What differs: a connection that is lost, or
/// answers nothing for a renewal time-out, makes the outcome of *all* renewals on their way unknown at once.
///
/// It is there for one Redis server (`redis://`, `rediss://`). On other stores each lease has a thread and a connection
/// of its own.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let keys: Vec<String> = Vec::new();
/// use leaseproof::{Budget, Fleet, Store};
///
/// let budget = Budget::load("leaseproof.toml")?.assert()?;
/// let store: Store = "redis://127.0.0.1:6379".parse()?;
/// let fleet = Fleet::new(&store, &budget)?;
/// let leases = fleet.acquire_all(&keys, |options| options); // all at once, and waits for each
/// for lease in leases {
///     let permit = lease?.permit()?;
/// }
/// # Ok(()) }
/// ```
///
/// The thread ends with the last lease of it, once nobody has the fleet itself any more. Clones are the same fleet.
#[derive(Clone)]
pub struct Fleet {
    handle: Arc<Handle>,
    store: Store,
    budget: Sound,
}

impl Fleet {
    /// Starts the thread. Nothing is connected before the first lease is wanted.
    ///
    /// # Errors
    /// When the store can't be used, or not in this way, or its slack breaks the budget.
    pub fn new(store: &Store, budget: &Sound) -> Result<Self, AcquireError> {
        let numbers = budget.less(store.early_slack())?;
        let line = open_pipelined(&store.0, numbers.renew_timeout)?;
        Self::over(line, store, budget)
    }

    fn over(line: Box<dyn Pipelined>, store: &Store, budget: &Sound) -> Result<Self, AcquireError> {
        let office = Arc::new(Office::new(line.bell()));
        let crew = Crew::new(line, Arc::clone(&office));
        let handle = Arc::new(Handle(office));
        std::thread::Builder::new()
            .name("fleet".to_owned())
            .spawn(move || crew.run())
            .map_err(AcquireError::Thread)?;
        Ok(Self {
            handle,
            store: store.clone(),
            budget: *budget,
        })
    }

    /// How the lease `key` is to be acquired and held; the usual options, on this fleet.
    #[must_use]
    pub fn options(&self, key: &str) -> Options {
        Options::new(&self.store, key, &self.budget).on(self)
    }

    /// Waits until the lease `key` is granted.
    ///
    /// # Errors
    /// When the fleet's thread is gone.
    pub fn acquire(&self, key: &str) -> Result<Lease, AcquireError> {
        self.options(key).acquire()
    }

    /// Asks for all of them at once, and waits for each as its options say; what came of each, in the order of the
    /// keys. With the usual options it waits until every one is granted.
    pub fn acquire_all<K: AsRef<str>>(
        &self,
        keys: impl IntoIterator<Item = K>,
        how: impl Fn(Options) -> Options,
    ) -> Vec<Result<Lease, AcquireError>> {
        let began = boot_now();
        let wanted = |key: K| {
            let options = how(self.options(key.as_ref()));
            let lease = options.start();
            (options, lease)
        };
        // All are on their way before the first is waited for.
        let started: Vec<_> = keys.into_iter().map(wanted).collect();
        started
            .into_iter()
            .map(|(options, lease)| options.wait(lease?, began))
            .collect()
    }

    /// What it has done so far.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.handle.tally()
    }

    /// One more lease: `duty` is told its bell.
    pub(crate) fn join(&self, duty: impl FnOnce(Bell) -> Duty) -> Result<Arc<Shared>, AcquireError> {
        let id = self.handle.number();
        let duty = duty(Bell {
            handle: Arc::clone(&self.handle),
            id,
        });
        let shared = Arc::clone(&duty.shared);
        if self.handle.join(id, duty) {
            Ok(shared)
        } else {
            Err(AcquireError::Thread(io::Error::other("the fleet's thread has ended")))
        }
    }
}

impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fleet")
            .field("store", &self.store)
            .field("tally", &self.tally())
            .finish_non_exhaustive()
    }
}
