//! Which store, and how to reach it. Shown with its password redacted, always.

use crate::error::StoreError;
use percent_encoding::percent_decode_str;
#[cfg(any(feature = "consul", feature = "etcd", feature = "zookeeper"))]
use places::Others;
#[cfg(any(feature = "consul", feature = "etcd", feature = "zookeeper"))]
use server::Server;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use url::Url;

#[cfg(feature = "etcd")]
mod etcd;

#[cfg(feature = "etcd")]
pub use etcd::EtcdUrl;
#[cfg(feature = "postgres")]
mod postgres;

#[cfg(feature = "postgres")]
pub use postgres::PostgresUrl;
#[cfg(feature = "consul")]
mod consul;
#[cfg(any(feature = "consul", feature = "etcd", feature = "zookeeper"))]
pub(crate) mod places;
mod redact;

#[cfg(feature = "redis")]
mod redis;

#[cfg(feature = "redis")]
pub use self::redis::RedisUrl;
#[cfg(feature = "redis")]
pub(crate) use self::redis::{Place, Way};
pub use redact::redact;
#[cfg(any(feature = "consul", feature = "etcd", feature = "zookeeper"))]
mod layout;
#[cfg(any(feature = "consul", feature = "etcd", feature = "zookeeper"))]
mod server;
#[cfg(feature = "zookeeper")]
mod zookeeper;

#[cfg(feature = "consul")]
pub use consul::ConsulUrl;
#[cfg(any(feature = "consul", feature = "etcd", feature = "zookeeper"))]
pub(crate) use layout::Layout;
#[cfg(feature = "zookeeper")]
pub use zookeeper::ZooKeeperUrl;

/// The URL of a lock store.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreUrl {
    #[cfg(feature = "sqlite")]
    /// `sqlite:PATH`.
    Sqlite(PathBuf),
    #[cfg(feature = "redis")]
    /// `redis://[user:password@]host[:port][/db]`, `redis+sentinel://host:port,…/service[/db]`,
    /// `redis+cluster://host:port,…` or `redlock://host:port,host:port,host:port[/db]`; `rediss…://` and
    /// `redlocks://` for TLS.
    Redis(Box<RedisUrl>),
    /// `zookeeper://[user:password@]host[:port][/chroot]`, or `zookeepers://` for TLS; `?recipe=lock` for the
    /// queues of kazoo and Curator.
    #[cfg(feature = "zookeeper")]
    ZooKeeper(ZooKeeperUrl),
    /// `consul://[:token@]host[:port][/prefix]`, or `consuls://` for TLS; `?recipe=lock` for the locks of
    /// `consul lock`.
    #[cfg(feature = "consul")]
    Consul(ConsulUrl),
    /// `etcd://[user:password@]host[:port]`, or `etcds://` for TLS; `?recipe=lock` for the locks of
    /// `etcdctl lock`.
    #[cfg(feature = "etcd")]
    Etcd(EtcdUrl),
    /// `postgres://[user[:password]@]host[:port]/db[?table=NAME]`.
    #[cfg(feature = "postgres")]
    Postgres(PostgresUrl),
}

const HOW: &str = "give sqlite:PATH, redis://[user:password@]host:port[/db] (rediss:// for TLS), \
                   redis+sentinel://host:port,host:port/service, redis+cluster://host:port, \
                   redlock://host:port,host:port,host:port, \
                   postgres://user@host/db or etcd://[user:password@]host[:port] (etcds:// for TLS), \
                   zookeeper://host:port, consul://host:port; these three take more members, as etcd://a:2379,b:2379";

/// Stores for which a build may have an adapter.
const KNOWN: &[&str] = &[
    "etcd",
    "etcds",
    "zookeeper",
    "zookeepers",
    "zk",
    "zks",
    "consul",
    "consuls",
    "postgres",
    "postgresql",
];

