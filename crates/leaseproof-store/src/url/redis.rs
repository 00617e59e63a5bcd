//! `redis://[user:password@]host[:port][/db]`, and Redis in more than one server: Sentinel, Cluster and
//! the quorum of several independent servers (Redlock).
//!
//! `redis+sentinel` and `redis+cluster` with a list of hosts are the forms of Python's `limits` and
//! `redis-sentinel-url`; no client of a quorum takes a URL, so that its form is our own.

use super::{decode, redact, refuse, set_place};
use crate::error::StoreError;
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use url::{Host, Url};

const HOW: &str = "give redis://[user:password@]host[:port][/db], redis+sentinel://host:port,host:port/service[/db], \
                   redis+cluster://host:port,host:port or redlock://host:port,host:port,host:port[/db] \
                   (rediss://, rediss+sentinel://, rediss+cluster:// or redlocks:// for TLS)";

/// With fewer servers a quorum bears the loss of none of them.
const LEAST_OF_A_QUORUM: usize = 3;

/// More servers than anybody has: each is a connection and a thread.
const MOST: usize = 15;

/// Where a server listens.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Place {
    /// A name or an address, without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// `host:port`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// How the server that has a key is found.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Way {
    /// It is the one of the URL.
    Server,
    /// The Sentinels of the URL know the primary of this service.
    Sentinel {
        service: String,
        /// For the Sentinels: user and password.
        user: Option<String>,
        password: Option<String>,
    },
    /// Each server of the URL knows which one of the cluster has the slot of a key.
    Cluster,
    /// Each server of the URL has it, and the majority counts.
    Quorum,
}

/// The URL of a Redis store.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisUrl {
    /// TLS.
    pub(crate) tls: bool,
    /// The servers (or Sentinels) that it names, one at least.
    pub(crate) places: Vec<Place>,
    pub(crate) way: Way,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) db: i64,
    /// A PEM file with the certificates to trust, instead of the system's.
    pub(crate) ca: Option<PathBuf>,
    /// The name that the server's certificate must have, where it is not the host.
    pub(crate) server_name: Option<String>,
    /// As given with the first host alone, so that nothing is lost when it is handed on.
    given: Url,
}

/// The schemes that are read here.
pub(super) const SCHEMES: [&str; 8] = [
    "redis",
    "rediss",
    "redis+sentinel",
    "rediss+sentinel",
    "redis+cluster",
    "rediss+cluster",
    "redlock",
    "redlocks",
];

impl RedisUrl {
    pub(super) fn parse(text: &str, scheme: &str) -> Result<Self, StoreError> {
        let many = !matches!(scheme, "redis" | "rediss");
        let (first, hosts) = match split(text) {
            Some((before, hosts, after)) if many => {
                let hosts: Vec<&str> = hosts.split(',').collect();
                (format!("{before}{}{after}", hosts[0]), hosts)
            }
            Some((_, hosts, _)) if hosts.contains(',') => {
                let why = format!("it names several servers, and redis:// is one alone: {HOW}");
                return Err(refuse(text, why));
            }
            _ => (text.to_owned(), Vec::new()),
        };
        let given = Url::parse(&first).map_err(|error| refuse(text, format!("{error}: {HOW}")))?;
        let default_port = if scheme.ends_with("sentinel") { 26379 } else { 6379 };
        let mut places = vec![place(text, &given, default_port)?];
        for host in hosts.iter().skip(1) {
            let url =
                Url::parse(&format!("redis://{host}")).map_err(|error| refuse(text, format!("{error}: {HOW}")))?;
            places.push(place(text, &url, default_port)?);
        }
        let different: BTreeSet<&Place> = places.iter().collect();
        if different.len() < places.len() {
            return Err(refuse(text, "it names a server twice: name each once".to_owned()));
        }
        if places.len() > MOST {
            return Err(refuse(text, format!("it names more than {MOST} servers")));
        }
        let tls = scheme.starts_with("rediss") || scheme == "redlocks";
        let path: Vec<&str> = given.path().split('/').filter(|part| !part.is_empty()).collect();
        let (way, db) = match (scheme, &path[..]) {
            ("redis+sentinel" | "rediss+sentinel", [service, db @ ..]) if db.len() < 2 => {
                let way = Way::Sentinel {
                    service: decode(text, "service", service)?,
                    user: None,
                    password: None,
                };
                (way, db.first().copied())
            }
            ("redis+sentinel" | "rediss+sentinel", _) => {
                let why = format!("the name of the service is missing, such as /mymaster: {HOW}");
                return Err(refuse(text, why));
            }
            ("redis+cluster" | "rediss+cluster", []) => (Way::Cluster, None),
            ("redis+cluster" | "rediss+cluster", _) => {
                let why = "it has a path, and a cluster has no databases: end it after the last port";
                return Err(refuse(text, why.to_owned()));
            }
            ("redlock" | "redlocks", _) if places.len() < LEAST_OF_A_QUORUM => {
                let why =
                    format!("a quorum has {LEAST_OF_A_QUORUM} servers at least, each independent of the others: {HOW}");
                return Err(refuse(text, why));
            }
            (_, path) if path.len() > 1 => {
                return Err(refuse(text, format!("the database {} is no number", path.join("/"))));
            }
            ("redlock" | "redlocks", path) => (Way::Quorum, path.first().copied()),
            (_, path) => (Way::Server, path.first().copied()),
        };
        let db = match db {
            None => 0,
            Some(number) => number
                .parse()
                .ok()
                .filter(|db| (0..=65_535).contains(db))
                .ok_or_else(|| refuse(text, format!("the database {number} is no number")))?,
        };
        let user = Some(given.username())
            .filter(|user| !user.is_empty())
            .map(|user| decode(text, "user", user))
            .transpose()?;
        let password = given
            .password()
            .map(|password| decode(text, "password", password))
            .transpose()?;
        if user.is_some() && password.is_none() {
            let why = format!(
                "it has a user and no password: {scheme}://user:password@host, or {scheme}://:password@host for the \
                 default user"
            );
            return Err(refuse(text, why));
        }
        let url = Self {
            tls,
            places,
            way,
            user,
            password,
            db,
            ca: None,
            server_name: None,
            given,
        };
        url.with_options(text)
    }

