//! The bytes between us and the server: plain or TLS, and counted.
//!
//! The count decides between *not applied* and *unknown* when a connection fails: a request of which
//! no byte was handed to the socket can't have been applied. For that to stay true the gate can be
//! shut, since the client library may still hold the request in a buffer.

use crate::error::StoreError;
use crate::url::RedisUrl;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;

/// What passed towards the server, and whether more may.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    sent: AtomicU64,
    shut: AtomicBool,
}

impl Gate {
    /// How many bytes were handed to the socket so far.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::SeqCst)
    }

    /// Lets nothing pass any more.
    pub(crate) fn shut(&self) {
        self.shut.store(true, Ordering::SeqCst);
    }
}

/// Anything that bytes go through.
pub(crate) trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

/// A transport behind a gate.
pub(crate) struct Gated {
    inner: Box<dyn Transport>,
    gate: Arc<Gate>,
}

impl Gated {
    /// Connects to the server of `url`.
    pub(crate) async fn connect(url: &RedisUrl, tls: Option<Arc<ClientConfig>>, gate: Arc<Gate>) -> io::Result<Self> {
        let stream = tcp(&url.host, url.port).await?;
        stream.set_nodelay(true)?;
        let inner: Box<dyn Transport> = match tls {
            None => Box::new(stream),
            Some(config) => {
                let name = ServerName::try_from(url.tls_name().to_owned())
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
                Box::new(TlsConnector::from(config).connect(name, stream).await?)
            }
        };
        Ok(Self { inner, gate })
    }
}

async fn tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    // A look-up needs a thread; an address needs none.
    if let Ok(address) = host.parse::<IpAddr>() {
        return TcpStream::connect(SocketAddr::new(address, port)).await;
    }
    let mut last = io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address"));
    for address in lookup_host((host, port)).await? {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

impl AsyncRead for Gated {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl AsyncWrite for Gated {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.gate.shut.load(Ordering::SeqCst) {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let count = ready!(Pin::new(&mut self.inner).poll_write(context, bytes))?;
        self.gate.sent.fetch_add(count as u64, Ordering::SeqCst);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

/// What a server's certificate is checked by: the file of the URL, or the system's certificates.
pub(crate) fn tls_config(url: &RedisUrl) -> Result<Option<Arc<ClientConfig>>, StoreError> {
    if !url.tls {
        return Ok(None);
    }
    let wrong = |why: String| StoreError::Url {
        url: url.to_string(),
        why,
    };
    let mut roots = RootCertStore::empty();
    match &url.ca {
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
    Ok(Some(Arc::new(config)))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect)
        .map_err(|error| format!("the CA file {} can't be used: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    #[tokio::test]
    async fn nothing_passes_a_shut_gate() {
        let (near, mut far) = duplex(64);
        let gate = Arc::new(Gate::default());
        let mut gated = Gated {
            inner: Box::new(near),
            gate: Arc::clone(&gate),
        };
        gated.write_all(b"sent").await.expect("it is open");
        assert_eq!(gate.sent(), 4);
        gate.shut();
        gated.write_all(b"late").await.expect_err("it is shut");
        assert_eq!(gate.sent(), 4);
        drop(gated);
        let mut arrived = String::new();
        far.read_to_string(&mut arrived).await.expect("it ends");
        assert_eq!(arrived, "sent");
    }
}
