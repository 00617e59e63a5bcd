//! The same questions for `redis-cli`, so that a reader can check by hand.

use crate::inspect::shell_word;
use crate::redis::slots;
use crate::url::{Place, RedisUrl, Way};
use std::fmt::Write as _;

/// The commands, in the order of the page. `server` is the one that has the key.
pub(crate) fn commands(url: &RedisUrl, server: Option<&Place>, key: &[u8]) -> Vec<String> {
    let server = server.unwrap_or(url.place());
    let mut commands = Vec::new();
    if let Way::Sentinel {
        service,
        user,
        password,
    } = &url.way
    {
        let cli = cli(url, url.place(), (user.as_ref(), password.as_ref()));
        let service = shell_word(service.as_bytes());
        commands.push(format!("{cli} SENTINEL GET-MASTER-ADDR-BY-NAME {service}"));
    }
    let mut cli = cli(url, server, (url.user.as_ref(), url.password.as_ref()));
    if url.way == Way::Cluster {
        // It follows the cluster's word that another server has the key.
        cli.push_str(" -c");
    }
    if url.db != 0 {
        // Writing to a String can't fail.
        let _ = write!(cli, " -n {}", url.db);
    }
    let key_word = shell_word(key);
    let counter = match url.way {
        Way::Cluster => shell_word(&slots::counter(key)),
        _ => shell_word(&[key, b":token"].concat()),
    };
    let questions = [
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
    ];
    commands.extend(questions.into_iter().map(|question| format!("{cli} {question}")));
    commands
}

/// `redis-cli` for one server.
fn cli(url: &RedisUrl, server: &Place, (user, password): (Option<&String>, Option<&String>)) -> String {
    let mut cli = String::new();
    if password.is_some() {
        // Never on a command line, where every user of the machine can read it.
        cli.push_str("REDISCLI_AUTH=… ");
    }
    // Writing to a String can't fail.
    let _ = write!(
        cli,
        "redis-cli -h {} -p {}",
        shell_word(server.host.as_bytes()),
        server.port
    );
    if let Some(user) = user {
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
    cli
}
