//! The lab's hands on the embedded store.

use crate::done::{Done, Refusal};
use crate::error::StoreError;
use crate::patience::Patience;
use crate::sqlite::file::{Access, named, until_free};
use crate::sqlite::owner::{FREE, Writer};
use crate::{Administer, Grant};
use leaseproof_model::event::Outcome;
use std::path::Path;
use std::time::Duration;

/// The lab's access.
#[derive(Debug)]
pub(crate) struct Administrator {
    file: Writer,
    timeout: Duration,
}

impl Administrator {
    pub(crate) fn open(path: &Path, timeout: Duration) -> Self {
        Self {
            file: Writer::new(path, Access::CreateFolder),
            timeout,
        }
    }
}

impl Administer for Administrator {
    fn prepare(&mut self) -> Result<(), StoreError> {
        self.file.connect(&mut Patience::new(self.timeout)).map(|_| ())
    }

    fn steal(&mut self, key: &str, holder: &str, ttl: Duration) -> Done<Grant> {
        self.file
            .transact(self.timeout, |now| now.grant(key, holder, ttl).map(Ok))
    }

    fn delete(&mut self, key: &str) -> Done<()> {
        self.file.transact(self.timeout, |now| {
            let held = now
                .connection
                .prepare_cached("SELECT 1 FROM lease WHERE key = ?1 AND holder IS NOT NULL")?
                .exists([key])?;
            if !held {
                return Ok(Err(Refusal::Gone));
            }
            now.connection.prepare_cached(FREE)?.execute([key])?;
            Ok(Ok(()))
        })
    }

    fn clean(&mut self, keys: &[String]) -> Result<u64, StoreError> {
        let done = self.file.transact(self.timeout, |now| {
            let mut delete = now.connection.prepare_cached("DELETE FROM lease WHERE key = ?1")?;
            let mut gone = 0;
            for key in keys {
                gone += delete.execute([key])? as u64;
            }
            Ok(Ok(gone))
        });
        match (done.outcome, done.value) {
            (Outcome::Applied, Some(gone)) => Ok(gone),
            _ => Err(StoreError::Unexpected(format!(
                "the clean-up failed: {}",
                done.reason.unwrap_or_default()
            ))),
        }
    }

    fn foreign_keys(&mut self, prefix: &str) -> Result<u64, StoreError> {
        let mut patience = Patience::new(self.timeout);
        let count = {
            let connection = self.file.connect(&mut patience)?;
            until_free(&mut patience, || {
                connection.query_row(
                    "SELECT count(*) FROM lease WHERE substr(key, 1, length(?1)) <> ?1",
                    [prefix],
                    |row| row.get::<_, i64>(0),
                )
            })
        };
        count
            .map(|count| u64::try_from(count).unwrap_or(0))
            .map_err(|error| named(self.file.path(), error))
    }

    fn replica_of(&mut self) -> Result<Option<String>, StoreError> {
        Ok(None)
    }
}
