//! Lock stores: one required trait ([`Observe`]), optional ones ([`Lease`], [`Administer`], [`Inspect`]), one
//! adapter a store.
//!
//! Everything blocks, and every call has a deadline of its own: a store that does not answer is an
//! outcome (*unknown*), not a hang. Start at [`open_observer`], [`open_lease`] and [`open_inspector`].
//!
//! - [`Pipelined`]: many leases of one owner, on one connection; [`open_pipelined`] opens it (Redis)
//! - [`Inspect`]: what a store shows beside the lease, and the list of what may be sent for it
//! - [`url`]: which store, and how to reach it; [`role`]: which of its members leads
//! - `patience`: time-outs count running time, so that a pause of ours is no time-out of the store
//! - `value`: what is stored as the holder, and what of it may be shown
//! - `seen`: when a state was seen last, so that a change has a bracket
//! - `wire`: the bytes between us and a server; `http`: requests on them
//! - `sqlite`, `redis`, `etcd`, `postgres`, `zookeeper`, `consul`: the adapters

// A build with some of the stores leaves gaps that the whole one has not, and the whole one is linted.
#![cfg_attr(
    not(all(
        feature = "sqlite",
        feature = "redis",
        feature = "etcd",
        feature = "postgres",
        feature = "zookeeper",
        feature = "consul"
    )),
    allow(
        dead_code,
        irrefutable_let_patterns,
        unreachable_patterns,
        unused_imports,
        unused_variables
    )
)]

use leaseproof_model::event::Reading;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{HolderId, Token};
use leaseproof_model::store::StoreFacts;
use std::time::Duration;

mod clock;
#[cfg(feature = "consul")]
mod consul;
mod done;
mod error;
#[cfg(feature = "etcd")]
mod etcd;
#[cfg(feature = "http")]
mod http;
mod inspect;
mod patience;
mod pipelined;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
mod role;
mod seen;
#[cfg(feature = "sqlite")]
mod sqlite;
pub mod url;
mod usual;
mod value;
mod wire;
#[cfg(feature = "zookeeper")]
mod zookeeper;

pub use crate::clock::boot_now;
pub use crate::done::{Done, Refusal};
pub use crate::error::{Lasts, StoreError};
pub use crate::inspect::{ALLOWED, Allowed, Hints, Inspect, open_inspector, shown_key};
pub use crate::pipelined::{Answered, Operation, Pipelined, Ticket, What, open_pipelined};
pub use crate::role::{primary, role};
pub use crate::url::StoreUrl;
pub use crate::usual::usual_facts;

/// The required trait: look at a lease. Read-only by its type.
pub trait Observe: Send {
    /// The store's semantics, as data.
    fn facts(&self) -> &StoreFacts;

    /// One consistent reading of `key`, and the interval in which it was taken.
    ///
    /// # Errors
    /// When the store does not answer within the observer's time-out, or answers something else.
    fn read(&mut self, key: &str) -> Result<(Moment, Reading), StoreError>;

    /// Asks this member of the store from the next look on, by its place in the URL: whoever knows that the
    /// one asked so far stands still spares a look that is never answered. A store of one has no other.
    fn prefer(&mut self, member: usize) {
        let _ = member;
    }

    /// Like `read`, but proves that no writer is in the middle of a transaction, where the store can
    /// (SQLite: `BEGIN IMMEDIATE` succeeded). Elsewhere the same as `read`.
    ///
    /// # Errors
    /// As `read`; on a blocked store [`StoreError::Blocked`].
    fn read_proving_expiry(&mut self, key: &str) -> Result<(Moment, Reading), StoreError> {
        self.read(key)
    }

    /// Many keys at once, which may be no UTF-8; one answer a key in the same order. Each reading is as consistent
    /// as that of `read`; its `previous` may be missing, since who looks at so many keeps their states anyway.
    ///
    /// # Errors
    /// The outer one when the store as a whole does not answer; the inner one when a key is none that a
    /// lease could be, or no text where this store's keys are.
    fn read_keys(&mut self, keys: &[&[u8]]) -> Result<Vec<OneOfMany>, StoreError> {
        texts(keys, inspect::text_key, |keys| one_by_one(keys, |key| self.read(key)))
    }

    /// The same, of keys that are text.
    ///
    /// # Errors
    /// As [`Self::read_keys`].
    fn read_many(&mut self, keys: &[&str]) -> Result<Vec<OneOfMany>, StoreError> {
        let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
        self.read_keys(&keys)
    }

    /// When the expiry was looked at that the last of `read_keys` shows for a key, where that was before the
    /// reading itself: a store that tells each TTL apart is not asked for all of them each time.
    fn expiry_seen(&self, key: &[u8]) -> Option<Moment> {
        let _ = key;
        None
    }

    /// Whether what answered last may be behind the store's newest state: a replica, where the adapter can see
    /// that.
    fn may_be_behind(&self) -> bool {
        false
    }

    /// What was found out about the way to the store and should be told, once: that a slower one is taken, say.
    fn note(&mut self) -> Option<String> {
        None
    }

