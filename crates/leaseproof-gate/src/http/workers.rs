//! One thread a processor, each with an event loop of its own: a request, and the connection to the upstream that it
//! takes, stay on the thread of its client. Between threads there are the marks and the turns alone.

use super::gate::Gate;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Builder;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// How long a client may take for a request's head, or for a handshake.
const HEAD: Duration = Duration::from_secs(30);

/// A client's connection, and its share of the room.
type Client = (TcpStream, OwnedSemaphorePermit);

/// The threads.
pub struct Workers {
    clients: Vec<UnboundedSender<Client>>,
    threads: Vec<JoinHandle<()>>,
    next: usize,
    /// Has a value: no more requests; gone: at once.
    end: watch::Sender<bool>,
}

impl Workers {
    /// Starts one for each processor.
    ///
    /// # Errors
    /// When there can be no thread, or no event loop.
    pub fn start(gate: &Gate, tls: Option<&TlsAcceptor>) -> io::Result<Self> {
        let (end, ends) = watch::channel(false);
        let mut workers = Self {
            clients: Vec::new(),
            threads: Vec::new(),
            next: 0,
            end,
        };
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            let (client, clients) = unbounded_channel();
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let (gate, tls, ends) = (Arc::new(gate.beside()), tls.cloned(), ends.clone());
            let thread = std::thread::Builder::new().name("worker".to_owned()).spawn(move || {
                runtime.block_on(work(clients, gate, tls, ends));
                // Ends every task; the system's search for a name may take longer than anybody waits.
                runtime.shutdown_timeout(Duration::from_secs(1));
            })?;
            workers.clients.push(client);
            workers.threads.push(thread);
        }
        Ok(workers)
    }

    /// Gives a connection to the next of them.
    pub fn give(&mut self, stream: TcpStream, permit: OwnedSemaphorePermit) {
        self.next = (self.next + 1) % self.clients.len();
        // One that has panicked takes no more, and its clients are cut.
        let _ = self.clients[self.next].send((stream, permit));
    }

    /// Every connection ends after the answer that it is at.
    pub fn end_in_order(&self) {
        let _ = self.end.send(true);
    }

    /// Ends what is still there.
    pub fn end(self) {
        drop(self.clients);
        drop(self.end);
        for thread in self.threads {
            let _ = thread.join();
        }
    }
}

/// Serves the clients that it is given, until the end.
async fn work(
    mut clients: UnboundedReceiver<Client>,
    gate: Arc<Gate>,
    tls: Option<TlsAcceptor>,
    ends: watch::Receiver<bool>,
) {
    while let Some((stream, permit)) = clients.recv().await {
        let (gate, tls, ends) = (Arc::clone(&gate), tls.clone(), ends.clone());
        tokio::spawn(async move {
            if let Ok(stream) = tokio::net::TcpStream::from_std(stream) {
                // Without it an answer may wait for the client's acknowledgement; with it nothing is lost if it fails.
                let _ = stream.set_nodelay(true);
                match tls {
                    None => talk(stream, gate, ends).await,
                    Some(tls) => {
                        // Who can't agree on a cipher, or never begins, is no client.
                        if let Ok(Ok(stream)) = timeout(HEAD, tls.accept(stream)).await {
                            talk(stream, gate, ends).await;
                        }
                    }
                }
            }
            drop(permit);
        });
    }
}

/// Answers what comes on one connection, until its end or the gate's.
async fn talk(stream: impl AsyncRead + AsyncWrite + Unpin, gate: Arc<Gate>, mut ends: watch::Receiver<bool>) {
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
