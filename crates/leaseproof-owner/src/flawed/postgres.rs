//! The wrong statements on PostgreSQL.

use super::{Answer, Wrong};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::name::{HolderId, Token};
use leaseproof_store::{Grant, Refusal};
use std::str::FromStr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio_postgres::config::Host;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Config, NoTls, Row};

/// The table of leases where the URL names none.
const TABLE: &str = "leaseproof_lease";

const WITHOUT_TTL: &str = "NULL";
const WITH_TTL: &str = "clock_timestamp() + $4 * interval '1 microsecond'";

/// A parameter and its type.
type Value<'a> = (&'a (dyn ToSql + Sync), Type);

/// A database.
#[derive(Debug)]
pub(super) struct Postgres {
    config: Config,
    table: String,
}

impl Postgres {
    pub(super) fn new(url: &str) -> Result<Self, String> {
        let (base, options) = url.split_once('?').unwrap_or((url, ""));
        if options.contains("sslmode=") && !options.contains("sslmode=disable") {
            return Err("flaws that send statements of their own speak no TLS: give sslmode=disable".to_owned());
        }
        let config = Config::from_str(base).map_err(|error| format!("the store's URL is not understood: {error}"))?;
        let table = options.split('&').find_map(|option| option.strip_prefix("table="));
        Ok(Self {
            config,
            table: table.unwrap_or(TABLE).to_owned(),
        })
    }

    /// Runs one statement on a connection of its own.
    fn ask(&self, statement: &str, values: &[Value<'_>], timeout: Duration) -> Result<Vec<Row>, String> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("no event loop: {error}"))?;
        let work = async {
            let host = match self.config.get_hosts().first() {
                Some(Host::Tcp(host)) => host.clone(),
                _ => return Err("the store's URL names no host".to_owned()),
            };
            let port = self.config.get_ports().first().copied().unwrap_or(5432);
            let stream = TcpStream::connect((host.as_str(), port))
                .await
                .map_err(|error| error.to_string())?;
            let connected = self.config.connect_raw(stream, NoTls).await;
            let (client, connection) = connected.map_err(|error| error.to_string())?;
            tokio::spawn(connection);
            let asked = client.query_typed(statement, values).await;
            asked.map_err(|error| {
                error
                    .as_db_error()
                    .map_or_else(|| error.to_string(), ToString::to_string)
            })
        };
        runtime
            .block_on(async { tokio::time::timeout(timeout, work).await })
            .unwrap_or_else(|_| Err(format!("no answer within {timeout:?}")))
    }

    fn grant(
        &self,
        key: &str,
        holder: &HolderId,
        ttl: Option<Duration>,
        raise: u8,
        timeout: Duration,
    ) -> Answer<Token> {
        let table = &self.table;
        let expires = if ttl.is_some() { WITH_TTL } else { WITHOUT_TTL };
        let statement = format!(
            "INSERT INTO {table} AS lease (key, holder, incarnation, token, granted_at, renewed_at, expires_at)
VALUES ($1, $2, $3, 1, clock_timestamp(), clock_timestamp(), {expires})
ON CONFLICT (key) DO UPDATE SET
    holder = excluded.holder, incarnation = excluded.incarnation, token = lease.token + {raise},
    granted_at = excluded.granted_at, renewed_at = excluded.renewed_at, expires_at = excluded.expires_at
WHERE lease.holder IS NULL OR lease.expires_at <= clock_timestamp()
RETURNING token"
        );
        let (name, incarnation) = parts(holder);
        let ttl = ttl.map(micros);
        let mut values: Vec<Value<'_>> = vec![(&key, Type::TEXT), (&name, Type::TEXT), (&incarnation, Type::TEXT)];
        if let Some(ttl) = &ttl {
            values.push((ttl, Type::INT8));
        }
        let rows = self.ask(&statement, &values, timeout)?;
        let Some(row) = rows.first() else {
            return Ok(Err(Refusal::Held));
        };
        let token: i64 = row.try_get(0).map_err(|error| error.to_string())?;
        Ok(Ok(Token(u64::try_from(token).unwrap_or(0))))
    }
}

fn micros(ttl: Duration) -> i64 {
    i64::try_from(ttl.as_micros()).unwrap_or(i64::MAX)
}

fn parts(holder: &HolderId) -> (&str, &str) {
    holder.as_str().rsplit_once('#').unwrap_or((holder.as_str(), ""))
}

fn found(rows: &[Row], otherwise: Refusal) -> Result<(), Refusal> {
    if rows.is_empty() { Err(otherwise) } else { Ok(()) }
}

impl Wrong for Postgres {
    fn grant_without_ttl(&self, key: &str, holder: &HolderId, timeout: Duration) -> Answer<Token> {
        self.grant(key, holder, None, 1, timeout)
    }

    fn grant_with_old_token(&self, key: &str, holder: &HolderId, ttl: Duration, timeout: Duration) -> Answer<Token> {
        self.grant(key, holder, Some(ttl), 0, timeout)
    }

    fn expire(&self, key: &str, ttl: Duration, timeout: Duration) -> Answer<()> {
        let statement = format!(
            "UPDATE {} SET renewed_at = clock_timestamp(), expires_at = clock_timestamp() + $2 * interval '1 microsecond'
WHERE key = $1 AND holder IS NOT NULL RETURNING 1",
            self.table
        );
        let values = [(&key as _, Type::TEXT), (&micros(ttl) as _, Type::INT8)];
        self.ask(&statement, &values, timeout)
            .map(|rows| found(&rows, Refusal::Gone))
    }

    fn revive(&self, grant: &Grant, _granted: BootNanos, ttl: Duration, timeout: Duration) -> Answer<()> {
        let statement = format!(
            "INSERT INTO {} AS lease (key, holder, incarnation, token, granted_at, renewed_at, expires_at)
VALUES ($1, $2, $3, $5, clock_timestamp(), clock_timestamp(), {WITH_TTL})
ON CONFLICT (key) DO UPDATE SET
    holder = excluded.holder, incarnation = excluded.incarnation, token = excluded.token,
    renewed_at = excluded.renewed_at, expires_at = excluded.expires_at
WHERE lease.holder IS NULL OR lease.expires_at <= clock_timestamp()
   OR (lease.holder = excluded.holder AND lease.incarnation = excluded.incarnation)
RETURNING 1",
            self.table
        );
        let (name, incarnation) = parts(&grant.holder);
        let token = i64::try_from(grant.token.0).unwrap_or(i64::MAX);
        let values = [
            (&grant.key as _, Type::TEXT),
            (&name as _, Type::TEXT),
            (&incarnation as _, Type::TEXT),
            (&micros(ttl) as _, Type::INT8),
            (&token as _, Type::INT8),
        ];
        self.ask(&statement, &values, timeout)
            .map(|rows| found(&rows, Refusal::NotTheHolder))
    }

    fn remove(&self, key: &str, timeout: Duration) -> Answer<()> {
        let statement = format!(
            "UPDATE {} SET holder = NULL, incarnation = NULL, granted_at = NULL, renewed_at = NULL, expires_at = NULL
WHERE key = $1 AND holder IS NOT NULL RETURNING 1",
            self.table
        );
        self.ask(&statement, &[(&key as _, Type::TEXT)], timeout)
            .map(|rows| found(&rows, Refusal::Gone))
    }
}
