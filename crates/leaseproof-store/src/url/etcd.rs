//! The URL of an etcd cluster.

use super::layout::Layout;
use super::refuse;
use super::server::Server;
use crate::error::StoreError;
use std::fmt;

/// `etcd://[user:password@]host[:port][,host[:port]…][?recipe=lock]`; `etcds://` for TLS.
#[derive(Clone, PartialEq, Eq)]
pub struct EtcdUrl {
    pub(crate) server: Server,
    /// User and password.
    pub(crate) login: Option<(String, String)>,
    /// Whose layout the keys have.
    pub(crate) layout: Layout,
}

const HOW: &str = "give etcd://[user:password@]host[:port][,host[:port]…] or etcds:// for TLS";

pub(super) fn parse(text: &str, tls: bool) -> Result<EtcdUrl, StoreError> {
    let (server, options) = Server::parse(text, tls, 2379, HOW)?;
    let mut layout = Layout::default();
    for (name, value) in &options {
        match name.as_str() {
            "recipe" => layout = Layout::parse(text, value)?,
            _ => {
                return Err(refuse(
                    text,
                    format!("the option {name} is not known: recipe is, and with TLS ca and server_name"),
                ));
            }
        }
    }
    if !matches!(server.given.path(), "" | "/") {
        let why = format!("it has a path, and etcd has no databases: {HOW}; the key is given apart");
        return Err(refuse(text, why));
    }
    let login = match server.login(text)? {
        (None, None) => None,
        (Some(user), Some(password)) => Some((user, password)),
        _ => return Err(refuse(text, format!("it has a user or a password and not both: {HOW}"))),
    };
    Ok(EtcdUrl { server, login, layout })
}

impl fmt::Display for EtcdUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.server.fmt(f)
    }
}

impl fmt::Debug for EtcdUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use crate::url::StoreUrl;

    fn url(text: &str) -> StoreUrl {
        text.parse().expect(text)
    }

    #[test]
    fn urls_ok() {
        // Text, shown, loopback, host and port.
        for (text, shown, loopback, place) in [
            ("etcd://127.0.0.1", "etcd://127.0.0.1", true, ("127.0.0.1", 2379)),
            ("etcd://localhost:1/", "etcd://localhost:1/", true, ("localhost", 1)),
            ("etcd://[::1]:1", "etcd://[::1]:1", true, ("::1", 1)),
            ("etcd://h:1?recipe=lock", "etcd://h:1?recipe=lock", false, ("h", 1)),
            (
                "etcd://me:p%40ss@10.0.0.1",
                "etcd://me:***@10.0.0.1",
                false,
                ("10.0.0.1", 2379),
            ),
            (
                "etcds://me:secret@db.example:1?ca=/ca.pem",
                "etcds://me:***@db.example:1?ca=/ca.pem",
                false,
                ("db.example", 1),
            ),
        ] {
            let parsed = url(text);
            assert_eq!(parsed.to_string(), shown);
            assert_eq!(format!("{parsed:?}"), shown);
            assert_eq!(parsed.kind(), "etcd");
            assert_eq!(parsed.path(), None);
            assert_eq!(parsed.is_loopback(), loopback, "{text}");
            assert_eq!(parsed.host_port(), Some(place));
            assert_eq!(url(&parsed.with_secrets()), parsed);
        }
    }

    #[test]
    fn urls_bad() {
        for (text, part) in [
            ("etcd://", "host"),
            ("etcd://a:1,b:x", "no member"),
            ("etcd://a,", "no member"),
            ("etcd://h/locks", "path"),
            ("etcd://h:99999", "port"),
            ("etcd://me@h", "not both"),
            ("etcd://:hunter2@h", "not both"),
            ("etcd://me:hunter2@h/x", "path"),
            ("etcd://h?ca=/x", "etcds"),
            ("etcd://h?timeout=1", "not known"),
            ("etcd://h?recipe=queue", "recipe=queue is not known: lock is"),
        ] {
            let error = text.parse::<StoreUrl>().expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
            assert!(!error.contains("hunter2"), "{text}: {error}");
        }
    }

    #[test]
    fn several_members_are_one_store() {
        let members = url("etcd://me:p%40ss@127.0.0.1:1,localhost,[::1]:3/?");
        let shown = "etcd://me:***@127.0.0.1:1,localhost:2379,[::1]:3/?";
        assert_eq!((members.to_string().as_str(), members.is_loopback()), (shown, true));
        assert_eq!(url(&members.with_secrets()), members);
        assert!(!url("etcd://127.0.0.1,10.0.0.1").is_loopback());
        let moved = members.with_places(&[("127.0.0.1".to_owned(), 7), ("127.0.0.1".to_owned(), 8)]);
        assert_eq!(moved.with_secrets(), "etcd://me:p%40ss@127.0.0.1:7,127.0.0.1:8/?");
        assert_eq!(moved.with_host_port("h", 9).with_secrets(), "etcd://me:p%40ss@h:9/?");
    }

    #[test]
    fn a_relay_in_front_keeps_the_rest() {
        let moved = url("etcds://me:s%23@db.example:1?ca=/ca.pem").with_host_port("127.0.0.1", 9);
        assert_eq!(
            moved.with_secrets(),
            "etcds://me:s%23@127.0.0.1:9?ca=/ca.pem&server_name=db.example"
        );
        assert_eq!(url(&moved.with_secrets()), moved);
        let plain = url("etcd://localhost:1?recipe=lock").with_host_port("::1", 9);
        assert_eq!(plain.with_secrets(), "etcd://[::1]:9?recipe=lock");
    }
}
