//! One connection: two pumps, one for each direction, that any change interrupts.

use super::Shared;
use super::gate::{Direction, Gate};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::WireSeen;
use leaseproof_model::moment::Moment;
use leaseproof_proc::clock::boot_now;
use rustix::net::{Shutdown, shutdown};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::TcpStream;
use tokio::sync::watch;

/// How much is kept back for each direction before it is no longer read, which is what a full
/// window does to a sender.
const KEPT: usize = 16 << 20;

/// What is to become of a connection.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    /// It goes on.
    Live,
    /// Both sides get a reset.
    Reset,
    /// Both sides are read for ever, and nothing is passed on, not even an end.
    Forgotten,
    /// One side broke off: the other is broken off too.
    Broken,
    /// The relay is over.
    Stopped,
}

/// A connection as the relay knows it.
#[derive(Debug)]
pub(super) struct Connection {
    fate: watch::Sender<Fate>,
    kept: Arc<AtomicUsize>,
}

impl Connection {
    pub(super) fn new() -> (Self, watch::Sender<Fate>) {
        let fate = watch::Sender::new(Fate::Live);
        let connection = Self {
            fate: fate.clone(),
            kept: Arc::default(),
        };
        (connection, fate)
    }

    pub(super) fn decide(&self, fate: Fate) {
        self.fate.send_replace(fate);
    }

    pub(super) fn fate(&self) -> Fate {
        *self.fate.borrow()
    }

    /// How many bytes are kept back.
    pub(super) fn kept(&self) -> usize {
        self.kept.load(Ordering::SeqCst)
    }
}

/// Carries one connection to its end.
pub(super) async fn carry(
    shared: Arc<Shared>,
    number: u64,
    owner: TcpStream,
    upstream: SocketAddr,
    gate: watch::Receiver<Gate>,
    fate: watch::Sender<Fate>,
) {
    let kept = shared
        .connections()
        .get(&number)
        .map(|connection| Arc::clone(&connection.kept))
        .unwrap_or_default();
    let _ = owner.set_nodelay(true);
    let owner = Arc::new(owner);
    let mut requests = Pump {
        shared: Arc::clone(&shared),
        number,
        direction: Direction::Request,
        from: Arc::clone(&owner),
        gate: gate.clone(),
        fate: fate.subscribe(),
        decide: fate.clone(),
        total: Arc::clone(&kept),
        kept: Vec::new(),
        ended: None,
        empty_at: boot_now(),
    };
    // Nothing reaches the store while requests are held back, so the store isn't dialled either.
    let store = match requests.wait_for_the_gate().await {
        true => TcpStream::connect(upstream).await.ok().map(Arc::new),
        false => None,
    };
    if let Some(store) = &store {
        let _ = store.set_nodelay(true);
        let answers = Pump {
            direction: Direction::Answer,
            from: Arc::clone(store),
            fate: fate.subscribe(),
            gate,
            decide: fate.clone(),
            shared: Arc::clone(&shared),
            total: kept,
            kept: Vec::new(),
            ended: None,
            empty_at: boot_now(),
            number,
        };
        tokio::join!(requests.run(store), answers.run(&owner));
    }
    let end = *fate.borrow();
    if end == Fate::Forgotten {
        remember_for_ever(&owner, store.as_deref(), fate.subscribe(), &shared, number).await;
    }
    // An unreachable store is passed on as a broken connection.
    if end == Fate::Reset || end == Fate::Broken || (store.is_none() && end == Fate::Live) {
        for stream in [Some(&owner), store.as_ref()].into_iter().flatten() {
            let _ = stream.set_zero_linger();
        }
    }
    let before = boot_now();
    drop((owner, store));
    let seen = if end == Fate::Reset {
        WireSeen::Reset
    } else {
        WireSeen::Closed
    };
    shared.emit(Moment::between(before, boot_now()), number, seen, 0);
    shared.connections().remove(&number);
    shared.carried_out();
}

