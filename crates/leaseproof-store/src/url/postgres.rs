//! `postgres://[user[:password]@]host[:port][/db]`, in libpq's form as far as it goes.

use super::{decode, refuse, set_place};
use crate::error::StoreError;
use std::fmt;
use std::path::PathBuf;
use url::{Host, Url};

/// The table of leases where the URL names none.
const TABLE: &str = "leaseproof_lease";

/// PostgreSQL cuts longer names off.
const NAME_LIMIT: usize = 63;

const HOW: &str = "give postgres://[user[:password]@]host[:port]/db[?table=NAME][&sslmode=verify-full&ca=FILE.pem]";

/// The URL of a PostgreSQL server, database and table.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    /// TLS, always with the certificate and its name checked.
    pub(crate) tls: bool,
    /// A name or an address, without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    /// `None`: the database of the user's name.
    pub(crate) db: Option<String>,
    /// `table` or `schema.table`, of lower-case letters, digits and underscores: needs no quotes.
    pub(crate) table: String,
    /// A PEM file with the certificates to trust, instead of the system's.
    pub(crate) ca: Option<PathBuf>,
    /// The name that the server's certificate must have, where it is not the host.
    pub(crate) server_name: Option<String>,
    /// As given, so that nothing is lost when it is handed on.
    pub(super) given: Url,
}

impl PostgresUrl {
    pub(super) fn parse(text: &str) -> Result<Self, StoreError> {
        let given = Url::parse(text).map_err(|error| refuse(text, format!("{error}: {HOW}")))?;
        let host = match given.host() {
            Some(Host::Domain(name)) if !name.is_empty() => decode(text, "host", name)?,
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            _ => return Err(refuse(text, format!("the host is missing: {HOW}"))),
        };
        if host.starts_with('/') {
            return Err(refuse(
                text,
                "a unix socket can't be watched or cut on its way: let the server listen on loopback \
                 too, and give postgres://127.0.0.1:PORT/db"
                    .to_owned(),
            ));
        }
        let part = |what: &str, encoded: Option<&str>| {
            encoded
                .filter(|encoded| !encoded.is_empty())
                .map(|encoded| decode(text, what, encoded))
                .transpose()
        };
        let db = given.path().trim_start_matches('/');
        if db.contains('/') {
            return Err(refuse(text, format!("the database {db} holds a slash: {HOW}")));
        }
        let options = Options::parse(text, &given)?;
        Ok(Self {
            tls: options.tls,
            host,
            port: given.port().unwrap_or(5432),
            user: part("user", Some(given.username()))?,
            password: part("password", given.password())?,
            db: part("database", Some(db))?,
            table: options.table.unwrap_or_else(|| TABLE.to_owned()),
            ca: options.ca,
            server_name: options.server_name,
            given,
        })
    }

    /// The same database through a relay at `host:port`, with the certificate's name kept.
    pub(super) fn behind(&self, host: &str, port: u16) -> Self {
        let mut moved = self.clone();
        if self.tls && self.host != host && self.server_name.is_none() {
            moved.server_name = Some(self.host.clone());
            moved.given.query_pairs_mut().append_pair("server_name", &self.host);
        }
        host.clone_into(&mut moved.host);
        moved.port = port;
        set_place(&mut moved.given, host, port);
        moved
    }

    /// The text that a certificate is checked against.
    #[cfg_attr(not(any(test, feature = "postgres")), expect(dead_code, reason = "the adapter asks"))]
    pub(crate) fn tls_name(&self) -> &str {
        self.server_name.as_deref().unwrap_or(&self.host)
    }
}

/// What stands after the question mark.
#[derive(Default)]
struct Options {
    tls: bool,
    table: Option<String>,
    ca: Option<PathBuf>,
    server_name: Option<String>,
}

impl Options {
    fn parse(text: &str, given: &Url) -> Result<Self, StoreError> {
        let mut options = Self::default();
        for (name, value) in given.query_pairs() {
            match &*name {
                "sslmode" => options.tls = tls(text, &value)?,
                "table" => options.table = Some(table(text, &value)?),
                // The second is libpq's name for it.
                "ca" | "sslrootcert" => options.ca = Some(PathBuf::from(&*value)).filter(|_| value != "system"),
                "server_name" => options.server_name = Some(value.into_owned()),
                _ => {
                    return Err(refuse(
                        text,
                        format!("the option {name} is not known: table, sslmode, ca and server_name are"),
                    ));
                }
            }
        }
        if !options.tls && (options.ca.is_some() || options.server_name.is_some()) {
            return Err(refuse(
                text,
                "ca and server_name are for TLS: add sslmode=verify-full".to_owned(),
            ));
        }
        Ok(options)
    }
}

