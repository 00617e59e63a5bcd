//! The same questions for `redis-cli`, so that a reader can check by hand.

use crate::inspect::shell_word;
use crate::redis::counter_bytes;
use crate::url::RedisUrl;
use std::fmt::Write as _;

/// The commands, in the order of the page.
pub(crate) fn commands(url: &RedisUrl, key: &[u8]) -> Vec<String> {
    let mut cli = String::new();
    if url.password.is_some() {
        // Never on a command line, where every user of the machine can read it.
        cli.push_str("REDISCLI_AUTH=… ");
    }
    // Writing to a String can't fail.
    let _ = write!(cli, "redis-cli -h {} -p {}", shell_word(url.host.as_bytes()), url.port);
    if let Some(user) = &url.user {
        let _ = write!(cli, " --user {}", shell_word(user.as_bytes()));
    }
    if url.tls {
        cli.push_str(" --tls");
        if let Some(ca) = &url.ca {
            let _ = write!(cli, " --cacert {}", shell_word(ca.as_os_str().as_encoded_bytes()));
        }
        if let Some(name) = &url.server_name {
            let _ = write!(cli, " --sni {}", shell_word(name.as_bytes()));
        }
    }
    if url.db != 0 {
        let _ = write!(cli, " -n {}", url.db);
    }
    let key_word = shell_word(key);
    let counter = shell_word(&counter_bytes(key));
    [
        format!("PTTL {key_word}"),
        format!("PEXPIRETIME {key_word}"),
        format!("GET {counter}"),
        format!("TYPE {key_word}"),
        format!("GET {key_word}   # prints the holder's secret"),
        "TIME".to_owned(),
        "INFO replication".to_owned(),
        "INFO memory".to_owned(),
        "INFO persistence".to_owned(),
        "CLIENT LIST".to_owned(),
        "CONFIG GET slowlog-log-slower-than".to_owned(),
        "SLOWLOG GET 128".to_owned(),
    ]
    .into_iter()
    .map(|command| format!("{cli} {command}"))
    .collect()
}
