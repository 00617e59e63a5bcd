//! Acquiring, renewing and releasing in the embedded store.

use crate::clock::boot_now;
use crate::done::{Done, Refusal};
use crate::error::StoreError;
use crate::patience::Patience;
use crate::sqlite::file::{self, Access, named, until_free};
use crate::sqlite::observer::boot_id;
use crate::sqlite::row::{Entry, LeaseRow, nanos};
use crate::value::{holder_id, holder_parts, new_incarnation};
use crate::{Grant, Lease};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::Token;
use rusqlite::{Connection, params};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Gives the lease to the holder, whoever has it. The condition is asked before, in the same
/// transaction.
pub(crate) const GRANT: &str = "
INSERT INTO lease (key, holder, incarnation, token, granted_boot_ns, renewed_boot_ns, expires_boot_ns, boot_id)
VALUES (?1, ?2, ?3, 1, ?4, ?4, ?5, ?6)
ON CONFLICT (key) DO UPDATE SET
    holder = excluded.holder, incarnation = excluded.incarnation, token = token + 1,
    granted_boot_ns = excluded.granted_boot_ns, renewed_boot_ns = excluded.renewed_boot_ns,
    expires_boot_ns = excluded.expires_boot_ns, boot_id = excluded.boot_id
RETURNING token";

const RENEW: &str = "UPDATE lease SET renewed_boot_ns = ?2, expires_boot_ns = ?3 WHERE key = ?1";

/// Frees the lease; the row keeps the counter.
pub(crate) const FREE: &str = "
UPDATE lease SET holder = NULL, incarnation = NULL, granted_boot_ns = NULL, renewed_boot_ns = NULL,
    expires_boot_ns = NULL, boot_id = NULL
WHERE key = ?1";

/// An owner's access.
#[derive(Debug)]
pub(crate) struct Owner {
    file: Writer,
}

impl Owner {
    pub(crate) fn open(path: &Path) -> Self {
        Self {
            file: Writer::new(path, Access::Create),
        }
    }
}

impl Lease for Owner {
    fn acquire(&mut self, key: &str, holder: &str, ttl: Duration, timeout: Duration) -> Done<Grant> {
        self.file.transact(timeout, |now| match now.lease(key)? {
            Some(lease) if !lease.is_over(now.at, now.boot_id) => Ok(Err(Refusal::Held)),
            _ => now.grant(key, holder, ttl).map(Ok),
        })
    }

    fn renew(&mut self, grant: &Grant, ttl: Duration, timeout: Duration) -> Done<()> {
        self.file.transact(timeout, |now| {
            if let Err(refusal) = now.check(grant)? {
                return Ok(Err(refusal));
            }
            now.connection.prepare_cached(RENEW)?.execute(params![
                grant.key,
                nanos(now.at),
                nanos(now.at.plus(ttl))
            ])?;
            Ok(Ok(()))
        })
    }

    fn release(&mut self, grant: &Grant, timeout: Duration) -> Done<()> {
        self.file.transact(timeout, |now| {
            if let Err(refusal) = now.check(grant)? {
                return Ok(Err(refusal));
            }
            now.connection.prepare_cached(FREE)?.execute([&grant.key])?;
            Ok(Ok(()))
        })
    }

    fn reconnect(&mut self) {
        self.file.connection = None;
    }
}

/// A writing connection, opened at the first use.
#[derive(Debug)]
pub(crate) struct Writer {
    path: PathBuf,
    access: Access,
    boot_id: Option<String>,
    connection: Option<Connection>,
}

/// The inside of a write transaction: the clock was read while the write lock was held, so no other
/// grant can come between this moment and the commit.
pub(crate) struct Now<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) at: BootNanos,
    boot_id: &'a str,
}