impl FromStr for StoreUrl {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        let (scheme, rest) = text
            .split_once(':')
            .ok_or_else(|| refuse(text, format!("it has no scheme: {HOW}")))?;
        match scheme {
            #[cfg(feature = "sqlite")]
            "sqlite" => sqlite(text, rest),
            #[cfg(feature = "redis")]
            scheme if redis::SCHEMES.contains(&scheme) => {
                RedisUrl::parse(text, scheme).map(|url| Self::Redis(Box::new(url)))
            }
            #[cfg(feature = "etcd")]
            "etcd" => etcd::parse(text, false).map(Self::Etcd),
            #[cfg(feature = "etcd")]
            "etcds" => etcd::parse(text, true).map(Self::Etcd),
            #[cfg(feature = "postgres")]
            "postgres" | "postgresql" => PostgresUrl::parse(text).map(Self::Postgres),
            "unix" | "redis+unix" | "redis-socket" | "valkey+unix" => Err(refuse(
                text,
                "a unix socket can't be watched or cut on its way: let the server listen on \
                 loopback too, and give redis://127.0.0.1:PORT"
                    .to_owned(),
            )),
            "valkey" | "valkeys" => Err(refuse(
                text,
                "Valkey speaks the Redis protocol: write redis:// (or rediss:// for TLS)".to_owned(),
            )),
            #[cfg(feature = "zookeeper")]
            "zookeeper" | "zk" => zookeeper::parse(text, false).map(Self::ZooKeeper),
            #[cfg(feature = "zookeeper")]
            "zookeepers" | "zks" => zookeeper::parse(text, true).map(Self::ZooKeeper),
            #[cfg(feature = "consul")]
            "consul" => consul::parse(text, false).map(Self::Consul),
            #[cfg(feature = "consul")]
            "consuls" => consul::parse(text, true).map(Self::Consul),
            // What this build has an adapter for was met above.
            _ if KNOWN.contains(&scheme) => Err(refuse(text, format!("this build has no adapter for {scheme}: {HOW}"))),
            _ => Err(refuse(text, format!("{scheme} is no store: {HOW}"))),
        }
    }
}

#[cfg(feature = "sqlite")]
fn sqlite(text: &str, rest: &str) -> Result<StoreUrl, StoreError> {
    // `sqlite:///abs`, `sqlite:/abs` and `sqlite:rel` are all in use.
    let path = rest.strip_prefix("//").unwrap_or(rest);
    if path.is_empty() {
        return Err(refuse(text, "the path is missing: sqlite:PATH".to_owned()));
    }
    if path == ":memory:" {
        return Err(refuse(
            text,
            "a database in memory can't be shared by two processes: give a file".to_owned(),
        ));
    }
    Ok(StoreUrl::Sqlite(PathBuf::from(path)))
}

fn decode(text: &str, what: &str, encoded: &str) -> Result<String, StoreError> {
    percent_decode_str(encoded)
        .decode_utf8()
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| refuse(text, format!("the {what} is not UTF-8")))
}

fn refuse(text: &str, why: String) -> StoreError {
    StoreError::Url {
        url: redact(text),
        why: redact::reason(text, why),
    }
}

/// Puts host and port into a URL that has some.
fn set_place(given: &mut Url, host: &str, port: u16) {
    let text = match host.parse::<Ipv6Addr>() {
        Ok(_) => format!("[{host}]"),
        Err(_) => host.to_owned(),
    };
    // Both can only fail on a URL that has no host.
    let _ = given.set_host(Some(&text));
    let _ = given.set_port(Some(port));
}

