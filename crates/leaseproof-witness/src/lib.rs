//! The protected resource that leaseproof brings: records each write in its own serial order.
//!
//! Start at [`Witness`]. One server a scenario; each started owner gets a URL of its own, so that the
//! writer is known without asking it. The same [`server`] runs in a thread, or, where its death is
//! part of the scenario, in a process that [`Witness::kill_and_restart`] kills with SIGKILL.
//!
//! - [`fence`]: which writes are accepted: pure
//! - [`journal`]: the high-water mark, written down before an answer depends on it
//! - [`request`]: bytes to requests: pure, bounded
//! - [`arrival`]: when bytes arrived, by the kernel's own stamp
//! - [`lateness`]: how long the server's thread waited to be let run
//! - [`connection`], [`server`]: one thread, so that the serial order needs no lock
//! - [`message`], [`witness`], [`hold`]: the lab's side

pub mod arrival;
pub mod connection;
mod control;
pub mod fence;
pub mod hold;
pub mod journal;
mod lab;
pub mod lateness;
pub mod message;
pub mod request;
pub mod server;
pub mod witness;

pub use fence::WitnessFlaw;
pub use hold::HoldHandle;
pub use lab::KEPT_WRITES;
pub use server::main;
pub use witness::{Place, Seen, Setup, Sink, Witness, WitnessError};