/// A forgotten connection: bytes of both sides vanish, and neither side's end is passed on. The
/// sockets stay open, so that nobody is told anything.
async fn remember_for_ever(
    owner: &TcpStream,
    store: Option<&TcpStream>,
    mut fate: watch::Receiver<Fate>,
    shared: &Shared,
    number: u64,
) {
    let swallow = async |stream: &TcpStream, seen: WireSeen| {
        let mut chunk = vec![0; 16 << 10];
        let mut empty_at = boot_now();
        loop {
            if stream.readable().await.is_err() {
                break;
            }
            match stream.try_read(&mut chunk) {
                Ok(0) => break,
                Ok(length) => {
                    let at = Moment::between(empty_at, boot_now());
                    shared.emit(at, number, seen, length as u64);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => empty_at = boot_now(),
                Err(_) => break,
            }
        }
    };
    let both = async {
        match store {
            Some(store) => {
                tokio::join!(
                    swallow(owner, WireSeen::RequestSwallowed),
                    swallow(store, WireSeen::AnswerSwallowed)
                );
            }
            None => swallow(owner, WireSeen::RequestSwallowed).await,
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = both => {}
        _ = fate.wait_for(|fate| *fate == Fate::Stopped) => {}
    }
}

/// How one side's stream ended.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum End {
    /// In order: it sends no more.
    Closed,
    /// By a reset or another error.
    Broken,
}

/// One direction of one connection.
struct Pump {
    shared: Arc<Shared>,
    number: u64,
    direction: Direction,
    from: Arc<TcpStream>,
    gate: watch::Receiver<Gate>,
    fate: watch::Receiver<Fate>,
    decide: watch::Sender<Fate>,
    /// What both pumps of the connection keep.
    total: Arc<AtomicUsize>,
    kept: Vec<u8>,
    ended: Option<End>,
    /// When `from` was last seen empty: what is read next arrived after that.
    empty_at: BootNanos,
}

impl Pump {
    /// Keeps what comes until the gate is open; whether the connection still goes on then.
    async fn wait_for_the_gate(&mut self) -> bool {
        loop {
            if *self.fate.borrow_and_update() != Fate::Live {
                return false;
            }
            if !self.gate.borrow_and_update().is_held(self.direction) {
                return true;
            }
            if let Some(bytes) = self.next().await {
                self.keep(&bytes);
            }
        }
    }

    async fn run(mut self, to: &TcpStream) {
        loop {
            if *self.fate.borrow_and_update() != Fate::Live {
                break;
            }
            let held = self.gate.borrow_and_update().is_held(self.direction);
            if !held {
                if !self.kept.is_empty() {
                    let bytes = std::mem::take(&mut self.kept);
                    if !self.pass(to, &bytes, WireSeen::Delivered).await {
                        break;
                    }
                    self.forget(bytes.len());
                    continue;
                }
                match self.ended {
                    Some(End::Closed) => {
                        let _ = shutdown(to, Shutdown::Write);
                        break;
                    }
                    Some(End::Broken) => {
                        self.decide.send_if_modified(break_off);
                        break;
                    }
                    None => {}
                }
            }
            if let Some(bytes) = self.next().await {
                // Looked at again: the gate may have closed while this pump was waiting.
                let held = self.gate.borrow_and_update().is_held(self.direction);
                if held || *self.fate.borrow() != Fate::Live {
                    self.keep(&bytes);
                } else {
                    let seen = match self.direction {
                        Direction::Request => WireSeen::Request,
                        Direction::Answer => WireSeen::Answer,
                    };
                    if !self.pass(to, &bytes, seen).await {
                        break;
                    }
                }
            }
        }
        let kept = self.kept.len();
        self.forget(kept);
    }

    /// The next bytes; `None` when something else happened that has to be looked at.
    async fn next(&mut self) -> Option<Vec<u8>> {
        let mut chunk = vec![0; 16 << 10];
        let readable = self.ended.is_none() && self.kept.len() < KEPT;
        tokio::select! {
            biased;
            _ = self.fate.changed() => None,
            _ = self.gate.changed() => None,
            ready = self.from.readable(), if readable => {
                match ready.and_then(|()| self.from.try_read(&mut chunk)) {
                    Ok(0) => self.ended = Some(End::Closed),
                    Ok(length) => {
                        chunk.truncate(length);
                        return Some(chunk);
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.empty_at = boot_now(),
                    Err(_) => self.ended = Some(End::Broken),
                }
                None
            }
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.kept.extend_from_slice(bytes);
        self.total.fetch_add(bytes.len(), Ordering::SeqCst);
        let seen = match self.direction {
            Direction::Request => WireSeen::RequestSwallowed,
            Direction::Answer => WireSeen::AnswerSwallowed,
        };
        let at = Moment::between(self.empty_at, boot_now());
        self.shared.emit(at, self.number, seen, bytes.len() as u64);
    }

    fn forget(&self, length: usize) {
        self.total.fetch_sub(length, Ordering::SeqCst);
        self.shared.carried_out();
    }

    /// Writes all of it, unless the connection's fate is decided meanwhile; whether it goes on.
    async fn pass(&mut self, to: &TcpStream, bytes: &[u8], seen: WireSeen) -> bool {
        let from = if seen == WireSeen::Delivered {
            boot_now()
        } else {
            self.empty_at
        };
        let mut done = 0;
        while done < bytes.len() {
            tokio::select! {
                biased;
                changed = self.fate.wait_for(|fate| *fate != Fate::Live) => {
                    let _ = changed;
                    return false;
                }
                ready = to.writable() => match ready.and_then(|()| to.try_write(&bytes[done..])) {
                    Ok(length) => done += length,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(_) => {
                        // It takes no more: so nobody may send to it any more.
                        self.decide.send_if_modified(break_off);
                        return false;
                    }
                },
            }
        }
        let at = Moment::between(from, boot_now());
        self.shared.emit(at, self.number, seen, bytes.len() as u64);
        true
    }
}

/// Only a live connection can break; a fate that was decided stays.
fn break_off(fate: &mut Fate) -> bool {
    let live = *fate == Fate::Live;
    if live {
        *fate = Fate::Broken;
    }
    live
}
