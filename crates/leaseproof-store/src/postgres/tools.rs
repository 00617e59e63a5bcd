//! The same questions for `psql`, so that a reader can check by hand.

use crate::inspect::shell_word;
use crate::url::PostgresUrl;

/// The commands, in the order of the page; `table` is quoted where it must be.
pub(super) fn commands(url: &PostgresUrl, table: &str, key: &[u8]) -> Vec<String> {
    let mut cli = String::new();
    if url.password.is_some() {
        // Never on a command line, where every user of the machine can read it.
        cli.push_str("PGPASSWORD=… ");
    }
    if url.tls {
        cli.push_str("PGSSLMODE=verify-full ");
        if let Some(ca) = &url.ca {
            let file = shell_word(ca.as_os_str().as_encoded_bytes());
            cli.push_str(&format!("PGSSLROOTCERT={file} "));
        }
    }
    cli.push_str(&format!("psql -h {} -p {}", shell_word(url.host.as_bytes()), url.port));
    for (flag, value) in [("-U", &url.user), ("-d", &url.db)] {
        if let Some(value) = value {
            cli.push_str(&format!(" {flag} {}", shell_word(value.as_bytes())));
        }
    }
    let key = String::from_utf8_lossy(key).replace('\'', "''");
    [
        format!("SELECT *, expires_at - clock_timestamp() AS left FROM {table} WHERE key = '{key}'"),
        format!("SELECT locks.* FROM pg_locks AS locks JOIN {table} ON transactionid = xmax WHERE key = '{key}'"),
        "SELECT pid, usename, application_name, client_addr, state, xact_start, wait_event, left(query, 80) FROM \
         pg_stat_activity WHERE datname = current_database()"
            .to_owned(),
        "SELECT application_name, state, sync_state, replay_lag FROM pg_stat_replication".to_owned(),
        "SHOW synchronous_commit".to_owned(),
        "SHOW idle_in_transaction_session_timeout".to_owned(),
    ]
    .into_iter()
    .map(|statement| format!("{cli} -xc {}", shell_word(statement.as_bytes())))
    .collect()
}