impl Now<'_> {
    fn lease(&self, key: &str) -> rusqlite::Result<Option<LeaseRow>> {
        Ok(Entry::read(self.connection, key)?.and_then(|entry| entry.lease))
    }

    /// Whether this very grant holds, now.
    fn check(&self, grant: &Grant) -> rusqlite::Result<Result<(), Refusal>> {
        let entry = Entry::read(self.connection, &grant.key)?;
        let counter = entry.as_ref().map(|entry| entry.counter);
        Ok(match entry.and_then(|entry| entry.lease) {
            None => Err(Refusal::Gone),
            Some(lease) if lease.id() != grant.holder || counter != Some(grant.token) => Err(Refusal::NotTheHolder),
            Some(lease) if lease.is_over(self.at, self.boot_id) => Err(Refusal::Gone),
            Some(_) => Ok(()),
        })
    }

    /// Gives the lease to `holder`, with the next token.
    pub(crate) fn grant(&self, key: &str, holder: &str, ttl: Duration) -> rusqlite::Result<Grant> {
        let id = holder_id(holder, &new_incarnation());
        let (holder, incarnation) = holder_parts(&id);
        let token: i64 = self.connection.prepare_cached(GRANT)?.query_row(
            params![
                key,
                holder,
                incarnation,
                nanos(self.at),
                nanos(self.at.plus(ttl)),
                self.boot_id
            ],
            // At the end of its range SQLite counts on as a real number.
            |row| Ok(row.get(0).unwrap_or(-1)),
        )?;
        // The transaction is rolled back then.
        let unusable = || rusqlite::Error::IntegralValueOutOfRange(0, token);
        let counted = u64::try_from(token).ok().filter(|token| *token > 0);
        Ok(Grant {
            key: key.to_owned(),
            holder: id,
            token: Token(counted.ok_or_else(unusable)?),
        })
    }
}

impl Writer {
    pub(crate) fn new(path: &Path, access: Access) -> Self {
        Self {
            path: path.to_owned(),
            access,
            boot_id: None,
            connection: None,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The open connection.
    pub(crate) fn connect(&mut self, patience: &mut Patience) -> Result<&Connection, StoreError> {
        if self.boot_id.is_none() {
            self.boot_id = Some(boot_id()?);
        }
        if self.connection.is_none() {
            self.connection = Some(file::open(&self.path, self.access, patience)?);
        }
        self.connection.as_ref().ok_or(StoreError::Blocked)
    }

    /// Runs `work` in one write transaction. A refusal is rolled back.
    pub(crate) fn transact<T>(
        &mut self,
        timeout: Duration,
        work: impl FnOnce(&Now<'_>) -> rusqlite::Result<Result<T, Refusal>>,
    ) -> Done<T> {
        let asked = boot_now();
        let during = || Moment::between(asked, boot_now());
        let mut patience = Patience::new(timeout);
        let path = self.path.clone();
        if let Err(error) = self.connect(&mut patience) {
            return Done::failed(error, during());
        }
        let (Some(connection), Some(boot_id)) = (&self.connection, &self.boot_id) else {
            return Done::failed(StoreError::Blocked, during());
        };
        // IMMEDIATE: a transaction that reads first and writes later fails with BUSY_SNAPSHOT, which
        // no waiting helps.
        let began = until_free(&mut patience, || connection.execute_batch("BEGIN IMMEDIATE"));
        if let Err(error) = began {
            return Done::failed(named(&path, error), during());
        }
        let now = Now {
            connection,
            at: boot_now(),
            boot_id,
        };
        let worked = work(&now);
        let ended = match worked {
            Ok(Ok(value)) => match connection.execute_batch("COMMIT") {
                Ok(()) => return Done::applied(value, during()),
                // An error of the disk in the commit: what the file has is not known.
                Err(error) => Done::unknown(named(&path, error), during()),
            },
            Ok(Err(refusal)) => Done::refused(refusal, during()),
            Err(error) => Done::failed(named(&path, error), during()),
        };
        if connection.execute_batch("ROLLBACK").is_err() {
            // SQLite has rolled back by itself, or can't: in both cases a new connection is clean.
            self.connection = None;
        }
        ended
    }
}
