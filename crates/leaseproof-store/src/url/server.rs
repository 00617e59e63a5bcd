//! What the URLs of stores behind a network share.

use super::places::{Others, Place};
use super::{decode, refuse, set_place};
use crate::error::StoreError;
use std::fmt;
use std::path::PathBuf;
use url::{Host, Url};

/// How to reach a server: the parts of a URL that mean the same for every session store.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Server {
    /// TLS.
    pub(crate) tls: bool,
    /// A name or an address, without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// A PEM file with the certificates to trust, instead of the system's.
    pub(crate) ca: Option<PathBuf>,
    /// The name that the server's certificate must have, where it is not the host.
    pub(crate) server_name: Option<String>,
    /// As given, so that nothing is lost when it is handed on.
    pub(super) given: Url,
    /// Members beside the first.
    pub(super) others: Others,
}

impl Server {
    /// Takes host, port and the options of TLS; gives the options that are left.
    pub(super) fn parse(
        text: &str,
        tls: bool,
        default_port: u16,
        how: &str,
    ) -> Result<(Self, Vec<(String, String)>), StoreError> {
        let (first, others) = Others::take(text, default_port, how)?;
        let given = Url::parse(&first).map_err(|error| refuse(text, format!("{error}: {how}")))?;
        let host = match given.host() {
            Some(Host::Domain(name)) if !name.is_empty() => decode(text, "host", name)?,
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            _ => return Err(refuse(text, format!("the host is missing: {how}"))),
        };
        let (mut ca, mut server_name, mut left) = (None, None, Vec::new());
        for (name, value) in given.query_pairs() {
            match &*name {
                "ca" if tls => ca = Some(PathBuf::from(&*value)),
                "server_name" if tls => server_name = Some(value.into_owned()),
                "ca" | "server_name" => {
                    return Err(refuse(text, format!("{name} is for TLS: {how}")));
                }
                _ => left.push((name.into_owned(), value.into_owned())),
            }
        }
        let server = Self {
            tls,
            host,
            port: given.port().unwrap_or(default_port),
            ca,
            server_name,
            given,
            others,
        };
        Ok((server, left))
    }

    /// User and password, decoded.
    pub(super) fn login(&self, text: &str) -> Result<(Option<String>, Option<String>), StoreError> {
        let user = Some(self.given.username())
            .filter(|user| !user.is_empty())
            .map(|user| decode(text, "user", user))
            .transpose()?;
        let password = self.given.password();
        let password = password
            .map(|password| decode(text, "password", password))
            .transpose()?;
        Ok((user, password))
    }

    /// Where its members are.
    pub(crate) fn places(&self) -> Vec<Place> {
        self.others.after(&self.host, self.port)
    }

    /// The text that the certificate of a member is checked against.
    pub(crate) fn tls_name<'a>(&'a self, host: &'a str) -> &'a str {
        self.server_name.as_deref().unwrap_or(host)
    }

    /// Names a relay before it instead; see `StoreUrl::with_host_port`.
    pub(super) fn move_to(&mut self, host: &str, port: u16) {
        self.others = Others::default();
        if self.tls && self.host != host && self.server_name.is_none() {
            self.server_name = Some(self.host.clone());
            self.given.query_pairs_mut().append_pair("server_name", &self.host);
        }
        host.clone_into(&mut self.host);
        self.port = port;
        set_place(&mut self.given, host, port);
    }

    /// The URL with its secrets.
    pub(super) fn with_secrets(&self) -> String {
        self.others.shown(&self.given)
    }
}

/// The URL, its password redacted.
impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.given.clone();
        if self.given.password().is_some() {
            // It has a host, so a password can be set.
            let _ = shown.set_password(Some("***"));
        }
        f.write_str(&self.others.shown(&shown))
    }
}
