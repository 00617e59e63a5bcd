//! The gate in front of an HTTP resource.
//!
//! Start at [`Bound`]; `gate::Gate::answer` is what happens to one request, `turns` says who may go on when.

pub mod gate;
mod headers;
pub mod key;
mod refusal;
pub mod settings;
pub mod tls;
mod turns;
mod upload;
mod upstream;

pub use key::KeyRule;
pub use settings::{Settings, Upstream, WRITING, methods};
pub use tls::Identity;

use crate::marks::{Journal, Marks, MarksError};
use gate::Gate;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsAcceptor;
use turns::Turns;
use upstream::Way;

/// So many connections at a time; more wait in the listener's queue.
const CONNECTIONS: usize = 4096;

/// How long a client may take for a request's head.
const HEAD: Duration = Duration::from_secs(30);

/// Why there is no gate.
#[derive(Debug, Error)]
pub enum GateError {
    /// Its marks.
    #[error("{0}")]
    Marks(#[from] MarksError),
    /// Its certificates.
    #[error("TLS: {0}")]
    Tls(String),
    /// Its place.
    #[error("{0} can't be listened on: {1}; name another with --listen")]
    Listen(SocketAddr, io::Error),
    /// The system.
    #[error("the gate can't go on: {0}")]
    System(#[from] io::Error),
}

/// A gate that listens, and serves once it is run.
pub struct Bound {
    runtime: tokio::runtime::Runtime,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    gate: Arc<Gate>,
    address: SocketAddr,
    keys: usize,
    settles: bool,
}

impl fmt::Debug for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bound")
            .field("address", &self.address)
            .field("gate", &self.gate)
            .finish_non_exhaustive()
    }
}

impl Bound {
    /// Opens the marks and listens.
    ///
    /// # Errors
    /// When either can't be.
    pub fn new(settings: Settings) -> Result<Self, GateError> {
        let tls = match &settings.identity {
            Some(identity) => Some(tls::towards_clients(identity).map_err(GateError::Tls)?),
            None => None,
        };
        let way = Way::new(&settings.upstream, settings.roots.as_deref()).map_err(GateError::Tls)?;
        let (journal, found) = Journal::open(&settings.marks, settings.sync)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let listen = settings.listen;
        let listener = runtime
            .block_on(TcpListener::bind(listen))
            .map_err(|error| GateError::Listen(listen, error))?;
        let address = listener.local_addr()?;
        let keys = found.marks.len();
        let settles = !found.clean && keys > 0;
        let gate = Arc::new(Gate {
            turns: Turns::new(found, settings.settle, settings.most_keys),
            marks: Marks::start(journal)?,
            way,
            settings,
        });
        Ok(Self {
            runtime,
            listener,
            tls,
            gate,
            address,
            keys,
            settles,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many keys have a mark.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.keys
    }

    /// Whether the gate before did not end in order: writes to its keys wait for the settle time first.
    #[must_use]
    pub fn settles(&self) -> bool {
        self.settles
    }

    /// Serves until `stop` has a value or its sender is gone; then lets what is under way end, for as long as a
    /// client would wait for it. True if all of it did, so that the next start need not wait.
    ///
    /// # Errors
    /// When the end can't be written down.
    pub fn run(self, stop: oneshot::Receiver<()>) -> Result<bool, GateError> {
        let Self {
            runtime,
            listener,
            tls,
            gate,
            ..
        } = self;
        runtime.block_on(serve(listener, tls, &gate, stop));
        // Ends every task, and so every hold on the gate but this one.
        runtime.shutdown_timeout(Duration::from_secs(1));
        let Some(gate) = Arc::into_inner(gate) else {
            return Ok(false);
        };
        let in_order = gate.turns.are_at_rest();
        gate.marks.end(in_order)?;
        Ok(in_order)
    }
}

async fn serve(listener: TcpListener, tls: Option<TlsAcceptor>, gate: &Arc<Gate>, mut stop: oneshot::Receiver<()>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let (ending, ends) = watch::channel(());
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        let accepted = tokio::select! {
            _ = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors, for the moment.
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        // Without it an answer may wait for the client's acknowledgement; with it nothing is lost if it fails.
        let _ = stream.set_nodelay(true);
        let (gate, ends, tls) = (Arc::clone(gate), ends.clone(), tls.clone());
        tokio::spawn(async move {
            match tls {
                None => talk(stream, gate, ends).await,
                Some(tls) => {
                    // Who can't agree on a cipher, or never begins, is no client.
                    if let Ok(Ok(stream)) = timeout(HEAD, tls.accept(stream)).await {
                        talk(stream, gate, ends).await;
                    }
                }
            }
            drop(permit);
        });
    }
    drop(listener);
    let until = Instant::now() + gate.settings.patience;
    // Every connection ends after the answer that it is at.
    let _ = ending.send(());
    drop(ends);
    while Instant::now() < until && (gate.turns.flights() > 0 || room.available_permits() < CONNECTIONS) {
        sleep(Duration::from_millis(5)).await;
    }
}

/// Answers what comes on one connection, until its end or the gate's.
async fn talk(stream: impl AsyncRead + AsyncWrite + Unpin, gate: Arc<Gate>, mut ends: watch::Receiver<()>) {
    let service = service_fn(move |request| {
        let gate = Arc::clone(&gate);
        async move { Ok::<_, Infallible>(gate.answer(request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    // A client that went away is no concern of ours.
    tokio::select! {
        _ = connection.as_mut() => {}
        _ = ends.changed() => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}
