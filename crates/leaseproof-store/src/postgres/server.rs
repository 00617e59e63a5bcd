//! What a server says about itself, and its errors in our words.

use crate::error::{Lasts, StoreError};
use crate::postgres::table::Table;
use crate::url::PostgresUrl;
use leaseproof_model::store::{ExpiryProof, StoreClock, StoreFacts};
use std::time::Duration;
use tokio_postgres::error::{DbError, Severity, SqlState};

/// The server's clock is cut to the microsecond when the expiry is made.
pub(crate) const EARLY_SLACK: Duration = Duration::from_micros(1);

/// MATERIALIZED is of 12, and so is the least that anybody still supports.
const OLDEST: i32 = 120_000;

/// A server, as it was when the connection was made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Server {
    /// All of `version()`.
    pub(crate) full_version: String,
    /// `server_version_num`: 150018.
    pub(crate) number: i32,
    /// The system identifier and the timeline, where this user may ask for them.
    pub(crate) identity: Option<String>,
    /// Whether it is a standby.
    pub(crate) replica: bool,
    /// What stood behind the table's name; `None` where nothing did.
    pub(crate) table: Option<Table>,
}

impl Server {
    /// Why this server can't be a lock store here.
    pub(crate) fn unusable(&self) -> Option<String> {
        let name = self.full_version.split(' ').next().unwrap_or_default();
        if name != "PostgreSQL"
            || ["-YB-", "Redshift"]
                .iter()
                .any(|other| self.full_version.contains(other))
        {
            return Some(format!(
                "it says that it is {}: only PostgreSQL itself is understood, since the proof of an expiry rests \
                 on its locks",
                self.full_version
            ));
        }
        if self.number < OLDEST {
            return Some(format!(
                "it is PostgreSQL {}: 12 is the oldest that will do",
                self.number / 10_000
            ));
        }
        self.table.as_ref().and_then(Table::unusable)
    }

    /// The table's name with its schema, as this session finds it; `given` where nothing was there.
    pub(crate) fn table_name<'a>(&'a self, given: &'a str) -> &'a str {
        self.table.as_ref().map_or(given, |table| &table.name)
    }

    /// `15.18`.
    fn version(&self) -> String {
        format!("{}.{}", self.number / 10_000, self.number % 10_000)
    }

    /// The store's epoch: the database files and their timeline, the server process, and its role now.
    pub(crate) fn epoch(&self, started_us: i64, replica: bool) -> String {
        let identity = self.identity.as_deref().unwrap_or("unknown");
        let role = if replica { "replica" } else { "primary" };
        format!("{identity}/{started_us}/{role}")
    }

    /// The semantics of this server.
    pub(crate) fn facts(&self) -> StoreFacts {
        StoreFacts {
            kind: "postgres".to_owned(),
            version: self.version(),
            early_slack: EARLY_SLACK,
            // A takeover is seen when it is on the server's disk.
            late_bound: Duration::from_millis(100),
            late_ttls: 0,
            ttl_floor: None,
            ttl_ceiling: None,
            lock_delay: Duration::ZERO,
            clock: StoreClock::ServerWall,
            expired_means: "another holds the row, or the server's clock had reached its expires_at and no \
                            transaction that was writing to the table then is still open; the row itself stays \
                            until the next grant"
                .to_owned(),
            // A reading calls a lease expired only with that proof in hand.
            expiry_proof: ExpiryProof::SeenGone,
            consistent_reading: true,
            // granted_at and renewed_at are the server's wall clock, and that against our boot clock is
            // known to a round trip only.
            exact_moments: false,
            // An owner that is frozen between BEGIN and COMMIT keeps its key's row locked. That stops
            // those who want this key, and no other key's owners; no observer ever waits for it.
            writer_can_block: false,
            shows_expiry: true,
            shows_renewals: true,
            renewals_apart: Duration::ZERO,
            ttl_step: Duration::ZERO,
            grants_in_steps: false,
            // A replica that takes its place need not have what was committed last.
            may_lose_grants: Some(true),
        }
    }
}

/// Whether the server ended the statement, and with it its transaction: then nothing was changed. After
/// the words of a server that ends the connection it may have been committed before.
pub(crate) fn is_definite(error: &DbError) -> bool {
    error.parsed_severity() == Some(Severity::Error)
}

/// Whether the table isn't there.
pub(crate) fn lacks_table(error: &DbError) -> bool {
    *error.code() == SqlState::UNDEFINED_TABLE
}