impl StoreUrl {
    /// `sqlite`, `redis` …
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => "sqlite",
            #[cfg(feature = "redis")]
            Self::Redis(url) => url.kind(),
            #[cfg(feature = "etcd")]
            Self::Etcd(_) => "etcd",
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => "postgres",
            #[cfg(feature = "zookeeper")]
            Self::ZooKeeper(_) => "zookeeper",
            #[cfg(feature = "consul")]
            Self::Consul(_) => "consul",
        }
    }

    /// The scheme of the same store behind TLS.
    #[must_use]
    pub fn tls_scheme(&self) -> String {
        match self.kind() {
            "redis-sentinel" => "rediss+sentinel".to_owned(),
            "redis-cluster" => "rediss+cluster".to_owned(),
            kind => format!("{kind}s"),
        }
    }

    /// The file of an embedded store.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(path) => Some(path),
            _ => None,
        }
    }

    /// Whether nothing leaves this host to reach it. By its address only: loopback may be a tunnel.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.places().iter().all(|(host, _)| {
            host.eq_ignore_ascii_case("localhost")
                || host.parse().is_ok_and(|ip: IpAddr| ip.to_canonical().is_loopback())
        })
    }

    /// The passwords and tokens in it, as they stand there.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        #[cfg(feature = "redis")]
        if let Self::Redis(url) = self {
            return url.secrets();
        }
        // With its first place alone: several are no URL to others.
        let first: Vec<_> = self.places().into_iter().take(1).collect();
        let url = Url::parse(&self.with_places(&first).with_secrets()).ok();
        let password = url.as_ref().and_then(Url::password).filter(|it| !it.is_empty());
        password.map(str::to_owned).into_iter().collect()
    }

    /// Hosts and ports of all its members; none where there is no network in between.
    #[must_use]
    pub fn places(&self) -> Vec<(String, u16)> {
        match self {
            #[cfg(feature = "etcd")]
            Self::Etcd(url) => url.server.places(),
            #[cfg(feature = "zookeeper")]
            Self::ZooKeeper(url) => url.server.places(),
            #[cfg(feature = "consul")]
            Self::Consul(url) => url.server.places(),
            #[cfg(feature = "redis")]
            Self::Redis(url) => url.places(),
            other => other
                .host_port()
                .map(|(host, port)| (host.to_owned(), port))
                .into_iter()
                .collect(),
        }
    }

    /// The same store by these places, such as relays before each of its members. The first is as
    /// [`Self::with_host_port`] has it; a store of one member takes no more than that.
    #[must_use]
    #[cfg_attr(
        not(any(feature = "consul", feature = "etcd", feature = "zookeeper")),
        expect(unused_variables, reason = "a store of several members is an optional one")
    )]
    pub fn with_places(&self, places: &[(String, u16)]) -> Self {
        let Some(((host, port), others)) = places.split_first() else {
            return self.clone();
        };
        match self.with_host_port(host, *port) {
            // What was moved: a server alone, and behind() the several of a quorum.
            #[cfg(feature = "redis")]
            Self::Redis(url) => Self::Redis(Box::new(url.behind(places))),
            #[cfg(any(feature = "consul", feature = "etcd", feature = "zookeeper"))]
            mut moved => {
                if let Some(server) = moved.server_mut() {
                    server.others = Others::of(others);
                }
                moved
            }
            #[cfg(not(any(feature = "consul", feature = "etcd", feature = "zookeeper")))]
            moved => moved,
        }
    }

    /// Host and port of the first member, where there is a network in between; `None` where the members tell an
    /// owner each other's places (Sentinel, Cluster), so that nothing can be put before all of them.
    #[must_use]
    pub fn host_port(&self) -> Option<(&str, u16)> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => None,
            #[cfg(feature = "redis")]
            Self::Redis(url) => url
                .takes_relays()
                .then(|| (url.place().host.as_str(), url.place().port)),
            #[cfg(feature = "etcd")]
            Self::Etcd(url) => Some((&url.server.host, url.server.port)),
            #[cfg(feature = "postgres")]
            Self::Postgres(server) => Some((&server.host, server.port)),
            #[cfg(feature = "zookeeper")]
            Self::ZooKeeper(url) => Some((&url.server.host, url.server.port)),
            #[cfg(feature = "consul")]
            Self::Consul(url) => Some((&url.server.host, url.server.port)),
        }
    }

    /// The same store through a relay at `host:port`. With TLS the certificate is still asked for by
    /// the name it had (`server_name`), unless the host's text stays the same; a program that
    /// doesn't know that option needs a relay under the same name. A store of several servers stays as it is.
    #[must_use]
    pub fn with_host_port(&self, host: &str, port: u16) -> Self {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => self.clone(),
            #[cfg(feature = "redis")]
            Self::Redis(url) => Self::Redis(Box::new(url.moved(host, port))),
            #[cfg(feature = "postgres")]
            Self::Postgres(server) => Self::Postgres(server.behind(host, port)),
            #[cfg(any(feature = "consul", feature = "etcd", feature = "zookeeper"))]
            other => {
                let mut moved = other.clone();
                if let Some(server) = moved.server_mut() {
                    server.move_to(host, port);
                }
                moved
            }
        }
    }

    /// The way to a store of members that are all the same.
    #[cfg(any(feature = "consul", feature = "etcd", feature = "zookeeper"))]
    fn server_mut(&mut self) -> Option<&mut Server> {
        match self {
            #[cfg(feature = "etcd")]
            Self::Etcd(url) => Some(&mut url.server),
            #[cfg(feature = "zookeeper")]
            Self::ZooKeeper(url) => Some(&mut url.server),
            #[cfg(feature = "consul")]
            Self::Consul(url) => Some(&mut url.server),
            #[cfg(any(feature = "sqlite", feature = "redis", feature = "postgres"))]
            _ => None,
        }
    }

    /// Why leaseproof itself can take no lease here, where it can't: then its leases are only looked at, and
    /// removed.
    #[must_use]
    pub fn only_looked_at(&self) -> Option<&'static str> {
        match self {
            #[cfg(feature = "zookeeper")]
            Self::ZooKeeper(url) => url.only_looked_at(),
            _ => None,
        }
    }

    /// Whether `?recipe=lock` can be added to it: the store has locks of its own tools.
    #[must_use]
    pub fn takes_recipe(&self) -> bool {
        match self {
            #[cfg(feature = "etcd")]
            Self::Etcd(url) => !url.layout.is_recipe(),
            #[cfg(feature = "zookeeper")]
            Self::ZooKeeper(url) => !url.layout.is_recipe(),
            #[cfg(feature = "consul")]
            Self::Consul(url) => !url.layout.is_recipe(),
            _ => false,
        }
    }

    /// Whether one server has several databases that a URL tells apart by a number.
    #[must_use]
    pub fn has_numbered_databases(&self) -> bool {
        match self {
            #[cfg(feature = "redis")]
            Self::Redis(url) => url.has_numbered_databases(),
            _ => false,
        }
    }

    /// The URL with its password: for the environment of an owner, never for an eye or a file.
    #[must_use]
    pub fn with_secrets(&self) -> String {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(path) => format!("sqlite:{}", path.display()),
            #[cfg(feature = "redis")]
            Self::Redis(url) => url.with_secrets(),
            #[cfg(feature = "etcd")]
            Self::Etcd(url) => url.server.with_secrets(),
            #[cfg(feature = "postgres")]
            Self::Postgres(server) => server.given.to_string(),
            #[cfg(feature = "zookeeper")]
            Self::ZooKeeper(url) => url.server.with_secrets(),
            #[cfg(feature = "consul")]
            Self::Consul(url) => url.server.with_secrets(),
        }
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            #[cfg(feature = "redis")]
            Self::Redis(server) => server.fmt(f),
            #[cfg(feature = "etcd")]
            Self::Etcd(url) => url.fmt(f),
            #[cfg(feature = "postgres")]
            Self::Postgres(server) => server.fmt(f),
            #[cfg(feature = "zookeeper")]
            Self::ZooKeeper(url) => url.fmt(f),
            #[cfg(feature = "consul")]
            Self::Consul(url) => url.fmt(f),
        }
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
#[path = "url_tests.rs"]
mod tests;
