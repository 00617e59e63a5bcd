//! What a certificate is checked by, and what is shown for one.
//!
//! Early data is never sent and never taken: it could be replayed, and a write must not be.

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// The protocol that both sides speak.
const HTTP: &[u8] = b"http/1.1";

/// A certificate of one's own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// The PEM file of the certificate, and of those between it and a root.
    pub certificate: PathBuf,
    /// The PEM file of its key.
    pub key: PathBuf,
}

/// Trusts the certificates of this PEM file, or the system's.
///
/// # Errors
/// When there is none to trust.
pub fn towards_upstream(roots: Option<&Path>) -> Result<TlsConnector, String> {
    let mut trusted = RootCertStore::empty();
    match roots {
        Some(file) => {
            for certificate in certificates(file)? {
                trusted.add(certificate).map_err(|error| unusable(file, &error))?;
            }
        }
        // Some of a system's certificates are often broken; the others still count.
        None => drop(trusted.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
    }
    if trusted.is_empty() {
        return Err("no certificate to trust was found: give a PEM file by --upstream-ca".to_owned());
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(trusted)
        .with_no_client_auth();
    config.alpn_protocols = vec![HTTP.to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Shows this certificate to clients.
///
/// # Errors
/// When it, or its key, can't be used.
pub fn towards_clients(identity: &Identity) -> Result<TlsAcceptor, String> {
    let chain = certificates(&identity.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&identity.key).map_err(|error| unusable(&identity.key, &error))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| format!("the certificate and its key can't be used together: {error}"))?;
    config.alpn_protocols = vec![HTTP.to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    let certificates = read.map_err(|error| unusable(file, &error))?;
    if certificates.is_empty() {
        return Err(unusable(file, &"it has no certificate"));
    }
    Ok(certificates)
}

fn unusable(file: &Path, why: &dyn std::fmt::Display) -> String {
    format!("the PEM file {} can't be used: {why}", file.display())
}
