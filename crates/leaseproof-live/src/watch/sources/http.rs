//! One GET, bounded in time and size.

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, HOST, USER_AGENT};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::Url;

/// A page of metrics is well below this.
const LARGEST: usize = 8 * 1024 * 1024;

/// Fetches endpoints.
#[derive(Clone)]
pub struct Fetcher {
    tls: Arc<ClientConfig>,
    timeout: Duration,
}

impl Fetcher {
    /// One whose every request ends after `timeout`.
    ///
    /// # Errors
    /// When TLS can't be set up.
    pub fn new(timeout: Duration) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        // Some of a system's certificates are often broken; the others still count.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self {
            tls: Arc::new(config),
            timeout,
        })
    }

    /// The body of the answer.
    ///
    /// # Errors
    /// What went wrong: no connection, no answer in time, another status than 200, too long, no text.
    pub async fn get(&self, url: &Url) -> Result<String, String> {
        match tokio::time::timeout(self.timeout, self.exchange(url)).await {
            Ok(done) => done,
            Err(_) => Err(format!("no answer within {:?}", self.timeout)),
        }
    }

    async fn exchange(&self, url: &Url) -> Result<String, String> {
        let host = url.host_str().ok_or("the URL has no host")?;
        let port = url.port_or_known_default().ok_or("the URL has no port")?;
        // An IPv6 address stands in brackets in a URL, and without them here.
        let name = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let stream = TcpStream::connect((name.as_str(), port))
            .await
            .map_err(|error| error.to_string())?;
        if url.scheme() == "https" {
            let name = ServerName::try_from(name).map_err(|error| error.to_string())?;
            let stream = TlsConnector::from(Arc::clone(&self.tls))
                .connect(name, stream)
                .await
                .map_err(|error| error.to_string())?;
            ask(stream, url, host).await
        } else {
            ask(stream, url, host).await
        }
    }
}

async fn ask<S>(stream: S, url: &Url, host: &str) -> Result<String, String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| error.to_string())?;
    // It ends with the sender.
    let driver = tokio::spawn(connection);
    let host = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let request = Request::get(path)
        .header(HOST, host)
        .header(USER_AGENT, concat!("leaseproof/", env!("CARGO_PKG_VERSION")))
        .header(ACCEPT, "text/plain, application/json, */*")
        .body(Empty::<Bytes>::new())
        .map_err(|error| error.to_string())?;
    let answer = sender.send_request(request).await.map_err(|error| error.to_string())?;
    if answer.status() != StatusCode::OK {
        return Err(format!("it answers {}", answer.status()));
    }
    let body = Limited::new(answer.into_body(), LARGEST)
        .collect()
        .await
        .map_err(|error| error.to_string())?
        .to_bytes();
    driver.abort();
    String::from_utf8(body.to_vec()).map_err(|_| "the answer is no text".to_owned())
}
