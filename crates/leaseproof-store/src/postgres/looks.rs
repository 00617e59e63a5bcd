//! The statements of those who only look, whole, with `{table}` for the table's name: nothing else is sent on
//! such a session, and the client checks that in one place. The server itself refuses writes on it, too.

use crate::inspect::Allowed;

/// Of a long holder no more is read than shows that it is no name ([`LONGEST_HOLDER`](crate::inspect::LONGEST_HOLDER)).
/// One reading: the clock is read while the row is, after the snapshot was taken. A column that a foreign
/// client may have set to infinity is no expiry.
macro_rules! reading {
    () => {
        "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8 AS now, \
         (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::int8 AS started, \
         pg_is_in_recovery() AS replica, lease.token::int8 AS token, left(lease.holder::text, 4097) AS holder, \
         lease.incarnation::text AS incarnation, \
         CASE WHEN isfinite(lease.renewed_at::timestamptz) \
         THEN (extract(epoch FROM lease.renewed_at::timestamptz) * 1000000)::int8 \
         WHEN lease.renewed_at::timestamptz < now() THEN 0 END AS renewed, \
         CASE WHEN isfinite(lease.expires_at::timestamptz) \
         THEN (extract(epoch FROM lease.expires_at::timestamptz) * 1000000)::int8 \
         WHEN lease.expires_at::timestamptz < now() THEN 0 END AS expires "
    };
}

/// What a session depends on, whatever the server's defaults are: statements that wait for a row look at
/// its new state only in this isolation. And a row that a policy hides would look like a free lease: with
/// row security off the server refuses the question instead.
pub(super) const SETTLE: &str = "SET default_transaction_isolation = 'read committed'; SET default_transaction_read_only = on; \
     SET row_security = off";

/// Who answers.
pub(super) const WHO: &str = "SELECT version(), current_setting('server_version_num')::int4, pg_is_in_recovery()";

/// Which database files, and their timeline. Some hosters don't let their users ask.
pub(super) const IDENTITY: &str =
    "SELECT concat(system_identifier, '/', timeline_id) FROM pg_control_system(), pg_control_checkpoint()";

/// What stands behind the table's name; no row where nothing does.
pub(super) const TABLE: &str = "SELECT format('%I.%I', space.nspname, relation.relname) AS name, \
     relation.relkind::text AS kind, EXISTS (SELECT FROM pg_inherits WHERE inhrelid = relation.oid) AS child, \
     EXISTS (SELECT FROM pg_inherits WHERE inhparent = relation.oid) AS parent FROM pg_class AS relation \
     JOIN pg_namespace AS space ON space.oid = relation.relnamespace WHERE relation.oid = to_regclass('{table}')";

/// Parameter: key.
pub(super) const READ: &str = concat!(
    reading!(),
    "FROM (VALUES (1)) AS one LEFT JOIN {table} AS lease ON lease.key = $1"
);

/// Parameter: keys. A row for each, in their order.
pub(super) const READ_MANY: &str = concat!(
    reading!(),
    "FROM unnest($1) WITH ORDINALITY AS asked (key, place) LEFT JOIN {table} AS lease ON lease.key = asked.key \
     ORDER BY asked.place"
);

/// The moment at which this statement began, and the transactions that may be writing since. Every
/// statement that writes or locks a row takes one of these locks on the table before it reads a clock, and
/// its transaction keeps it until its changes can be seen. ShareUpdateExclusive is left out: it is vacuum's.
pub(super) const WRITERS: &str = "SELECT (extract(epoch FROM statement_timestamp()) * 1000000)::int8 AS began, \
     locks.virtualtransaction AS writer FROM (VALUES (1)) AS one LEFT JOIN pg_locks AS locks \
     ON locks.locktype = 'relation' AND locks.granted AND locks.relation = '{table}'::regclass \
     AND locks.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
     AND locks.mode IN ('RowShareLock', 'RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', \
     'AccessExclusiveLock') AND locks.pid IS DISTINCT FROM pg_backend_pid()";

/// Parameters: prefix, bound.
pub(super) const BELOW: &str = "SELECT key FROM {table} WHERE starts_with(key, $1) ORDER BY key LIMIT $2";