    /// The leases below a prefix, as far as the store has a trace of them (a lease or its token
    /// counter), at most `most`. `None` where the store can't list, or this adapter does not.
    ///
    /// # Errors
    /// When the store does not answer, or refuses to list.
    fn leases_below(&mut self, prefix: &str, most: usize) -> Result<Option<Listing>, StoreError> {
        let _ = (prefix, most);
        Ok(None)
    }
}

/// The readings of many keys, one after the other.
fn one_by_one<K: Copy>(
    keys: &[K],
    mut read: impl FnMut(K) -> Result<(Moment, Reading), StoreError>,
) -> Result<Vec<OneOfMany>, StoreError> {
    let mut answers = Vec::with_capacity(keys.len());
    for &key in keys {
        answers.push(match read(key) {
            // What is wrong with one key says nothing about the next.
            Err(error @ (StoreError::Unexpected(_) | StoreError::OtherProtocol(_) | StoreError::NoHolder { .. })) => {
                Err(error)
            }
            Err(error) => return Err(error),
            Ok(seen) => Ok(seen),
        });
    }
    Ok(answers)
}

/// Readings on a store whose keys are text: those that are none are no reason to leave out the others.
fn texts<'k>(
    keys: &[&'k [u8]],
    text: impl Fn(&'k [u8]) -> Result<&'k str, StoreError>,
    read: impl FnOnce(&[&'k str]) -> Result<Vec<OneOfMany>, StoreError>,
) -> Result<Vec<OneOfMany>, StoreError> {
    let names: Vec<Result<&str, StoreError>> = keys.iter().map(|key| text(key)).collect();
    let texts: Vec<&str> = names.iter().filter_map(|name| name.as_ref().ok().copied()).collect();
    let mut answers = read(&texts)?.into_iter();
    // There is an answer to each key that was asked for.
    Ok(names
        .into_iter()
        .filter_map(|name| match name {
            Ok(_) => answers.next(),
            Err(error) => Some(Err(error)),
        })
        .collect())
}

/// The answer for one key of [`Observe::read_keys`].
pub type OneOfMany = Result<(Moment, Reading), StoreError>;

/// The leases below a prefix.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listing {
    /// Their keys, sorted, each once.
    pub keys: Vec<String>,
    /// Whether there may be more: the bound was reached.
    pub more: bool,
    /// Keys whose names are not UTF-8: they can't be named here, and are left out.
    pub not_text: u64,
}

/// A grant, as the holder knows it: a name alone never identifies it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grant {
    /// The key.
    pub key: String,
    /// The holder's name and this grant's incarnation, as stored: `<name>#<incarnation>`. A reading
    /// of this grant shows the same text.
    pub holder: HolderId,
    /// The fencing token.
    pub token: Token,
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

    /// Drops the connection and opens another at the next use. To be called after an unknown
    /// outcome: the connection may be one that the network has forgotten.
    fn reconnect(&mut self);
}

/// The optional trait of the lab: prepares a canary store, acts as a fault on canary keys, cleans up.
///
/// Nothing here flushes: each change names its keys.
pub trait Administer: Send {
    /// Makes the store ready (SQLite: the file and its table). Changes nothing that is there.
    ///
    /// # Errors
    /// When the store can't be reached or made ready.
    fn prepare(&mut self) -> Result<(), StoreError>;

    /// Gives the lease to `holder`, whoever has it, with the next token, in one atomic step.
    fn steal(&mut self, key: &str, holder: &str, ttl: Duration) -> Done<Grant>;

    /// Removes the lease, whoever has it; its token counter stays.
    fn delete(&mut self, key: &str) -> Done<()>;

    /// Removes exactly these keys and their token counters, and says how many leases or counters
    /// were there.
    ///
    /// # Errors
    /// When the store does not answer; some keys may be gone then, and a repeat does the rest.
    fn clean(&mut self, keys: &[String]) -> Result<u64, StoreError>;

    /// How many keys the store holds that do not begin with `prefix`; the search is bounded, so a
    /// great number may be the bound. Whether there are any is exact up to 100,000 keys.
    ///
    /// # Errors
    /// When the store does not answer.
    fn foreign_keys(&mut self, prefix: &str) -> Result<u64, StoreError>;

    /// The primary that this store replicates; `None` if it is a primary itself.
    ///
    /// # Errors
    /// When the store does not answer.
    fn replica_of(&mut self) -> Result<Option<String>, StoreError>;

    /// Whether what this store shows may be behind the truth.
    ///
    /// # Errors
    /// When the store does not answer.
    fn is_replica(&mut self) -> Result<bool, StoreError> {
        self.replica_of().map(|primary| primary.is_some())
    }
}

/// Opens an observer; `timeout` bounds each of its calls, this one too. Only PostgreSQL gets three
/// seconds for this one where `timeout` is shorter: it starts a process for each connection.
///
/// # Errors
/// When nothing answers there, or it refuses. A replica may be observed.
pub fn open_observer(url: &StoreUrl, timeout: Duration) -> Result<Box<dyn Observe>, StoreError> {
    Ok(match url {
        #[cfg(feature = "sqlite")]
        StoreUrl::Sqlite(file) => Box::new(sqlite::Observer::open(file, timeout)?),
        #[cfg(feature = "redis")]
        StoreUrl::Redis(url) => redis::observer(url, timeout)?,
        #[cfg(feature = "etcd")]
        StoreUrl::Etcd(server) => Box::new(etcd::Observer::open(server, timeout)?),
        #[cfg(feature = "postgres")]
        StoreUrl::Postgres(server) => Box::new(postgres::Observer::open(server, timeout)?),
        #[cfg(feature = "zookeeper")]
        StoreUrl::ZooKeeper(url) => Box::new(zookeeper::Observer::open(url, timeout)?),
        #[cfg(feature = "consul")]
        StoreUrl::Consul(url) => Box::new(consul::Observer::open(url, timeout)?),
    })
}

/// Opens a store for acquiring. Nothing is connected before the first use, so that an owner can be
/// started before its store; a call's own time-out bounds the connecting too.
///
/// # Errors
/// When the URL names something that can't be used (a CA file that isn't there).
pub fn open_lease(url: &StoreUrl, connect_timeout: Duration) -> Result<Box<dyn Lease>, StoreError> {
    Ok(match url {
        #[cfg(feature = "sqlite")]
        StoreUrl::Sqlite(file) => Box::new(sqlite::Owner::open(file)),
        #[cfg(feature = "redis")]
        StoreUrl::Redis(url) => redis::lease(url, connect_timeout)?,
        #[cfg(feature = "etcd")]
        StoreUrl::Etcd(server) => Box::new(etcd::Owner::open(server, connect_timeout)?),
        #[cfg(feature = "postgres")]
        StoreUrl::Postgres(server) => Box::new(postgres::Owner::open(server, connect_timeout)?),
        #[cfg(feature = "zookeeper")]
        StoreUrl::ZooKeeper(url) => Box::new(zookeeper::Owner::open(url, connect_timeout)?),
        #[cfg(feature = "consul")]
        StoreUrl::Consul(url) => Box::new(consul::Owner::open(url, connect_timeout)?),
    })
}

/// Opens a store for the lab; `timeout` bounds each call.
///
/// # Errors
/// When nothing answers there, it refuses, or it is a replica.
pub fn open_administrator(url: &StoreUrl, timeout: Duration) -> Result<Box<dyn Administer>, StoreError> {
    Ok(match url {
        #[cfg(feature = "sqlite")]
        StoreUrl::Sqlite(file) => Box::new(sqlite::Administrator::open(file, timeout)),
        #[cfg(feature = "redis")]
        StoreUrl::Redis(url) => redis::administrator(url, timeout)?,
        #[cfg(feature = "etcd")]
        StoreUrl::Etcd(server) => Box::new(etcd::Administrator::open(server, timeout)?),
        #[cfg(feature = "postgres")]
        StoreUrl::Postgres(server) => Box::new(postgres::Administrator::open(server, timeout)?),
        #[cfg(feature = "zookeeper")]
        StoreUrl::ZooKeeper(url) => Box::new(zookeeper::Administrator::open(url, timeout)?),
        #[cfg(feature = "consul")]
        StoreUrl::Consul(url) => Box::new(consul::Administrator::open(url, timeout)?),
    })
}

/// What the store at `url` may cut off a TTL, at most; nothing is asked of it.
#[must_use]
pub fn early_slack(url: &StoreUrl) -> Duration {
    match url {
        #[cfg(feature = "redis")]
        StoreUrl::Redis(url) => redis::early_slack(url),
        #[cfg(feature = "postgres")]
        StoreUrl::Postgres(_) => postgres::EARLY_SLACK,
        _ => Duration::ZERO,
    }
}

/// The store's semantics, asked of the store where they depend on its version or its settings.
///
/// On etcd this grants and revokes a lease of one second that has no key: only an answer to a grant
/// shows the smallest TTL. An observer's own facts say what is usual instead.
///
/// # Errors
/// As [`open_observer`].
pub fn facts(url: &StoreUrl, timeout: Duration) -> Result<StoreFacts, StoreError> {
    match url {
        #[cfg(feature = "sqlite")]
        StoreUrl::Sqlite(_) => Ok(sqlite::facts()),
        #[cfg(feature = "redis")]
        StoreUrl::Redis(url) => Ok(redis::observer(url, timeout)?.facts().clone()),
        #[cfg(feature = "etcd")]
        StoreUrl::Etcd(server) => etcd::facts(server, timeout),
        #[cfg(feature = "postgres")]
        StoreUrl::Postgres(_) => Ok(open_observer(url, timeout)?.facts().clone()),
        #[cfg(feature = "zookeeper")]
        StoreUrl::ZooKeeper(url) => Ok(zookeeper::Observer::open(url, timeout)?.facts().clone()),
        #[cfg(feature = "consul")]
        StoreUrl::Consul(url) => Ok(consul::Observer::open(url, timeout)?.facts().clone()),
    }
}
