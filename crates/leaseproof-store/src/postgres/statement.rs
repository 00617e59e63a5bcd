//! The statements. The name of the table is checked where the URL is parsed and stands in the text;
//! everything else is a parameter.
//!
//! # One reading of the clock, after the lock
//!
//! A statement that meets a locked row waits, for as long as the other transaction lasts, and then
//! looks at the row anew. So a clock that was read before (`now()`, the values of an INSERT, an
//! uncorrelated sub-select, anything below the node that locks) may be older than the lease that it
//! is compared with: a renewal that waited for five seconds would revive a lease that ended after
//! three. Hence:
//!
//! - *Renew, release*: the row is locked first, in a query of its own (`locked`). Only a row that came
//!   out of the lock reaches `judged`, which reads the clock once; the condition and the new expiry
//!   both come from that reading. Nobody else can change the row before the commit.
//! - *Acquire, steal*: PostgreSQL locks the conflicting row before it looks at the WHERE of ON
//!   CONFLICT DO UPDATE and at its SET. The SET reads the clock once, in a sub-select that names the
//!   row, since one that doesn't is computed once for all tries. The WHERE reads it a moment before:
//!   what had expired then has expired at the grant, too. A row that is inserted takes the reading of
//!   its VALUES; if it had to wait for another's insertion that was rolled back, the lease is shorter
//!   than asked, never longer than its holder may count on.
//!
//! # A token that can't be counted up
//!
//! A token at the end of its range, or below zero, ends the statement with *out of range*, so that nothing is granted:
//! a row that was changed first and judged later would be held by nobody until its TTL.
//!
//! # No window between statement and commit
//!
//! Each operation is one statement in a transaction of its own, sent with its end in one piece: a
//! client that is frozen at whatever point leaves no row locked, but for bytes cut in two on their way.
//!
//! # Waiting
//!
//! `bound` lets the server give up waiting for the row's lock before we give up waiting for the
//! server: *not applied*, for sure, instead of a grant that arrives when nobody wants it any more. It
//! is joined, so that it is set before the row is locked, and ends with the transaction.

use crate::postgres::looks;

/// Text, for the statements of one table.
#[derive(Debug)]
pub(crate) struct Statements {
    /// Parameters: key, holder, incarnation, TTL in µs, lock time-out in ms. A row with the token, or
    /// none where another holds the lease.
    pub(crate) acquire: String,
    /// As `acquire`, whoever has it.
    pub(crate) steal: String,
    /// Parameters: key, holder, incarnation, token, lock time-out in ms, TTL in µs. A row with
    /// [`OURS`], [`OTHER`] or `gone`, and how many rows were changed; none where the key has no row.
    pub(crate) renew: String,
    /// Parameters: as `renew`, without the TTL.
    pub(crate) release: String,
    /// Parameter: key. Frees the lease, and says whether anybody had it.
    pub(crate) delete: String,
    /// Parameter: key. See [`Row`](crate::postgres::row::Row).
    pub(crate) read: String,
    /// Parameter: keys.
    pub(crate) read_many: String,
    /// The moment at which this statement began, and the transactions that may be writing since.
    pub(crate) writers: String,
    /// Parameters: prefix, bound.
    pub(crate) below: String,
    /// Parameter: key. See [`looks`].
    pub(crate) form: String,
    /// See [`looks`].
    pub(crate) settings: String,
    /// Parameter: key. See [`looks`].
    pub(crate) row_lock: String,
    /// Parameter: the table's bare name. See [`looks`].
    pub(crate) sessions: String,
    /// All that a session may be asked which only looks.
    looks: Vec<String>,
    /// Parameter: keys.
    pub(crate) clean: String,
    /// Parameters: prefix, bound.
    pub(crate) foreign: String,
    /// Whether the table is there.
    pub(crate) is_there: String,
    /// Makes the table.
    pub(crate) make: String,
    /// Whether this is a standby, and of which server as far as this user may know.
    pub(crate) primary: String,
}

/// The answer of a renewal or release: the row is this grant's.
pub(crate) const OURS: &str = "ours";

/// Another grant holds the lease.
pub(crate) const OTHER: &str = "other";