/// An error of the server, in our words.
pub(crate) fn refusal(url: &PostgresUrl, error: &DbError) -> StoreError {
    let code = error.code();
    let words = format!("{} ({})", error.message(), code.code());
    let table = &url.table;
    let hint = match code {
        &SqlState::INVALID_PASSWORD | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            "look at user and password of the URL, and at the server's pg_hba.conf".to_owned()
        }
        &SqlState::INVALID_CATALOG_NAME => "name a database that is there: postgres://host/db".to_owned(),
        &SqlState::UNDEFINED_TABLE | &SqlState::INVALID_SCHEMA_NAME => format!(
            "there is no table of leases {table}: leaseproof verify makes it, or CREATE TABLE as in \
             docs/stores/postgres.md"
        ),
        &SqlState::NUMERIC_VALUE_OUT_OF_RANGE => format!(
            "no greater token can come of this key's row, so that nothing is granted: the token in {table} must be from \
             0 to 9223372036854775806, set it to the greatest that was ever granted"
        ),
        &SqlState::UNDEFINED_COLUMN
        | &SqlState::UNDEFINED_FUNCTION
        | &SqlState::DATATYPE_MISMATCH
        | &SqlState::CANNOT_COERCE
        | &SqlState::INVALID_COLUMN_REFERENCE
        | &SqlState::WRONG_OBJECT_TYPE => {
            format!("{table} is no table of leases: name another by ?table=NAME")
        }
        // By the place in its code, since its words are of its own language.
        &SqlState::INSUFFICIENT_PRIVILEGE if error.routine() == Some("check_enable_rls") => format!(
            "this user sees the table {table} through row-level security, so that a hidden row would look free: look \
             as its owner or with BYPASSRLS"
        ),
        &SqlState::INSUFFICIENT_PRIVILEGE => format!(
            "this user lacks a permission: an owner needs GRANT SELECT, INSERT, UPDATE ON {table}, an observer SELECT"
        ),
        &SqlState::READ_ONLY_SQL_TRANSACTION => {
            "it takes no writes: give the primary's URL, or a user without default_transaction_read_only".to_owned()
        }
        &SqlState::CANNOT_CONNECT_NOW
        | &SqlState::TOO_MANY_CONNECTIONS
        | &SqlState::ADMIN_SHUTDOWN
        | &SqlState::CRASH_SHUTDOWN => "try again later".to_owned(),
        &SqlState::LOCK_NOT_AVAILABLE => return StoreError::Blocked,
        _ => return StoreError::Unexpected(format!("{url} says: {words}")),
    };
    StoreError::refused(url, format!("{words}: {hint}"), lasts(code))
}

fn lasts(code: &SqlState) -> Lasts {
    match code {
        &SqlState::CANNOT_CONNECT_NOW
        | &SqlState::TOO_MANY_CONNECTIONS
        | &SqlState::ADMIN_SHUTDOWN
        | &SqlState::CRASH_SHUTDOWN => Lasts::Moment,
        // It takes writes once it is the primary, or whoever may change its default does.
        &SqlState::READ_ONLY_SQL_TRANSACTION => Lasts::Passes,
        _ => Lasts::Mended,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(version: &str, number: i32) -> Server {
        Server {
            full_version: version.to_owned(),
            number,
            ..Server::default()
        }
    }

    #[test]
    fn only_postgresql_itself_will_do() {
        let good = server(
            "PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu",
            150_018,
        );
        assert_eq!(good.unusable(), None);
        assert_eq!(good.version(), "15.18");
        for (version, number, part) in [
            ("CockroachDB CCL v23.1.1", 130_000, "only PostgreSQL itself"),
            (
                "PostgreSQL 11.2-YB-2.20.1.0-b0 on x86_64",
                110_002,
                "only PostgreSQL itself",
            ),
            (
                "PostgreSQL 8.0.2 on i686, Redshift 1.0.1",
                80_002,
                "only PostgreSQL itself",
            ),
            ("PostgreSQL 11.22 on x86_64", 110_022, "12 is the oldest"),
        ] {
            let why = server(version, number).unusable().expect(version);
            assert!(why.contains(part), "{why}");
        }
    }

    #[test]
    fn another_process_or_role_is_another_epoch() {
        let it = Server {
            identity: Some("77/1".to_owned()),
            ..Server::default()
        };
        assert_eq!(it.epoch(5, false), "77/1/5/primary");
        assert_ne!(it.epoch(5, false), it.epoch(6, false));
        assert_ne!(it.epoch(5, false), it.epoch(5, true));
    }
}
