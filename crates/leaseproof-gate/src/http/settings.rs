//! What a gate is told.

use super::key::KeyRule;
use super::tls::Identity;
use hyper::Method;
use hyper::header::HeaderName;
use rustls::pki_types::ServerName;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// What a gate is told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The resource.
    pub upstream: Upstream,
    /// What the upstream's certificate is checked by; none: what the system trusts.
    pub roots: Option<PathBuf>,
    /// The certificate that is shown to clients; none: they speak plain HTTP.
    pub identity: Option<Identity>,
    /// The header that carries the token.
    pub header: HeaderName,
    /// Which resource a write is for.
    pub key: KeyRule,
    /// The methods that write.
    pub methods: Vec<Method>,
    /// The file of the marks.
    pub marks: PathBuf,
    /// Whether a mark survives the machine, not the process alone.
    pub sync: bool,
    /// How long a client waits for the upstream's answer, or for its turn.
    pub patience: Duration,
    /// Once a connection has ended without an answer, the upstream applies what it had got of it within this time,
    /// or never: an assumption about the upstream.
    pub settle: Duration,
    /// The upstream reads every body to its end, whatever the method and its answer: an assumption about the upstream,
    /// under which a connection is used again after a request with a body. Otherwise what it left unread would be its
    /// next request.
    pub reads_bodies: bool,
    /// So many keys at most: a key is never forgotten.
    pub most_keys: usize,
}

/// Methods that read, whatever they are called with.
const READING: [Method; 3] = [Method::GET, Method::HEAD, Method::OPTIONS];

/// The methods that write where none are named.
pub const WRITING: [Method; 4] = [Method::POST, Method::PUT, Method::PATCH, Method::DELETE];

/// What a method is to the gate.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It passes.
    Read,
    /// It needs a token.
    Write,
    /// Nobody has said what it does.
    Unknown,
}

impl Settings {
    /// What this method is. A method that nobody named is neither: it might write.
    #[must_use]
    pub fn kind(&self, method: &Method) -> Kind {
        if self.methods.contains(method) {
            Kind::Write
        } else if READING.contains(method) || WRITING.contains(method) {
            Kind::Read
        } else {
            Kind::Unknown
        }
    }
}

/// The methods in a comma-separated list.
///
/// # Errors
/// When one is no method, or can't be fenced.
pub fn methods(text: &str) -> Result<Vec<Method>, String> {
    text.split(',')
        .map(|name| {
            let name = name.trim().to_ascii_uppercase();
            match Method::from_str(&name) {
                Ok(method) if method != Method::CONNECT => Ok(method),
                _ => Err(format!(
                    "`{name}` is no method that can be fenced: use a list such as POST,PUT,DELETE"
                )),
            }
        })
        .collect()
}

/// The resource behind the gate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Upstream {
    /// `HOST:PORT`, as it is connected to.
    pub place: String,
    /// What stands in front of each path; no slash at its end.
    pub prefix: String,
    /// The name that its certificate must have; none where it speaks plain HTTP.
    pub secure: Option<ServerName<'static>>,
}

impl FromStr for Upstream {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let url =
            url::Url::parse(text).map_err(|error| format!("`{text}` is no URL: {error}: use http://HOST:PORT"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!(
                "the gate speaks http and https to the upstream, not {}: use http://HOST:PORT",
                url.scheme()
            ));
        }
        if url.query().is_some() || url.fragment().is_some() || !url.username().is_empty() || url.password().is_some() {
            return Err(
                "the upstream is http://HOST:PORT or http://HOST:PORT/PREFIX, with nothing else in it".to_owned(),
            );
        }
        let host = url.host_str().ok_or("the upstream has no host: use http://HOST:PORT")?;
        let secure = match url.scheme() {
            "https" => Some(
                ServerName::try_from(host.trim_matches(['[', ']']).to_owned())
                    .map_err(|error| format!("no certificate can have the name {host}: {error}"))?,
            ),
            _ => None,
        };
        Ok(Self {
            place: format!("{host}:{}", url.port_or_known_default().unwrap_or(80)),
            secure,
            prefix: url.path().trim_end_matches('/').to_owned(),
        })
    }
}
