//! `etcd://[user:password@]host[:port][,host[:port]…]`, or `etcds://` for TLS.

use super::layout::Layout;
use super::places::{Others, Place};
use super::{decode, refuse};
use crate::error::StoreError;
use std::fmt;
use std::net::Ipv6Addr;
use std::path::PathBuf;
use url::{Host, Url};

const HOW: &str = "give etcd://[user:password@]host[:port][,host[:port]…] or etcds:// for TLS";

/// The URL of an etcd cluster: one member of it, or several.
#[derive(Clone, PartialEq, Eq)]
pub struct EtcdUrl {
    /// TLS.
    pub(crate) tls: bool,
    /// A name or an address, without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// User and password.
    pub(crate) login: Option<(String, String)>,
    /// A PEM file with the certificates to trust, instead of the system's.
    pub(crate) ca: Option<PathBuf>,
    /// The name that the server's certificate must have, where it is not the host.
    pub(crate) server_name: Option<String>,
    /// Whose layout the keys have.
    pub(crate) layout: Layout,
    /// As given, so that nothing is lost when it is handed on.
    pub(super) given: Url,
    /// Members beside the first.
    pub(super) others: Others,
}

/// Its port where the URL names none.
const PORT: u16 = 2379;

impl EtcdUrl {
    pub(super) fn parse(text: &str) -> Result<Self, StoreError> {
        let (first, others) = Others::take(text, PORT, HOW)?;
        let given = Url::parse(&first).map_err(|error| refuse(text, format!("{error}: {HOW}")))?;
        let host = match given.host() {
            Some(Host::Domain(name)) if !name.is_empty() => decode(text, "host", name)?,
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            _ => return Err(refuse(text, format!("the host is missing: {HOW}"))),
        };
        if !matches!(given.path(), "" | "/") {
            let why = format!("it has a path, and etcd has no databases: {HOW}; the key is given apart");
            return Err(refuse(text, why));
        }
        let login = match (given.username(), given.password()) {
            ("", None) => None,
            (user, Some(password)) if !user.is_empty() => {
                Some((decode(text, "user", user)?, decode(text, "password", password)?))
            }
            _ => return Err(refuse(text, format!("it has a user or a password and not both: {HOW}"))),
        };
        let tls = given.scheme() == "etcds";
        let (mut ca, mut server_name, mut layout) = (None, None, Layout::default());
        for (name, value) in given.query_pairs() {
            match &*name {
                "ca" if tls => ca = Some(PathBuf::from(&*value)),
                "server_name" if tls => server_name = Some(value.into_owned()),
                "ca" | "server_name" => {
                    return Err(refuse(text, format!("{name} is for TLS: write etcds://")));
                }
                "recipe" => layout = Layout::parse(text, &value)?,
                _ => {
                    return Err(refuse(
                        text,
                        format!("the option {name} is not known: recipe is, and with TLS ca and server_name"),
                    ));
                }
            }
        }
        Ok(Self {
            tls,
            host,
            port: given.port().unwrap_or(PORT),
            login,
            ca,
            server_name,
            layout,
            given,
            others,
        })
    }

    /// The same cluster at another place; see [`StoreUrl::with_host_port`](super::StoreUrl::with_host_port).
    pub(super) fn moved_to(&self, host: &str, port: u16) -> Self {
        let mut moved = self.clone();
        moved.others = Others::default();
        if self.tls && self.host != host && self.server_name.is_none() {
            moved.server_name = Some(self.host.clone());
            moved.given.query_pairs_mut().append_pair("server_name", &self.host);
        }
        moved.host = host.to_owned();
        moved.port = port;
        let text = match host.parse::<Ipv6Addr>() {
            Ok(_) => format!("[{host}]"),
            Err(_) => host.to_owned(),
        };
        // Both can only fail on a URL that has no host, and this one has.
        let _ = moved.given.set_host(Some(&text));
        let _ = moved.given.set_port(Some(port));
        moved
    }

    /// Where its members are.
    pub(crate) fn places(&self) -> Vec<Place> {
        self.others.after(&self.host, self.port)
    }

    pub(super) fn with_secrets(&self) -> String {
        self.others.shown(&self.given)
    }

    /// The text that the certificate of a member is checked against.
    pub(crate) fn tls_name<'a>(&'a self, host: &'a str) -> &'a str {
        self.server_name.as_deref().unwrap_or(host)
    }
}

impl fmt::Display for EtcdUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.given.clone();
        if self.login.is_some() {
            // It has a host, so a password can be set.
            let _ = shown.set_password(Some("***"));
        }
        f.write_str(&self.others.shown(&shown))
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
