//! Acquiring, renewing and releasing in PostgreSQL.

use crate::done::{Done, Refusal};
use crate::error::StoreError;
use crate::postgres::client::{Client, Value};
use crate::postgres::login::Access;
use crate::postgres::statement::{OTHER, OURS, Statements};
use crate::url::PostgresUrl;
use crate::value::{holder_id, holder_parts, new_incarnation};
use crate::{Grant, Lease};
use leaseproof_model::moment::Moment;
use leaseproof_model::name::Token;
use std::time::Duration;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

/// A TTL longer than this is as good as this: the server's calendar ends somewhere.
const CENTURY: Duration = Duration::from_secs(100 * 365 * 86_400);

/// An owner's access.
pub(crate) struct Owner {
    client: Client,
}

impl Owner {
    pub(crate) fn open(url: &PostgresUrl, connect_timeout: Duration) -> Result<Self, StoreError> {
        Client::new(url, Access::Write, connect_timeout).map(|client| Self { client })
    }
}

/// A TTL in the server's unit, never less than asked; zero would be none.
fn micros(ttl: Duration) -> i64 {
    let micros = ttl.min(CENTURY).as_nanos().div_ceil(1000);
    i64::try_from(micros).unwrap_or(i64::MAX).max(1)
}

/// How long the server may wait for a row, as the setting's text: it has to give up before we do.
fn lock_timeout(timeout: Duration) -> String {
    (timeout.min(CENTURY / 100) * 3 / 4)
        .as_millis()
        .clamp(1, i32::MAX as u128)
        .to_string()
}

/// Runs a statement that grants.
pub(crate) fn grant(
    client: &mut Client,
    choose: impl Fn(&Statements) -> &str,
    key: &str,
    holder: &str,
    ttl: Duration,
    timeout: Duration,
) -> Done<Grant> {
    let id = holder_id(holder, &new_incarnation());
    let (holder, incarnation) = holder_parts(&id);
    let values = (micros(ttl), lock_timeout(timeout));
    let values: [Value<'_>; 5] = [
        (&key, Type::TEXT),
        (&holder, Type::TEXT),
        (&incarnation, Type::TEXT),
        (&values.0, Type::INT8),
        (&values.1, Type::TEXT),
    ];
    client.change(choose, &values, timeout, |rows, during| {
        let Some(row) = rows.first() else {
            return Done::refused(Refusal::Held, during);
        };
        match row.try_get::<_, i64>(0).map(u64::try_from) {
            Ok(Ok(token)) => Done::applied(
                Grant {
                    key: key.to_owned(),
                    holder: id.clone(),
                    token: Token(token),
                },
                during,
            ),
            _ => Done::unknown("the table's token is no positive number", during),
        }
    })
}

/// What a renewal or release came to.
fn judged(rows: &[Row], during: Moment) -> Done<()> {
    let Some(row) = rows.first() else {
        return Done::refused(Refusal::Gone, during);
    };
    match (row.try_get::<_, &str>(0), row.try_get::<_, i64>(1)) {
        // Without its time it was applied all the same.
        (Ok(OURS), Ok(1)) => Done::applied((), during).at_store_micros(row.try_get(2).unwrap_or(-1)),
        (Ok(OURS), Ok(_)) => Done::failed("the row was this grant's, and was not changed", during),
        (Ok(OTHER), Ok(_)) => Done::refused(Refusal::NotTheHolder, during),
        (Ok(_), Ok(_)) => Done::refused(Refusal::Gone, during),
        (Err(error), _) | (_, Err(error)) => Done::unknown(error, during),
    }
}

impl Owner {
    fn change(
        &mut self,
        choose: impl Fn(&Statements) -> &str,
        grant: &Grant,
        ttl: Option<Duration>,
        timeout: Duration,
    ) -> Done<()> {
        let (holder, incarnation) = holder_parts(&grant.holder);
        // A token beyond the column's range is no row's token.
        let token = i64::try_from(grant.token.0).unwrap_or(-1);
        let (lock_timeout, ttl) = (lock_timeout(timeout), ttl.map(micros));
        let mut values: Vec<Value<'_>> = vec![
            (&grant.key, Type::TEXT),
            (&holder, Type::TEXT),
            (&incarnation, Type::TEXT),
            (&token, Type::INT8),
            (&lock_timeout, Type::TEXT),
        ];
        if let Some(ttl) = &ttl {
            values.push((ttl, Type::INT8));
        }
        self.client.change(choose, &values, timeout, judged)
    }
}

impl Lease for Owner {
    fn acquire(&mut self, key: &str, holder: &str, ttl: Duration, timeout: Duration) -> Done<Grant> {
        grant(&mut self.client, |it| &it.acquire, key, holder, ttl, timeout)
    }

    fn renew(&mut self, grant: &Grant, ttl: Duration, timeout: Duration) -> Done<()> {
        self.change(|it| &it.renew, grant, Some(ttl), timeout)
    }

    fn release(&mut self, grant: &Grant, timeout: Duration) -> Done<()> {
        self.change(|it| &it.release, grant, None, timeout)
    }

    fn reconnect(&mut self) {
        self.client.disconnect();
    }
}
