//! Connections to the upstream. Nothing is sent twice: a request goes to a second connection only where the first
//! one gives it back untouched.

use super::settings::Upstream;
use super::tls;
use super::upload::{Ends, Upload};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustix::net::sockopt;
use rustls::pki_types::ServerName;
use std::error::Error as _;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// So many connections are kept while nothing is sent on them.
const KEPT: usize = 256;

/// A connection that was kept for longer is not used again: an upstream closes idle ones after a few seconds, and a
/// write that crosses with that would get no answer.
const FRESH: Duration = Duration::from_secs(1);

/// How long a connection may take to come to be.
const CONNECT: Duration = Duration::from_secs(5);

/// What became of a request.
#[derive(Debug)]
pub enum NoAnswer {
    /// Nothing of it was sent.
    NotSent(String),
    /// The client's body came to no end, so that the upstream got a part of the request at the most.
    Body(String),
    /// It may have arrived.
    Unknown(String),
}

/// The way to the upstream.
pub struct Way {
    place: String,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    idle: Arc<Mutex<Vec<(Instant, Connection)>>>,
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Way")
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

/// One connection; it is closed when this is dropped.
#[derive(Debug)]
pub struct Connection {
    sender: SendRequest<Upload>,
    driver: JoinHandle<()>,
    /// It had a body that the upstream may have left unread: what follows it would not be taken for what it is.
    last: bool,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Way {
    /// The way to this upstream; nothing is connected yet.
    ///
    /// # Errors
    /// When there is nothing that its certificate could be checked by.
    pub fn new(upstream: &Upstream, roots: Option<&Path>) -> Result<Self, String> {
        let tls = match &upstream.secure {
            Some(name) => Some((tls::towards_upstream(roots)?, name.clone())),
            None => None,
        };
        Ok(Self {
            place: upstream.place.clone(),
            tls,
            idle: Arc::default(),
        })
    }

    /// A way of its own to the same upstream.
    #[must_use]
    pub fn beside(&self) -> Self {
        Self {
            place: self.place.clone(),
            tls: self.tls.clone(),
            idle: Arc::default(),
        }
    }

    /// Sends a request, and gives its answer with the connection, which must live as long as the answer's body is
    /// read: hand it to [`Way::keep`]. When the future is dropped the connection is closed.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn send(&self, mut request: Request<Upload>) -> Result<(Response<Incoming>, Connection), NoAnswer> {
        loop {
            let kept = self.take();
            let was_kept = kept.is_some();
            let mut connection = match kept {
                Some(connection) => connection,
                None => self
                    .connect()
                    .await
                    .map_err(|error| NoAnswer::NotSent(error.to_string()))?,
            };
            connection.last |= request.body().is_last();
            match connection.sender.try_send_request(request).await {
                Ok(answer) => return Ok((answer, connection)),
                Err(mut failed) => match failed.take_message() {
                    // The upstream had closed it while it was kept.
                    Some(untouched) if was_kept => request = untouched,
                    Some(_) => return Err(NoAnswer::NotSent(failed.error().to_string())),
                    None => return Err(without_answer(failed.error())),
                },
            }
        }
    }

    /// Keeps the connection for the next request, once this answer's body was read; or closes it then.
    pub fn keep(&self, mut connection: Connection) {
        let idle = Arc::clone(&self.idle);
        tokio::spawn(async move {
            if connection.sender.ready().await.is_ok() && !connection.last {
                let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
                if idle.len() < KEPT {
                    idle.push((Instant::now(), connection));
                }
            }
        });
    }

    fn take(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((since, connection)) = idle.pop() {
            if since.elapsed() > FRESH {
                // The others have been there for longer.
                idle.clear();
                return None;
            }
            if connection.sender.is_ready() {
                return Some(connection);
            }
        }
        None
    }

    async fn connect(&self) -> io::Result<Connection> {
        let late = |_| io::Error::new(io::ErrorKind::TimedOut, "it does not take the connection");
        let stream = timeout(CONNECT, TcpStream::connect(&self.place))
            .await
            .map_err(late)??;
        stream.set_nodelay(true)?;
        watch_over(&stream)?;
        match &self.tls {
            None => over(stream).await,
            Some((tls, name)) => {
                let secured = timeout(CONNECT, tls.connect(name.clone(), stream)).await;
                over(secured.map_err(late)??).await
            }
        }
    }
}

/// HTTP over a stream that is there.
async fn over(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> io::Result<Connection> {
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    let driver = tokio::spawn(async move {
        // Its end shows at the sender.
        let _ = connection.await;
    });
    Ok(Connection {
        sender,
        driver,
        last: false,
    })
}

/// What is known of a request that was begun and got no answer.
fn without_answer(error: &hyper::Error) -> NoAnswer {
    match error.source().and_then(|source| source.downcast_ref::<Ends>()) {
        Some(ends @ Ends::Client(_)) => NoAnswer::Body(ends.to_string()),
        Some(Ends::Cut) | None => NoAnswer::Unknown(error.to_string()),
    }
}

/// A host that is gone says nothing: the kernel asks for it.
fn watch_over(stream: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, Duration::from_secs(10))?;
    sockopt::set_tcp_keepintvl(stream, Duration::from_secs(5))?;
    sockopt::set_tcp_keepcnt(stream, 3)?;
    Ok(())
}
