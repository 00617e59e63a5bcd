//! The bytes between us and the server: plain or TLS, and counted.
//!
//! The count decides between *not applied* and *unknown* when a connection fails: a request of which
//! no byte was handed to the socket can't have been applied. For that to stay true the gate can be
//! shut, since the client library may still hold the request in a buffer.

use super::tls::Tls;
use rustix::net::sockopt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;

/// So much may come back for what was sent. The client libraries keep an answer until it is whole, however long
/// the server says that it is, and no answer to a question of ours is nearly as long.
const MOST: usize = 64 * 1024 * 1024;

/// After so much silence the kernel asks whether the other side is still there.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// Data that isn't acknowledged for so long ends the connection: no request of ours lies in a dead network's queue
/// to be applied when nobody remembers it.
const UNACKNOWLEDGED_MS: u32 = 30_000;

/// How that is told.
const FLOOD: &str = "it sent more than 64 MiB for one question: nothing that a lock store is asked is so long";

/// What passed towards the server, and whether more may.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    sent: AtomicU64,
    shut: AtomicBool,
    flooded: AtomicBool,
    heard: OnceLock<u8>,
}

impl Gate {
    /// How many bytes were handed to the socket so far.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::SeqCst)
    }

    /// The first byte that came back, by which a server of another protocol is told.
    #[cfg_attr(
        not(any(feature = "etcd", feature = "postgres")),
        expect(dead_code, reason = "optional stores ask")
    )]
    pub(crate) fn first_heard(&self) -> Option<u8> {
        self.heard.get().copied()
    }

    /// Why the connection ended, if the server sent more than [bounded](Gated::bounded).
    pub(crate) fn flood(&self) -> Option<&'static str> {
        self.flooded.load(Ordering::SeqCst).then_some(FLOOD)
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
    /// How much may come until something is sent, and how much of that is left.
    bound: Option<Bound>,
}

#[derive(Copy, Clone)]
struct Bound {
    most: usize,
    left: usize,
}

impl Gated {
    /// Connects to a server.
    pub(crate) async fn connect(host: &str, port: u16, tls: Option<&Tls>, gate: Arc<Gate>) -> io::Result<Self> {
        let stream = tcp(host, port).await?;
        Ok(Self::over(secured(stream, tls).await?, gate))
    }

    /// Puts a transport behind a gate.
    pub(crate) fn over(inner: Box<dyn Transport>, gate: Arc<Gate>) -> Self {
        Self {
            inner,
            gate,
            bound: None,
        }
    }

    /// Fails once the server sends more than 64 MiB for what was asked: for those that read by a library which
    /// keeps whatever comes.
    pub(crate) fn bounded(self) -> Self {
        self.bounded_by(MOST)
    }

    fn bounded_by(mut self, most: usize) -> Self {
        self.bound = Some(Bound { most, left: most });
        self
    }
}

/// TLS on a stream, or the stream itself.
pub(crate) async fn secured(stream: TcpStream, tls: Option<&Tls>) -> io::Result<Box<dyn Transport>> {
    Ok(match tls {
        None => Box::new(stream),
        Some(tls) => {
            let connector = TlsConnector::from(Arc::clone(&tls.config));
            let secured = connector.connect(tls.name.clone(), stream).await;
            Box::new(secured.map_err(|error| tls.in_words(error))?)
        }
    })
}

/// Connects; small requests leave at once.
pub(crate) async fn tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let stream = connected(host, port).await?;
    stream.set_nodelay(true)?;
    watch(&stream)?;
    Ok(stream)
}

/// Lets the kernel notice a connection that is gone.
fn watch(stream: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, KEEPALIVE)?;
    sockopt::set_tcp_keepintvl(stream, KEEPALIVE / 3)?;
    sockopt::set_tcp_user_timeout(stream, UNACKNOWLEDGED_MS)?;
    Ok(())
}

async fn connected(host: &str, port: u16) -> io::Result<TcpStream> {
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
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let heard = buffer.filled().len() - before;
        if let Some(bound) = &mut self.bound {
            match bound.left.checked_sub(heard) {
                Some(left) => bound.left = left,
                None => {
                    self.gate.flooded.store(true, Ordering::SeqCst);
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, FLOOD)));
                }
            }
        }
        if let Some(&first) = buffer.filled().get(before) {
            self.gate.heard.get_or_init(|| first);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Gated {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.gate.shut.load(Ordering::SeqCst) {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let count = ready!(Pin::new(&mut self.inner).poll_write(context, bytes))?;
        self.gate.sent.fetch_add(count as u64, Ordering::SeqCst);
        if let Some(bound) = &mut self.bound {
            bound.left = bound.most;
        }
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    #[tokio::test]
    async fn nothing_passes_a_shut_gate() {
        let (near, mut far) = duplex(64);
        let gate = Arc::new(Gate::default());
        let mut gated = Gated::over(Box::new(near), Arc::clone(&gate));
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

    #[tokio::test]
    async fn so_much_may_come_for_each_question() {
        let (near, mut far) = duplex(64);
        let gate = Arc::new(Gate::default());
        let mut gated = Gated::over(Box::new(near), Arc::clone(&gate)).bounded_by(8);
        let mut answer = [0; 8];
        for _ in 0..3 {
            gated.write_all(b"?").await.expect("it is open");
            far.write_all(b"12345678").await.expect("it is open");
            gated.read_exact(&mut answer).await.expect("as much as may come");
        }
        far.write_all(b"9").await.expect("it is open");
        let error = gated.read_exact(&mut answer).await.expect_err("it is too much");
        assert!(error.to_string().contains("more than 64 MiB"), "{error}");
        assert!(gate.flooded.load(Ordering::SeqCst));
    }
}