    fn with_options(mut self, text: &str) -> Result<Self, StoreError> {
        let options: Vec<(String, String)> = self.given.query_pairs().into_owned().collect();
        for (name, value) in options {
            match (&*name, &mut self.way) {
                ("ca", _) if self.tls => self.ca = Some(PathBuf::from(value)),
                ("server_name", _) if self.tls => self.server_name = Some(value),
                ("ca" | "server_name", _) => {
                    return Err(refuse(
                        text,
                        format!("{name} is for TLS: write rediss:// or redlocks://"),
                    ));
                }
                ("sentinel_user", Way::Sentinel { user, .. }) => *user = Some(value),
                ("sentinel_password", Way::Sentinel { password, .. }) => *password = Some(value),
                (_, Way::Sentinel { .. }) => {
                    let why = format!(
                        "the option {name} is not known: ca, server_name, sentinel_user and sentinel_password are"
                    );
                    return Err(refuse(text, why));
                }
                _ => {
                    let why = format!("the option {name} is not known: ca and server_name are");
                    return Err(refuse(text, why));
                }
            }
        }
        if let Way::Sentinel { user, password, .. } = &self.way
            && user.is_some()
            && password.is_none()
        {
            return Err(refuse(
                text,
                "it has a sentinel_user and no sentinel_password".to_owned(),
            ));
        }
        Ok(self)
    }

    /// A cluster has one.
    pub(super) fn has_numbered_databases(&self) -> bool {
        !matches!(self.way, Way::Cluster)
    }

