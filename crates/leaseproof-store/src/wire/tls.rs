//! What a server's certificate is checked by.

use crate::error::StoreError;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// TLS towards one server.
#[derive(Clone)]
pub(crate) struct Tls {
    pub(super) config: Arc<ClientConfig>,
    /// The name that the certificate must have.
    pub(super) name: ServerName<'static>,
    /// What the URL would have instead, without TLS.
    plain: String,
}

impl Tls {
    /// Trusts the certificates of the file `ca`, or the system's. `shown` is the URL for errors.
    pub(crate) fn new(ca: Option<&Path>, name: &str, shown: &impl ToString) -> Result<Self, StoreError> {
        let wrong = |why: String| StoreError::Url {
            url: shown.to_string(),
            why,
        };
        let mut roots = RootCertStore::empty();
        match ca {
            Some(file) => {
                for certificate in certificates(file).map_err(wrong)? {
                    roots
                        .add(certificate)
                        .map_err(|error| wrong(format!("{}: {error}", file.display())))?;
                }
            }
            None => {
                // Some of a system's certificates are often broken; the others still count.
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        if roots.is_empty() {
            return Err(wrong(
                "no certificate to trust was found: give a PEM file by ?ca=PATH".to_owned(),
            ));
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self {
            config: Arc::new(config),
            name: server_name(name, shown)?,
            plain: plain(&shown.to_string()),
        })
    }

    /// Why TLS did not come about, where that is not the certificate's fault: two things look the same from here.
    pub(super) fn in_words(&self, error: io::Error) -> io::Error {
        let inner = error.get_ref().and_then(|it| it.downcast_ref::<rustls::Error>());
        if let Some(rustls::Error::InvalidCertificate(CertificateError::ExpiredContext { time, not_after })) = inner {
            let ago = Duration::from_secs(time.as_secs().saturating_sub(not_after.as_secs()));
            let says = format!(
                "the server's certificate expired {} ago, by this host's clock",
                roughly(ago)
            );
            return io::Error::new(error.kind(), says);
        }
        let what = match (inner, error.kind()) {
            (Some(rustls::Error::InvalidMessage(_) | rustls::Error::InappropriateMessage { .. }), _) => {
                "what came back is no TLS"
            }
            (None, io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => "it closed when TLS was begun",
            _ => return error,
        };
        let both = format!(
            "{what}: either this port speaks none ({} asks for none), or another server is there",
            self.plain
        );
        io::Error::new(error.kind(), both)
    }

    /// The same, and this protocol is asked for (ALPN).
    #[cfg_attr(not(feature = "etcd"), expect(dead_code, reason = "an optional store asks"))]
    pub(crate) fn speaking(&self, protocol: &[u8]) -> Self {
        let mut config = ClientConfig::clone(&self.config);
        config.alpn_protocols = vec![protocol.to_vec()];
        Self {
            config: Arc::new(config),
            name: self.name.clone(),
            plain: self.plain.clone(),
        }
    }

    /// The same towards a server whose certificate has another name.
    pub(crate) fn named(&self, name: &str, shown: &impl ToString) -> Result<Self, StoreError> {
        Ok(Self {
            config: Arc::clone(&self.config),
            name: server_name(name, shown)?,
            plain: self.plain.clone(),
        })
    }
}

/// A span for people, to the greatest unit that it fills.
fn roughly(span: Duration) -> String {
    let seconds = span.as_secs();
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3600 => (seconds / 60, "minute"),
        3600..86400 => (seconds / 3600, "hour"),
        _ => (seconds / 86400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// The scheme of a URL without TLS: that of TLS has an `s` more. PostgreSQL's has not.
fn plain(url: &str) -> String {
    let scheme = url.split("://").next().unwrap_or_default();
    let (head, way) = scheme.split_at(scheme.find('+').unwrap_or(scheme.len()));
    match head {
        "postgres" | "postgresql" => "sslmode=disable".to_owned(),
        head => format!("{}{way}://", head.strip_suffix('s').unwrap_or(head)),
    }
}

fn server_name(name: &str, shown: &impl ToString) -> Result<ServerName<'static>, StoreError> {
    ServerName::try_from(name.to_owned()).map_err(|error| StoreError::Url {
        url: shown.to_string(),
        why: format!("no certificate can have the name {name}: {error}"),
    })
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect)
        .map_err(|error| format!("the CA file {} can't be used: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_for_people() {
        for (seconds, text) in [
            (1, "1 second"),
            (119, "1 minute"),
            (7200, "2 hours"),
            (200_000, "2 days"),
        ] {
            assert_eq!(roughly(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn the_scheme_without_tls() {
        for (url, without) in [
            ("rediss://:***@h", "redis://"),
            ("rediss+sentinel://a,b/s", "redis+sentinel://"),
            ("redlocks://a,b,c", "redlock://"),
            ("etcds://h", "etcd://"),
            ("zookeepers://h", "zookeeper://"),
            ("consuls://h", "consul://"),
            ("postgres://h/d", "sslmode=disable"),
        ] {
            assert_eq!(plain(url), without, "{url}");
        }
    }
}
