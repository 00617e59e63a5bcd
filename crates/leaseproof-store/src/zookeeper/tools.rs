//! The same questions for the server's own tools, so that a reader can check by hand.

use crate::inspect::shell_word;
use crate::url::ZooKeeperUrl;

/// The commands, in the order of the page.
pub(super) fn commands(url: &ZooKeeperUrl, path: &str) -> Vec<String> {
    let server = &url.server;
    let place = shell_word(format!("{}:{}", server.host, server.port).as_bytes());
    let path = shell_word(path.as_bytes());
    let mut all = Vec::new();
    if url.digest.is_some() {
        all.push("# in an open zkCli.sh first: addauth digest USER:PASSWORD".to_owned());
    }
    for command in [
        format!("stat {path}"),
        format!("get -s {path}   # prints the holder's secret"),
        format!("getAcl {path}"),
    ] {
        all.push(format!("zkCli.sh -server {place} {command}"));
    }
    if !server.tls {
        let (host, port) = (shell_word(server.host.as_bytes()), server.port);
        all.extend(["srvr", "conf", "cons"].map(|word| format!("echo {word} | nc {host} {port}")));
    }
    all
}