impl Statements {
    pub(crate) fn new(table: &str) -> Self {
        let table = &looks::quoted(table);
        Self {
            acquire: grant(table, "WHERE lease.holder IS NULL OR lease.expires_at <= clock_timestamp()"),
            steal: grant(table, ""),
            renew: change(
                table,
                "renewed_at = judged.at, expires_at = judged.at + $6 * interval '1 microsecond'",
            ),
            release: change(table, FREE),
            delete: format!("UPDATE {table} SET {FREE} WHERE key = $1 AND holder IS NOT NULL RETURNING 1"),
            read: looks::of(looks::READ, table),
            read_many: looks::of(looks::READ_MANY, table),
            writers: looks::of(looks::WRITERS, table),
            below: looks::of(looks::BELOW, table),
            form: looks::of(looks::FORM, table),
            settings: looks::of(looks::SETTINGS, table),
            row_lock: looks::of(looks::ROW_LOCK, table),
            sessions: looks::of(looks::SESSIONS, table),
            looks: looks::ALLOWED.iter().map(|it| looks::of(it.request, table)).collect(),
            clean: format!("DELETE FROM {table} WHERE key = ANY($1) RETURNING 1"),
            foreign: format!(
                "SELECT count(*) FROM (SELECT 1 FROM {table} WHERE left(key, length($1)) <> $1 LIMIT $2) AS found"
            ),
            is_there: format!("SELECT to_regclass('{table}') IS NOT NULL"),
            primary: "SELECT pg_is_in_recovery(), (SELECT sender_host || ':' || sender_port FROM pg_stat_wal_receiver LIMIT 1)"
                .to_owned(),
            make: format!(
                "CREATE TABLE IF NOT EXISTS {table} (
    key text PRIMARY KEY,
    holder text,
    incarnation text,
    token bigint NOT NULL,
    granted_at timestamptz,
    renewed_at timestamptz,
    expires_at timestamptz
)"
            ),
        }
    }

    /// Whether one who only looks may send this.
    pub(crate) fn is_look(&self, statement: &str) -> bool {
        self.looks.iter().any(|it| it == statement)
    }
}

/// The row keeps the token.
const FREE: &str = "holder = NULL, incarnation = NULL, granted_at = NULL, renewed_at = NULL, expires_at = NULL";

fn grant(table: &str, condition: &str) -> String {
    format!(
        "WITH bound AS MATERIALIZED (SELECT set_config('lock_timeout', $5, true))
INSERT INTO {table} AS lease (key, holder, incarnation, token, granted_at, renewed_at, expires_at)
SELECT $1, $2, $3, 1, at, at, at + $4 * interval '1 microsecond'
FROM (SELECT clock_timestamp() AS at FROM bound OFFSET 0) AS now
ON CONFLICT (key) DO UPDATE SET
    holder = excluded.holder, incarnation = excluded.incarnation,
    token = CASE WHEN lease.token >= 0 THEN lease.token + 1 ELSE lease.token - 9223372036854775807 - 2 END,
    (granted_at, renewed_at, expires_at) = (
        SELECT at, at, at + $4 * interval '1 microsecond'
        FROM (SELECT clock_timestamp() AS at WHERE lease.key IS NOT NULL OFFSET 0) AS now)
{condition}
RETURNING lease.token::int8"
    )
}

fn change(table: &str, set: &str) -> String {
    format!(
        "WITH bound AS MATERIALIZED (SELECT set_config('lock_timeout', $5, true)),
locked AS MATERIALIZED (
    SELECT holder, incarnation, token, expires_at FROM {table} AS lease, bound
    WHERE key = $1 FOR NO KEY UPDATE OF lease),
judged AS MATERIALIZED (
    SELECT at, CASE
        WHEN holder IS NULL THEN 'gone'
        WHEN (holder, incarnation, token) IS DISTINCT FROM ($2, $3, $4) THEN '{OTHER}'
        WHEN expires_at <= at THEN 'gone'
        ELSE '{OURS}' END AS verdict
    FROM (SELECT locked.*, clock_timestamp() AS at FROM locked OFFSET 0) AS now),
changed AS (
    UPDATE {table} AS lease SET {set}
    FROM judged WHERE lease.key = $1 AND verdict = '{OURS}' RETURNING 1)
SELECT verdict, (SELECT count(*) FROM changed), (extract(epoch FROM at) * 1000000)::bigint FROM judged"
    )
}
