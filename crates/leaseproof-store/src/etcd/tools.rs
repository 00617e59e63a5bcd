//! The same questions for `etcdctl`, so that a reader can check by hand.

use crate::inspect::shell_word;
use crate::url::EtcdUrl;

/// The commands, in the order of the page. `lease` is the key's, 0 where it is not known.
pub(super) fn commands(url: &EtcdUrl, key: &[u8], lease: i64) -> Vec<String> {
    let scheme = if url.server.tls { "https" } else { "http" };
    let host = match url.server.host.contains(':') {
        true => format!("[{}]", url.server.host),
        false => url.server.host.clone(),
    };
    let place = shell_word(format!("{scheme}://{host}:{}", url.server.port).as_bytes());
    let mut cli = format!("etcdctl --endpoints {place}");
    if let Some((user, _)) = &url.login {
        // Its password never on a command line, where every user of the machine can read it.
        cli = format!("ETCDCTL_USER={} ETCDCTL_PASSWORD=… {cli}", shell_word(user.as_bytes()));
    }
    if let Some(ca) = &url.server.ca {
        cli.push_str(&format!(" --cacert {}", shell_word(ca.as_os_str().as_encoded_bytes())));
    }
    let key = shell_word(key);
    let lease = match lease {
        0 => "LEASE   # the Lease of the line above, in hex: printf %x".to_owned(),
        lease => format!("{lease:x}"),
    };
    [
        format!("get --write-out fields -- {key}   # prints the holder's secret"),
        format!("lease timetolive --keys {lease}"),
        "endpoint status --cluster --write-out table".to_owned(),
        "member list --write-out table".to_owned(),
        "alarm list".to_owned(),
    ]
    .into_iter()
    .map(|command| format!("{cli} {command}"))
    .collect()
}
