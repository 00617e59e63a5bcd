//! The gate in front of an HTTP resource.
//!
//! Start at [`Bound`]; `gate::Gate::answer` is what happens to one request, `turns` says who may go on when. Connections
//! belong to a worker each (`workers`).

mod aloft;
pub mod gate;
mod headers;
pub mod key;
mod refusal;
pub mod settings;
pub mod tls;
mod turns;
mod upload;
mod upstream;
mod workers;

pub use key::KeyRule;
pub use settings::{Settings, Upstream, WRITING, methods};
pub use tls::Identity;

use crate::marks::{Journal, Marks, MarksError};
use gate::Gate;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, sleep};
use tokio_rustls::TlsAcceptor;
use turns::Turns;
use upstream::Way;
use workers::Workers;

/// So many connections at a time; more wait in the listener's queue.
const CONNECTIONS: usize = 4096;

/// So many more wait to be accepted, where the kernel allows it.
const BACKLOG: i32 = 4096;

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
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    gate: Gate,
    marks: Marks,
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
        let listen = settings.listen;
        let listener = TcpListener::bind(listen).map_err(|error| GateError::Listen(listen, error))?;
        // As many as the kernel lets wait: a burst of new clients is no reason to refuse any.
        rustix::net::listen(&listener, BACKLOG).map_err(io::Error::from)?;
        let address = listener.local_addr()?;
        let keys = found.marks.len();
        let settles = !found.clean && keys > 0;
        let marks = Marks::start(journal)?;
        let gate = Gate {
            turns: Arc::new(Turns::new(found, settings.settle, settings.most_keys)),
            marks: marks.wishes(),
            way,
            settings: Arc::new(settings),
        };
        Ok(Self {
            listener,
            tls,
            gate,
            marks,
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
            listener,
            tls,
            gate,
            marks,
            ..
        } = self;
        let turns = Arc::clone(&gate.turns);
        let workers = Workers::start(&gate, tls.as_ref())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(accept(listener, &gate, workers, stop))?;
        let in_order = turns.are_at_rest();
        // The last of those who could wish for a mark.
        drop(gate);
        marks.end(in_order)?;
        Ok(in_order)
    }
}

/// Hands connections to the workers in turn, until it is told to stop; then waits for what is under way.
async fn accept(
    listener: TcpListener,
    gate: &Gate,
    mut workers: Workers,
    mut stop: oneshot::Receiver<()>,
) -> io::Result<()> {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    while let Ok(permit) = Arc::clone(&room).acquire_owned().await {
        let accepted = tokio::select! {
            _ = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        match accepted.and_then(|(stream, _)| stream.into_std()) {
            Ok(stream) => workers.give(stream, permit),
            // Out of file descriptors, for the moment.
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
    drop(listener);
    let until = Instant::now() + gate.settings.patience;
    // Every connection ends after the answer that it is at.
    workers.end_in_order();
    while Instant::now() < until && (gate.turns.flights() > 0 || room.available_permits() < CONNECTIONS) {
        sleep(Duration::from_millis(5)).await;
    }
    workers.end();
    Ok(())
}