/// TLS that doesn't look at who answers protects from nobody, so that there is one kind only.
fn tls(text: &str, mode: &str) -> Result<bool, StoreError> {
    match mode {
        "disable" => Ok(false),
        "require" | "verify-full" => Ok(true),
        "allow" | "prefer" => Err(refuse(
            text,
            format!("sslmode={mode} may end in plain text: write disable or verify-full"),
        )),
        "verify-ca" => Err(refuse(
            text,
            "sslmode=verify-ca takes any host's certificate: write verify-full".to_owned(),
        )),
        _ => Err(refuse(
            text,
            format!("sslmode={mode} is not known: disable, require and verify-full are (the last two are one)"),
        )),
    }
}

fn table(text: &str, name: &str) -> Result<String, StoreError> {
    let plain = |part: &str| {
        part.len() <= NAME_LIMIT
            && part.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
            && part
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    let parts: Vec<&str> = name.split('.').collect();
    if parts.len() > 2 || !parts.iter().all(|part| plain(part)) {
        return Err(refuse(
            text,
            format!(
                "the table {name} has no plain name: NAME or SCHEMA.NAME, of lower-case letters, digits and underscores"
            ),
        ));
    }
    Ok(name.to_owned())
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.given.clone();
        if self.password.is_some() {
            // It has a host, so a password can be set.
            let _ = shown.set_password(Some("***"));
        }
        shown.fmt(f)
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> PostgresUrl {
        PostgresUrl::parse(text).expect(text)
    }

    #[test]
    fn urls_ok() {
        // Text, shown, user, database, table.
        for (text, shown, user, db, table) in [
            (
                "postgres://127.0.0.1:5433/locks",
                "postgres://127.0.0.1:5433/locks",
                None,
                Some("locks"),
                TABLE,
            ),
            (
                "postgresql://me:p%40ss@db.example",
                "postgresql://me:***@db.example",
                Some("me"),
                None,
                TABLE,
            ),
            (
                "postgres://me@[::1]/a%20b?table=ops.leases",
                "postgres://me@[::1]/a%20b?table=ops.leases",
                Some("me"),
                Some("a b"),
                "ops.leases",
            ),
        ] {
            let parsed = url(text);
            assert_eq!(parsed.to_string(), shown);
            assert_eq!(format!("{parsed:?}"), shown);
            assert_eq!(parsed.user.as_deref(), user);
            assert_eq!(parsed.db.as_deref(), db);
            assert_eq!(parsed.table, table);
            assert!(!parsed.tls);
        }
        assert_eq!(url("postgres://me:p%40ss@h").password.as_deref(), Some("p@ss"));
        let tls = url("postgres://h/d?sslmode=require&sslrootcert=/ca.pem");
        assert!(tls.tls);
        assert_eq!((tls.tls_name(), &tls.ca), ("h", &Some(PathBuf::from("/ca.pem"))));
    }

    #[test]
    fn urls_bad() {
        for (text, part) in [
            ("postgres://", "host is missing"),
            ("postgres:///db", "host is missing"),
            ("postgres://%2Fvar%2Frun%2Fpostgresql/db", "unix socket"),
            ("postgres://h:99999/db", "port"),
            ("postgres://h/a/b", "slash"),
            ("postgres://h/db?table=Lease", "no plain name"),
            ("postgres://h/db?table=a;drop", "no plain name"),
            ("postgres://h/db?table=a.b.c", "no plain name"),
            ("postgres://h/db?table=", "no plain name"),
            ("postgres://h/db?sslmode=prefer", "plain text"),
            ("postgres://h/db?sslmode=verify-ca", "verify-full"),
            ("postgres://h/db?sslmode=on", "not known"),
            ("postgres://h/db?ca=/x", "sslmode=verify-full"),
            ("postgres://h/db?timeout=1", "timeout is not known"),
        ] {
            let error = PostgresUrl::parse(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn no_error_shows_a_password() {
        for text in ["postgres://me:hunter2@h/db?bad=1", "postgres://me:hunter2@h:99999/db"] {
            let error = PostgresUrl::parse(text).expect_err(text).to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn a_relay_in_front_keeps_the_rest() {
        let parse = |text: &str| text.parse::<crate::url::StoreUrl>().expect(text);
        let tls = parse("postgres://me:s%23@db.example/locks?sslmode=verify-full&ca=/ca.pem&table=t");
        assert_eq!(tls.host_port(), Some(("db.example", 5432)));
        assert!(!tls.is_loopback());
        let moved = tls.with_host_port("127.0.0.1", 9);
        assert_eq!(
            moved.with_secrets(),
            "postgres://me:s%23@127.0.0.1:9/locks?sslmode=verify-full&ca=/ca.pem&table=t&server_name=db.example"
        );
        assert_eq!(parse(&moved.with_secrets()), moved);
        let plain = parse("postgres://localhost/locks").with_host_port("::1", 9);
        assert_eq!(plain.with_secrets(), "postgres://[::1]:9/locks");
        assert_eq!((plain.host_port(), plain.is_loopback()), (Some(("::1", 9)), true));
    }
}
