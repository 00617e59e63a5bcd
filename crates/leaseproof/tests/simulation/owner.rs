//! An owner: a process with a thread that works, and one for each of its leases that asks the store.

use super::clock::Clock;
use super::keeper::Doing;
use super::network::Holder;
use super::worker::Work;
use leaseproof::protocol::{Protocol, Terms, Validity};
use leaseproof::{BootNanos, Loss, Token};

/// The process.
pub struct Owner {
    pub clock: Clock,
    /// Which start of it this is: what was sent to one that has ended reaches no other.
    pub life: u32,
    pub alive: bool,
    /// Nothing of it runs before this instant.
    pub paused: u64,
    pub leases: Vec<Lease>,
    pub work: Work,
    /// The latest of its requests that has arrived.
    pub arrived: u32,
    /// Which turn of the thread that works is next; earlier calls for one are void.
    pub turn: u32,
}

impl Owner {
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            life: 0,
            alive: true,
            paused: 0,
            leases: Vec::new(),
            work: Work::Begin,
            arrived: 0,
            turn: 0,
        }
    }
}

/// What the threads of one lease share.
pub struct Lease {
    pub protocol: Protocol,
    pub validity: Validity,
    /// The end that was asked for.
    pub wish: Option<Loss>,
    pub stage: Stage,
    pub grant: Option<Grant>,
    pub worked: BootNanos,
    pub released: bool,
    /// How often the release was sent.
    pub tries: u32,
    /// An unknown outcome did not end it.
    pub doubted: bool,
    pub doing: Doing,
    pub turn: u32,
}

/// A grant as its owner knows it.
#[derive(Clone, Copy, Debug)]
pub struct Grant {
    pub holder: Holder,
    pub token: Token,
    /// The store's number for it, which no owner knows: it is for the properties only.
    pub number: u64,
}

/// How far a lease has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    Waiting,
    Held,
    Over,
    /// Over, and what came of its release is known.
    Released,
}

impl Lease {
    pub fn new(terms: &Terms, now: BootNanos) -> Self {
        Self {
            protocol: Protocol::new(terms.clone(), now),
            validity: Validity::default(),
            wish: None,
            stage: Stage::Waiting,
            grant: None,
            worked: now,
            released: false,
            tries: 0,
            doubted: false,
            doing: Doing::Decide,
            turn: 0,
        }
    }
}
