//! The wrong statements that some flaws send to the store: what real clients were seen to send.
//!
//! They are kept apart from the store's adapters, which must not offer them.

#[cfg(feature = "etcd")]
mod etcd;
#[cfg(feature = "postgres")]
mod postgres;
mod redis;
mod session;
mod sqlite;

use crate::flaw::Flaw;
#[cfg(feature = "etcd")]
use crate::flawed::etcd::Etcd;
#[cfg(feature = "postgres")]
use crate::flawed::postgres::Postgres;
use crate::flawed::redis::Redis;
use crate::flawed::session::Sessions;
use crate::flawed::sqlite::Sqlite;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::Outcome;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{HolderId, Token};
use leaseproof_proc::clock::boot_now;
use leaseproof_store::{Done, Grant, Refusal, StoreUrl};
use std::fmt;
use std::time::Duration;

/// How far apart the two steps of a two-step acquire are.
const BETWEEN_STEPS: Duration = Duration::from_millis(100);

/// What a wrong statement came to: the store's answer, or words when nobody knows.
type Answer<T> = Result<Result<T, Refusal>, String>;

/// Statements that no sound owner sends. Each call opens a connection of its own.
trait Wrong {
    /// Grants the lease without a TTL, if nobody holds it.
    fn grant_without_ttl(&self, key: &str, holder: &HolderId, timeout: Duration) -> Answer<Token>;
    /// Grants the lease with the token of the last grant, if nobody holds it.
    fn grant_with_old_token(&self, key: &str, holder: &HolderId, ttl: Duration, timeout: Duration) -> Answer<Token>;
    /// Gives a TTL to a grant that has none; the grant's token from then on.
    fn give_ttl(&self, key: &str, _: &HolderId, token: Token, ttl: Duration, timeout: Duration) -> Answer<Token> {
        Ok(self.expire(key, ttl, timeout)?.map(|()| token))
    }
    /// Sets the expiry, whoever holds the lease.
    fn expire(&self, key: &str, ttl: Duration, timeout: Duration) -> Answer<()>;
    /// Extends the grant, and puts it back where nobody holds the lease.
    fn revive(&self, grant: &Grant, granted: BootNanos, ttl: Duration, timeout: Duration) -> Answer<()>;
    /// Removes the lease, whoever holds it.
    fn remove(&self, key: &str, timeout: Duration) -> Answer<()>;
}

/// The wrong statements, for whatever store it is.
pub struct Flawed(Box<dyn Wrong>);

impl fmt::Debug for Flawed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Flawed")
    }
}

impl Flawed {
    /// For this flaw on this store.
    ///
    /// # Errors
    /// When its URL can't be used, or the store has no statement for the flaw.
    pub fn open(url: &StoreUrl, flaw: Flaw) -> Result<Self, String> {
        Ok(Self(match (url.path(), url.kind()) {
            (Some(path), _) => Box::new(Sqlite::new(path)?),
            (None, "redis") => Box::new(Redis::new(&url.with_secrets())?),
            #[cfg(feature = "etcd")]
            (None, "etcd") => Box::new(Etcd::new(url)?),
            #[cfg(feature = "postgres")]
            (None, "postgres") => Box::new(Postgres::new(&url.with_secrets())?),
            (None, _) if flaw == Flaw::BlindRelease => Box::new(Sessions(url.clone())),
            (None, kind) => {
                return Err(format!(
                    "the flaw {flaw} can't be shown on {kind}, which has no statement for it: choose another"
                ));
            }
        }))
    }

    /// Acquires without a TTL.
    pub fn acquire_without_ttl(&self, key: &str, owner: &str, timeout: Duration) -> Done<Grant> {
        self.acquire(key, owner, |holder| self.0.grant_without_ttl(key, holder, timeout))
    }

    /// Acquires in one step, and sets the TTL in another.
    pub fn acquire_in_two_steps(&self, key: &str, owner: &str, ttl: Duration, timeout: Duration) -> Done<Grant> {
        self.acquire(key, owner, |holder| {
            let granted = self.0.grant_without_ttl(key, holder, timeout)?;
            let Ok(token) = granted else { return Ok(granted) };
            std::thread::sleep(BETWEEN_STEPS);
            let given = self.0.give_ttl(key, holder, token, ttl, timeout)?;
            Ok(Ok(given.unwrap_or(token)))
        })
    }

    /// Acquires without raising the token.
    pub fn acquire_with_old_token(&self, key: &str, owner: &str, ttl: Duration, timeout: Duration) -> Done<Grant> {
        self.acquire(key, owner, |holder| {
            self.0.grant_with_old_token(key, holder, ttl, timeout)
        })
    }

    /// Extends the lease, whoever holds it.
    pub fn renew_blindly(&self, key: &str, ttl: Duration, timeout: Duration) -> Done<()> {
        done(|| self.0.expire(key, ttl, timeout))
    }

    /// Extends the grant, and puts it back when it is gone.
    pub fn revive(&self, grant: &Grant, granted: BootNanos, ttl: Duration, timeout: Duration) -> Done<()> {
        done(|| self.0.revive(grant, granted, ttl, timeout))
    }

    /// Removes the lease, whoever holds it.
    pub fn release_blindly(&self, key: &str, timeout: Duration) -> Done<()> {
        done(|| self.0.remove(key, timeout))
    }

    fn acquire(&self, key: &str, owner: &str, grant: impl FnOnce(&HolderId) -> Answer<Token>) -> Done<Grant> {
        // Not random, but no other grant has it: two never begin in one nanosecond of one process. It is
        // positive as a signed number too, since etcd's is the id of a lease.
        let incarnation = (boot_now().0 ^ (u64::from(std::process::id()) << 44)) & (u64::MAX >> 1);
        let holder = HolderId::from(format!("{owner}#{incarnation:016x}"));
        done(|| {
            let token = grant(&holder)?;
            Ok(token.map(|token| Grant {
                key: key.to_owned(),
                holder: holder.clone(),
                token,
            }))
        })
    }
}

fn done<T>(work: impl FnOnce() -> Answer<T>) -> Done<T> {
    let before = boot_now();
    let answer = work();
    let during = Moment::between(before, boot_now());
    let (outcome, value, refusal, reason) = match answer {
        Ok(Ok(value)) => (Outcome::Applied, Some(value), None, None),
        Ok(Err(refusal)) => (
            Outcome::NotApplied,
            None,
            Some(refusal),
            Some(refusal.words().to_owned()),
        ),
        Err(why) => (Outcome::Unknown, None, None, Some(why)),
    };
    Done {
        outcome,
        value,
        refusal,
        reason,
        during,
        store_time: None,
        needs_mending: false,
    }
}
