//! The network between one owner and the store: a plain TCP relay on loopback, before one member or several.
//!
//! It passes bytes on and records that it did. Asked to, it holds them back and delivers them later
//! (as TCP does with what a black hole swallowed), resets connections, or forgets them in silence.
//! Every stage can be interrupted, and both sides are read in every mode; a half-close is passed on.
//!
//! What it can't imitate: while packets vanish, the kernel still acknowledges what the owner sends,
//! so a client that watches its own unacknowledged bytes (`TCP_USER_TIMEOUT`) or keep-alive probes
//! notices nothing; and a new connection is accepted at once, and hangs afterwards.
//!
//! - `gate`: which direction is held back
//! - `connection`: one connection and its two pumps
//! - `faults`: the relay's faults and their guards

mod connection;
mod faults;
mod gate;

pub use faults::{Cut, Held};

use connection::{Connection, Fate};
use gate::Gate;
use leaseproof_model::event::{Wire, WireSeen};
use leaseproof_model::moment::Moment;
use leaseproof_proc::clock::boot_now;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, io};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How long the relay's own tasks may take to carry a change out.
const CARRIED_OUT: Duration = Duration::from_secs(5);

/// Where what the relay saw goes. It is called between a read and a write, so it must not block.
#[derive(Clone)]
pub struct WireSink(Arc<dyn Fn(Moment, Wire) + Send + Sync>);

impl WireSink {
    /// A sink that calls `take` for each event.
    pub fn new(take: impl Fn(Moment, Wire) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }
}

impl fmt::Debug for WireSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WireSink")
    }
}

/// A running relay. Dropping it closes its connections.
///
/// Its methods are for threads outside the runtime that carries it: some wait for its tasks.
#[derive(Debug)]
pub struct Relay {
    addrs: Vec<SocketAddr>,
    shared: Arc<Shared>,
    accepting: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    sink: WireSink,
    gate: watch::Sender<Gate>,
    next: AtomicU64,
    requests_swallowed: AtomicU64,
    connections: Mutex<BTreeMap<u64, Connection>>,
    /// Woken when a connection's task has carried something out.
    carried_out: Condvar,
}

impl Relay {
    /// Starts a relay on free ports of loopback, one before each of `upstreams`, carried by this runtime. What is
    /// done to it is done on the way to all of them.
    ///
    /// # Errors
    /// When no port can be bound.
    pub fn start(runtime: &Handle, upstreams: &[SocketAddr], sink: WireSink) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            sink,
            gate: watch::Sender::new(Gate::default()),
            next: AtomicU64::new(1),
            requests_swallowed: AtomicU64::new(0),
            connections: Mutex::new(BTreeMap::new()),
            carried_out: Condvar::new(),
        });
        let mut relay = Self {
            addrs: Vec::new(),
            shared,
            accepting: Vec::new(),
        };
        let _entered = runtime.enter();
        for upstream in upstreams {
            let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            listener.set_nonblocking(true)?;
            relay.addrs.push(listener.local_addr()?);
            let listener = TcpListener::from_std(listener)?;
            let accepting = accept(listener, *upstream, Arc::clone(&relay.shared));
            relay.accepting.push(runtime.spawn(accepting));
        }
        Ok(relay)
    }

    /// Where owners connect to, in the order of what is behind.
    #[must_use]
    pub fn addrs(&self) -> &[SocketAddr] {
        &self.addrs
    }

    /// How many pieces of requests were swallowed or held back so far.
    #[must_use]
    pub fn requests_swallowed(&self) -> u64 {
        self.shared.requests_swallowed.load(Ordering::SeqCst)
    }

    /// The connections that are open and not forgotten, by number.
    #[must_use]
    pub fn connections(&self) -> Vec<u64> {
        let connections = self.shared.connections();
        let live = connections.iter().filter(|(_, it)| it.fate() == Fate::Live);
        live.map(|(number, _)| *number).collect()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        for accepting in &self.accepting {
            accepting.abort();
        }
        for connection in self.shared.connections().values() {
            connection.decide(Fate::Stopped);
        }
    }
}

impl Shared {
    fn emit(&self, at: Moment, connection: u64, seen: WireSeen, bytes: u64) {
        if seen == WireSeen::RequestSwallowed {
            self.requests_swallowed.fetch_add(1, Ordering::SeqCst);
        }
        let wire = Wire {
            connection,
            seen,
            bytes,
        };
        (self.sink.0)(at, wire);
    }

    fn connections(&self) -> MutexGuard<'_, BTreeMap<u64, Connection>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn carried_out(&self) {
        // Under the lock, so that nobody looks, is not woken, and then waits.
        let _connections = self.connections();
        self.carried_out.notify_all();
    }

    /// Waits until the connections are as wanted; whether they came to be.
    fn wait_until(&self, wanted: impl Fn(&BTreeMap<u64, Connection>) -> bool) -> bool {
        let deadline = Instant::now() + CARRIED_OUT;
        let mut connections = self.connections();
        while !wanted(&connections) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            connections = self
                .carried_out
                .wait_timeout(connections, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        true
    }
}

async fn accept(listener: TcpListener, upstream: SocketAddr, shared: Arc<Shared>) {
    loop {
        let before = boot_now();
        match listener.accept().await {
            Ok((owner, _)) => {
                let number = shared.next.fetch_add(1, Ordering::SeqCst);
                let (connection, fate) = Connection::new();
                shared.connections().insert(number, connection);
                let at = Moment::between(before, boot_now());
                shared.emit(at, number, WireSeen::Opened, 0);
                let gate = shared.gate.subscribe();
                let carried = connection::carry(Arc::clone(&shared), number, owner, upstream, gate, fate);
                tokio::spawn(carried);
            }
            // Out of file descriptors, or a connection that was gone at once: the next may do.
            Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}