    /// `redis`, `redis-sentinel`, `redis-cluster` or `redlock`.
    pub(crate) fn kind(&self) -> &'static str {
        match self.way {
            Way::Server => "redis",
            Way::Sentinel { .. } => "redis-sentinel",
            Way::Cluster => "redis-cluster",
            Way::Quorum => "redlock",
        }
    }

    /// One of its servers, as if it were alone.
    pub(crate) fn alone(&self, place: &Place) -> Self {
        let mut alone = self.clone();
        alone.way = Way::Server;
        alone.places = vec![place.clone()];
        let scheme = if self.tls { "rediss" } else { "redis" };
        let login = self.login(self.given.password());
        let db = match self.db {
            0 => String::new(),
            db => format!("/{db}"),
        };
        let query = self.given.query().map(|query| format!("?{query}")).unwrap_or_default();
        // Invariant: put together of the parts of URLs that were understood.
        alone.given = Url::parse(&format!("{scheme}://{login}{place}{db}{query}")).expect("its parts are a URL's");
        alone
    }

    /// The one server of a URL that names one.
    pub(crate) fn place(&self) -> &Place {
        // Invariant: a URL names one server at least.
        self.places.first().expect("a URL names a server")
    }

    /// The text that the certificate of a server is checked against.
    pub(crate) fn tls_name<'a>(&'a self, place: &'a Place) -> &'a str {
        self.server_name.as_deref().unwrap_or(&place.host)
    }

    /// The same server through a relay; see [`StoreUrl::with_host_port`](super::StoreUrl::with_host_port).
    pub(super) fn moved(&self, host: &str, port: u16) -> Self {
        if self.way != Way::Server {
            return self.clone();
        }
        let mut moved = self.clone();
        let here = self.place();
        if self.tls && here.host != host && self.server_name.is_none() {
            moved.server_name = Some(here.host.clone());
            moved.given.query_pairs_mut().append_pair("server_name", &here.host);
        }
        moved.places = vec![Place {
            host: host.to_owned(),
            port,
        }];
        set_place(&mut moved.given, host, port);
        moved
    }

    /// Hosts and ports of all servers that it names.
    pub(super) fn places(&self) -> Vec<(String, u16)> {
        self.places.iter().map(|it| (it.host.clone(), it.port)).collect()
    }

    /// The same servers by these places, of which there are as many; a store whose servers tell each other's
    /// places stays as it is.
    pub(super) fn behind(&self, places: &[(String, u16)]) -> Self {
        if self.way != Way::Quorum || !self.takes_relays() || places.len() != self.places.len() {
            return self.clone();
        }
        let mut moved = self.clone();
        if self.tls && self.server_name.is_none() {
            moved.server_name = Some(self.place().host.clone());
            moved
                .given
                .query_pairs_mut()
                .append_pair("server_name", &self.place().host);
        }
        let places = places.iter().map(|(host, port)| Place {
            host: host.clone(),
            port: *port,
        });
        moved.places = places.collect();
        moved
    }

    /// Whether an owner that is given relays' places goes by them, and by nothing else.
    pub(super) fn takes_relays(&self) -> bool {
        let one_name = || self.places.iter().all(|place| place.host == self.place().host);
        match self.way {
            Way::Server => true,
            // Behind relays certificates are asked for by one name.
            Way::Quorum => !self.tls || self.server_name.is_some() || one_name(),
            // They tell each other's places.
            Way::Sentinel { .. } | Way::Cluster => false,
        }
    }

    /// Its passwords, as they stand in it.
    pub(super) fn secrets(&self) -> Vec<String> {
        let mut secrets: Vec<String> = self.given.password().map(str::to_owned).into_iter().collect();
        if let Way::Sentinel {
            password: Some(password),
            ..
        } = &self.way
        {
            secrets.push(password.clone());
            let query = self.given.query().unwrap_or_default().split('&');
            secrets.extend(query.filter_map(|pair| pair.strip_prefix("sentinel_password=").map(str::to_owned)));
        }
        secrets
    }

    /// The URL with its passwords.
    pub(super) fn with_secrets(&self) -> String {
        self.text(self.given.password())
    }

    fn text(&self, password: Option<&str>) -> String {
        let hosts: Vec<String> = self.places.iter().map(ToString::to_string).collect();
        let given = &self.given;
        let mut text = format!(
            "{}://{}{}{}",
            given.scheme(),
            self.login(password),
            hosts.join(","),
            given.path()
        );
        if let Some(query) = given.query() {
            text = text + "?" + query;
        }
        text
    }

    fn login(&self, password: Option<&str>) -> String {
        match (self.given.username(), password) {
            ("", None) => String::new(),
            (user, None) => format!("{user}@"),
            (user, Some(password)) => format!("{user}:{password}@"),
        }
    }
}

/// What is before the hosts, the hosts, and what is after them.
fn split(text: &str) -> Option<(&str, &str, &str)> {
    let begin = text.find("://")? + 3;
    let end = text[begin..].find(['/', '?', '#']).map_or(text.len(), |at| begin + at);
    let begin = text[begin..end].rfind('@').map_or(begin, |at| begin + at + 1);
    Some((&text[..begin], &text[begin..end], &text[end..]))
}

fn place(text: &str, url: &Url, default_port: u16) -> Result<Place, StoreError> {
    let host = match url.host() {
        Some(Host::Domain(name)) if !name.is_empty() => decode(text, "host", name)?,
        Some(Host::Ipv4(address)) => address.to_string(),
        Some(Host::Ipv6(address)) => address.to_string(),
        _ => return Err(refuse(text, format!("the host is missing: {HOW}"))),
    };
    Ok(Place {
        host,
        port: url.port().unwrap_or(default_port),
    })
}

/// Its passwords redacted.
impl fmt::Display for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.way == Way::Server {
            let mut shown = self.given.clone();
            if self.password.is_some() {
                // It has a host, so a password can be set.
                let _ = shown.set_password(Some("***"));
            }
            return shown.fmt(f);
        }
        redact(&self.text(self.password.as_ref().map(|_| "***"))).fmt(f)
    }
}

impl fmt::Debug for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
#[path = "redis_tests.rs"]
mod tests;