/// Parameter: key. Whether it has a row, and how long its holder's name is, before that is read.
pub(super) const FORM: &str = "SELECT lease.key IS NOT NULL AS there, \
     coalesce(octet_length(lease.holder::text), 0)::int8 AS size, \
     (SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT 100001) AS counted) AS keys \
     FROM (VALUES (1)) AS one LEFT JOIN {table} AS lease ON lease.key = $1";

/// What the server is set to do with a commit and with a session, and who replicates it.
pub(super) const SETTINGS: &str = "SELECT current_setting('fsync') AS fsync, \
     current_setting('synchronous_commit') AS commit, current_setting('synchronous_standby_names') AS standbys, \
     current_setting('statement_timeout') AS statement_timeout, current_setting('lock_timeout') AS lock_timeout, \
     current_setting('idle_in_transaction_session_timeout') AS idle_timeout, \
     extract(epoch FROM now() - pg_postmaster_start_time())::int8 AS up, \
     (SELECT count(*) FROM pg_stat_replication) AS replicas, \
     (SELECT min(sender_host) FROM pg_stat_wal_receiver) AS primary, \
     extract(epoch FROM now() - pg_last_xact_replay_timestamp())::int8 AS replayed";

/// Parameter: key. The sessions whose open transaction holds the row: its last writer or locker is still
/// at it. Where several share a lock on it, none shows.
pub(super) const ROW_LOCK: &str = "SELECT locks.pid AS pid FROM {table} AS lease JOIN pg_locks AS locks \
     ON locks.locktype = 'transactionid' AND locks.granted AND locks.transactionid = lease.xmax WHERE lease.key = $1";

/// Parameter: the table's bare name. The sessions of this database, as far as this user may see them.
pub(super) const SESSIONS: &str = "SELECT pid, coalesce(usename::text, '') AS usename, \
     coalesce(application_name, '') AS name, host(client_addr) AS host, client_port AS port, \
     coalesce(state, '') AS state, extract(epoch FROM now() - backend_start)::int8 AS age, \
     extract(epoch FROM now() - state_change)::int8 AS idle, \
     extract(epoch FROM clock_timestamp() - xact_start)::int8 AS open, \
     concat_ws(' ', wait_event_type, wait_event) AS waits, \
     upper(left(split_part(ltrim(query), ' ', 1), 12)) AS word, strpos(query, $1) > 0 AS names_table, \
     query = '<insufficient privilege>' AS hidden, \
     EXISTS (SELECT FROM pg_locks AS locks WHERE locks.pid = activity.pid AND locks.granted \
     AND locks.relation = '{table}'::regclass AND locks.mode IN ('RowShareLock', 'RowExclusiveLock', \
     'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')) AS writes \
     FROM pg_stat_activity AS activity WHERE datname = current_database() AND pid <> pg_backend_pid() \
     ORDER BY backend_start LIMIT 1000";

/// The list; `docs/inspect.md` has it too, and a test compares.
pub(crate) const ALLOWED: &[Allowed] = &[
    Allowed::always(
        SETTLE,
        "of this session alone: the server refuses writes on it, and a look that would hide rows",
    ),
    Allowed::always(WHO, "version and role"),
    Allowed::always(IDENTITY, "the epoch: which database files, which timeline"),
    Allowed::always(TABLE, "whether the table is a plain one, and in which schema"),
    Allowed::always(READ, "a reading"),
    Allowed::always(READ_MANY, "many readings in one (`watch` only)"),
    Allowed::always(
        WRITERS,
        "whether a lease past its expiry may yet be renewed by an open transaction",
    ),
    Allowed::always(BELOW, "which leases are below a prefix (`watch` only)"),
    Allowed::always(FORM, "whether the key has a row, and how long its holder's name is"),
    Allowed::always(SETTINGS, "persistence, time-outs, replication"),
    Allowed::always(ROW_LOCK, "whether an open transaction holds the row"),
    Allowed::always(SESSIONS, "the sessions that may be the holder's"),
];

/// A table's name quoted, since a plain name may be a word of the language.
pub(super) fn quoted(table: &str) -> String {
    let parts: Vec<String> = table.split('.').map(|part| format!("\"{part}\"")).collect();
    parts.join(".")
}

/// A statement of the list for this table, whose name is quoted already.
pub(super) fn of(statement: &str, table: &str) -> String {
    statement.replace("{table}", table)
}
