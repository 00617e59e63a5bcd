//! The lab's hands on PostgreSQL. Each change names its keys.

use crate::done::{Done, Refusal};
use crate::error::StoreError;
use crate::patience::Patience;
use crate::postgres::client::{Client, Failed};
use crate::postgres::login::Access;
use crate::postgres::owner::grant;
use crate::postgres::server::lacks_table;
use crate::url::PostgresUrl;
use crate::{Administer, Grant};
use std::time::Duration;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

/// So many foreign keys are enough to know.
const ENOUGH: i64 = 1000;

/// The lab's access.
pub(crate) struct Administrator {
    client: Client,
    timeout: Duration,
}

impl Administrator {
    pub(crate) fn open(url: &PostgresUrl, timeout: Duration) -> Result<Self, StoreError> {
        let mut client = Client::new(url, Access::Write, timeout)?;
        if client.server(&mut Patience::new(timeout))?.replica {
            let mut it = Self { client, timeout };
            let primary = it.replica_of()?.unwrap_or_else(|| "its primary".to_owned());
            return Err(StoreError::Replica {
                url: url.to_string(),
                primary,
            });
        }
        Ok(Self { client, timeout })
    }

    fn patience(&self) -> Patience {
        Patience::new(self.timeout)
    }
}

impl Administer for Administrator {
    fn prepare(&mut self) -> Result<(), StoreError> {
        let mut patience = self.patience();
        let rows = self.client.look(|it| &it.is_there, &[], &mut patience)?;
        let there = rows.first().is_some_and(|row| row.try_get(0).unwrap_or(false));
        if !there {
            match self.client.ask(|it| &it.make, &[], &mut patience) {
                Ok(_) => {}
                // IF NOT EXISTS loses a race against another who makes it.
                Err(Failed::Refused(error))
                    if [
                        SqlState::UNIQUE_VIOLATION,
                        SqlState::DUPLICATE_TABLE,
                        SqlState::DUPLICATE_OBJECT,
                    ]
                    .contains(error.code()) => {}
                Err(failed) => return Err(self.client.in_words(failed)),
            }
        }
        // A table of that name that is none of leases says so here.
        self.client
            .look(|it| &it.read, &[(&"", Type::TEXT)], &mut patience)
            .map(|_| ())
    }

    fn steal(&mut self, key: &str, holder: &str, ttl: Duration) -> Done<Grant> {
        grant(&mut self.client, |it| &it.steal, key, holder, ttl, self.timeout)
    }

    fn delete(&mut self, key: &str) -> Done<()> {
        let values = [(&key as _, Type::TEXT)];
        self.client.change(
            |it| &it.delete,
            &values,
            self.timeout,
            |rows, during| {
                if rows.is_empty() {
                    Done::refused(Refusal::Gone, during)
                } else {
                    Done::applied((), during)
                }
            },
        )
    }

    fn clean(&mut self, keys: &[String]) -> Result<u64, StoreError> {
        let mut patience = self.patience();
        let mut gone = 0;
        for some in keys.chunks(1000) {
            let rows = self
                .client
                .look(|it| &it.clean, &[(&some, Type::TEXT_ARRAY)], &mut patience)?;
            gone += rows.len() as u64;
        }
        Ok(gone)
    }

    fn foreign_keys(&mut self, prefix: &str) -> Result<u64, StoreError> {
        let values = [(&prefix as _, Type::TEXT), (&ENOUGH as _, Type::INT8)];
        let mut patience = self.patience();
        let rows = match self.client.ask(|it| &it.foreign, &values, &mut patience) {
            Ok(rows) => rows,
            // Where there is no table there are no keys.
            Err(Failed::Refused(error)) if lacks_table(&error) => return Ok(0),
            Err(failed) => return Err(self.client.in_words(failed)),
        };
        let count: i64 = rows.first().map_or(0, |row| row.try_get(0).unwrap_or(0));
        Ok(u64::try_from(count).unwrap_or(0))
    }

    fn replica_of(&mut self) -> Result<Option<String>, StoreError> {
        let mut patience = self.patience();
        let rows = self.client.look(|it| &it.primary, &[], &mut patience)?;
        let Some(row) = rows.first() else { return Ok(None) };
        let strange = |error: tokio_postgres::Error| StoreError::Unexpected(error.to_string());
        let replica: bool = row.try_get(0).map_err(strange)?;
        let primary: Option<String> = row.try_get(1).map_err(strange)?;
        Ok(replica.then(|| primary.unwrap_or_else(|| "its primary".to_owned())))
    }
}
