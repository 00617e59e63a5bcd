//! The wrong statements on the embedded store.

use super::{Answer, Wrong};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::name::{HolderId, Token};
use leaseproof_proc::clock::boot_now;
use leaseproof_store::{Grant, Refusal};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use std::path::{Path, PathBuf};
use std::time::Duration;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS lease (
    key TEXT NOT NULL PRIMARY KEY, holder TEXT, incarnation TEXT, token INTEGER NOT NULL,
    granted_boot_ns INTEGER, renewed_boot_ns INTEGER, expires_boot_ns INTEGER, boot_id TEXT)";

/// Grants with the expiry ?5 (NULL: none) and the token raised by ?6.
const GRANT: &str = "
INSERT INTO lease (key, holder, incarnation, token, granted_boot_ns, renewed_boot_ns, expires_boot_ns, boot_id)
VALUES (?1, ?2, ?3, 1, ?4, ?4, ?5, ?7)
ON CONFLICT (key) DO UPDATE SET
    holder = excluded.holder, incarnation = excluded.incarnation, token = token + ?6,
    granted_boot_ns = excluded.granted_boot_ns, renewed_boot_ns = excluded.renewed_boot_ns,
    expires_boot_ns = excluded.expires_boot_ns, boot_id = excluded.boot_id
RETURNING token";

const EXPIRE: &str = "
UPDATE lease SET renewed_boot_ns = ?2, expires_boot_ns = ?3 WHERE key = ?1 AND holder IS NOT NULL";

const PUT_BACK: &str = "
REPLACE INTO lease (key, holder, incarnation, token, granted_boot_ns, renewed_boot_ns, expires_boot_ns, boot_id)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";

const REMOVE: &str = "
UPDATE lease SET holder = NULL, incarnation = NULL, granted_boot_ns = NULL, renewed_boot_ns = NULL,
    expires_boot_ns = NULL, boot_id = NULL
WHERE key = ?1 AND holder IS NOT NULL";

/// A file.
#[derive(Debug)]
pub(super) struct Sqlite {
    path: PathBuf,
    boot_id: String,
}

impl Sqlite {
    pub(super) fn new(path: &Path) -> Result<Self, String> {
        let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .map_err(|error| format!("failed to read this boot's id: {error}"))?;
        Ok(Self {
            path: path.to_owned(),
            boot_id: boot_id.trim().to_owned(),
        })
    }

    fn transact<T>(
        &self,
        timeout: Duration,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, String> {
        let worked = || {
            let mut connection = Connection::open(&self.path)?;
            connection.busy_timeout(timeout)?;
            connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction.execute_batch(SCHEMA)?;
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        worked().map_err(|error: rusqlite::Error| error.to_string())
    }

    /// Who holds the lease now, if anybody does.
    fn holder(&self, transaction: &Transaction<'_>, key: &str) -> rusqlite::Result<Option<(String, String)>> {
        transaction
            .query_row(
                "SELECT holder, incarnation FROM lease WHERE key = ?1 AND holder IS NOT NULL
                 AND (expires_boot_ns IS NULL OR (expires_boot_ns > ?2 AND boot_id = ?3))",
                params![key, nanos(boot_now()), self.boot_id],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()
    }

    fn grant(
        &self,
        key: &str,
        holder: &HolderId,
        ttl: Option<Duration>,
        raise: i64,
        timeout: Duration,
    ) -> Answer<Token> {
        self.transact(timeout, |transaction| {
            if self.holder(transaction, key)?.is_some() {
                return Ok(Err(Refusal::Held));
            }
            let (name, incarnation) = parts(holder);
            let now = boot_now();
            let expires = ttl.map(|ttl| nanos(now.plus(ttl)));
            let token: i64 = transaction.query_row(
                GRANT,
                params![key, name, incarnation, nanos(now), expires, raise, self.boot_id],
                |row| row.get(0),
            )?;
            Ok(Ok(Token(u64::try_from(token).unwrap_or(0))))
        })
    }
}

fn nanos(at: BootNanos) -> i64 {
    i64::try_from(at.0).unwrap_or(i64::MAX)
}

fn parts(holder: &HolderId) -> (&str, &str) {
    holder.as_str().rsplit_once('#').unwrap_or((holder.as_str(), ""))
}

fn found(rows: usize) -> Result<(), Refusal> {
    if rows == 0 { Err(Refusal::Gone) } else { Ok(()) }
}

impl Wrong for Sqlite {
    fn grant_without_ttl(&self, key: &str, holder: &HolderId, timeout: Duration) -> Answer<Token> {
        self.grant(key, holder, None, 1, timeout)
    }

    fn grant_with_old_token(&self, key: &str, holder: &HolderId, ttl: Duration, timeout: Duration) -> Answer<Token> {
        self.grant(key, holder, Some(ttl), 0, timeout)
    }

    fn expire(&self, key: &str, ttl: Duration, timeout: Duration) -> Answer<()> {
        self.transact(timeout, |transaction| {
            let now = boot_now();
            transaction.execute(EXPIRE, params![key, nanos(now), nanos(now.plus(ttl))])
        })
        .map(found)
    }

    fn revive(&self, grant: &Grant, granted: BootNanos, ttl: Duration, timeout: Duration) -> Answer<()> {
        self.transact(timeout, |transaction| {
            let mine = parts(&grant.holder);
            let holds = self.holder(transaction, &grant.key)?;
            if holds.is_some_and(|(name, incarnation)| (name.as_str(), incarnation.as_str()) != mine) {
                return Ok(Err(Refusal::NotTheHolder));
            }
            let now = boot_now();
            let token = i64::try_from(grant.token.0).unwrap_or(i64::MAX);
            transaction.execute(
                PUT_BACK,
                params![
                    grant.key,
                    mine.0,
                    mine.1,
                    token,
                    nanos(granted),
                    nanos(now),
                    nanos(now.plus(ttl)),
                    self.boot_id
                ],
            )?;
            Ok(Ok(()))
        })
    }

    fn remove(&self, key: &str, timeout: Duration) -> Answer<()> {
        self.transact(timeout, |transaction| transaction.execute(REMOVE, [key]))
            .map(found)
    }
}
