//! The URL of a ZooKeeper server.

use super::layout::Layout;
use super::refuse;
use super::server::Server;
use crate::error::StoreError;
use std::fmt;

/// `zookeeper://[user:password@]host[:port][,host[:port]…][/chroot][?recipe=lock]` (or `zk://`); `zookeepers://` (`zks://`) for
/// TLS.
#[derive(Clone, PartialEq, Eq)]
pub struct ZooKeeperUrl {
    pub(crate) server: Server,
    /// `user:password`, as the scheme `digest` wants it.
    pub(crate) digest: Option<String>,
    /// The node below which everything lies, without a slash at its end.
    pub(crate) chroot: String,
    /// Whose layout the keys have.
    pub(crate) layout: Layout,
}

const HOW: &str = "give zookeeper://[user:password@]host[:port][,host[:port]…][/chroot], or zookeepers:// for TLS";

pub(super) fn parse(text: &str, tls: bool) -> Result<ZooKeeperUrl, StoreError> {
    let (server, options) = Server::parse(text, tls, 2181, HOW)?;
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
    let digest = match server.login(text)? {
        (None, None) => None,
        (Some(user), Some(password)) if !user.contains(':') => Some(format!("{user}:{password}")),
        (Some(_), Some(_)) => return Err(refuse(text, "a user has no colon in it".to_owned())),
        _ => {
            return Err(refuse(
                text,
                "user and password belong together: zookeeper://user:password@host".to_owned(),
            ));
        }
    };
    let chroot = server.given.path().trim_end_matches('/').to_owned();
    if chroot.split('/').skip(1).any(|part| matches!(part, "" | "." | "..")) || chroot.contains('%') {
        return Err(refuse(text, format!("the path {chroot} is no node: {HOW}")));
    }
    Ok(ZooKeeperUrl {
        server,
        digest,
        chroot,
        layout,
    })
}

impl ZooKeeperUrl {
    /// See [`StoreUrl::only_looked_at`](super::StoreUrl::only_looked_at).
    pub(crate) fn only_looked_at(&self) -> Option<&'static str> {
        self.layout.is_recipe().then_some(
            "with recipe=lock the queues are only looked at, since kazoo and Curator name their places in one \
             differently and don't see each other's",
        )
    }
}

impl fmt::Display for ZooKeeperUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.server.fmt(f)
    }
}

impl fmt::Debug for ZooKeeperUrl {
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
        for (text, shown, place) in [
            ("zookeeper://127.0.0.1", "zookeeper://127.0.0.1", ("127.0.0.1", 2181)),
            ("zk://localhost:21/a/b/", "zk://localhost:21/a/b/", ("localhost", 21)),
            ("zookeeper://[::1]:1", "zookeeper://[::1]:1", ("::1", 1)),
            (
                "zk://localhost:1,[::1]:2/a",
                "zk://localhost:1,[::1]:2/a",
                ("localhost", 1),
            ),
            (
                "zookeepers://me:p%40ss@10.0.0.1/x?ca=/ca.pem",
                "zookeepers://me:***@10.0.0.1/x?ca=/ca.pem",
                ("10.0.0.1", 2181),
            ),
        ] {
            let parsed = url(text);
            assert_eq!(parsed.to_string(), shown);
            assert_eq!(format!("{parsed:?}"), shown);
            assert_eq!(parsed.host_port(), Some(place));
            assert_eq!(parsed.is_loopback(), !text.contains("10.0"), "{text}");
            assert_eq!(parsed.kind(), "zookeeper");
            assert_eq!(url(&parsed.with_secrets()), parsed);
        }
        let StoreUrl::ZooKeeper(parsed) = url("zk://me:p%40:ss@h/a/b/") else {
            panic!("it is ZooKeeper");
        };
        assert_eq!(parsed.chroot, "/a/b");
        assert_eq!(parsed.digest.as_deref(), Some("me:p@:ss"));
        assert!(!parsed.layout.is_recipe());
        let StoreUrl::ZooKeeper(parsed) = url("zk://h/a?recipe=lock") else {
            panic!("it is ZooKeeper");
        };
        assert!(parsed.layout.is_recipe() && parsed.only_looked_at().is_some());
    }

    #[test]
    fn urls_bad() {
        for (text, part) in [
            ("zookeeper://", "host"),
            ("zk://me@h", "belong together"),
            ("zk://:hunter2@h", "belong together"),
            ("zk://a:2181,b:x/y", "no member"),
            ("zk://h//x", "no node"),
            ("zk://h/%20", "no node"),
            ("zk://h:99999", "port"),
            ("zk://h?ca=/x", "zookeepers"),
            ("zk://h?recipe=barrier", "lock is"),
            ("zks://me:hunter2@h?timeout=1", "not known"),
        ] {
            let error = text.parse::<StoreUrl>().expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_relay_in_front_keeps_the_rest() {
        let moved = url("zookeepers://me:pw@zk.example/a").with_host_port("127.0.0.1", 9);
        assert_eq!(
            moved.with_secrets(),
            "zookeepers://me:pw@127.0.0.1:9/a?server_name=zk.example"
        );
        assert_eq!(url(&moved.with_secrets()), moved);
    }
}
