//! `etcd://[user:password@]host[:port]`, or `etcds://` for TLS.

use super::layout::Layout;
use super::{decode, refuse};
use crate::error::StoreError;
use std::fmt;
use std::net::Ipv6Addr;
use std::path::PathBuf;
use url::{Host, Url};

const HOW: &str = "give etcd://[user:password@]host[:port] or etcds:// for TLS";

/// The URL of an etcd server: one member of the cluster.
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
}

impl EtcdUrl {
    pub(super) fn parse(text: &str) -> Result<Self, StoreError> {
        let given = Url::parse(text).map_err(|error| refuse(text, format!("{error}: {HOW}")))?;
        let host = match given.host() {
            Some(Host::Domain(name)) if !name.is_empty() => decode(text, "host", name)?,
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            _ => return Err(refuse(text, format!("the host is missing: {HOW}"))),
        };
        if host.contains(',') {
            return Err(refuse(text, format!("it names several hosts, and one is asked: {HOW}")));
        }
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
            port: given.port().unwrap_or(2379),
            login,
            ca,
            server_name,
            layout,
            given,
        })
    }

    /// The same cluster at another place; see [`StoreUrl::with_host_port`](super::StoreUrl::with_host_port).
    pub(super) fn moved_to(&self, host: &str, port: u16) -> Self {
        let mut moved = self.clone();
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

    /// The text that a certificate is checked against.
    pub(crate) fn tls_name(&self) -> &str {
        self.server_name.as_deref().unwrap_or(&self.host)
    }
}

impl fmt::Display for EtcdUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.given.clone();
        if self.login.is_some() {
            // It has a host, so a password can be set.
            let _ = shown.set_password(Some("***"));
        }
        shown.fmt(f)
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
            ("etcd://a:1,b:1", "port"),
            ("etcd://a,b", "several hosts"),
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
