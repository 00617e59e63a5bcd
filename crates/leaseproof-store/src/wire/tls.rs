//! What a server's certificate is checked by.

use crate::error::StoreError;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::path::Path;
use std::sync::Arc;

/// TLS towards one server.
#[derive(Clone)]
pub(crate) struct Tls {
    pub(super) config: Arc<ClientConfig>,
    /// The name that the certificate must have.
    pub(super) name: ServerName<'static>,
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
        })
    }

    /// The same, and this protocol is asked for (ALPN).
    #[cfg_attr(not(feature = "etcd"), expect(dead_code, reason = "an optional store asks"))]
    pub(crate) fn speaking(&self, protocol: &[u8]) -> Self {
        let mut config = ClientConfig::clone(&self.config);
        config.alpn_protocols = vec![protocol.to_vec()];
        Self {
            config: Arc::new(config),
            name: self.name.clone(),
        }
    }

    /// The same towards a server whose certificate has another name.
    pub(crate) fn named(&self, name: &str, shown: &impl ToString) -> Result<Self, StoreError> {
        Ok(Self {
            config: Arc::clone(&self.config),
            name: server_name(name, shown)?,
        })
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
