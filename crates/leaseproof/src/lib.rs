//! Leases that are right across a pause.
//!
//! A lock with a TTL breaks when its owner stops for longer than the TTL (a collection, a frozen container, a dead
//! connection), wakes up, still believes, and writes beside its successor. This library is an owner that doesn't:
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use leaseproof::{Budget, Lease, Store};
//!
//! let budget = Budget::load("leaseproof.toml")?.assert()?; // refuses numbers that can't hold
//! let store: Store = "redis://127.0.0.1:6379".parse()?;
//! let lease = Lease::acquire(&store, "jobs/daily", &budget)?; // waits until it is granted
//! for item in ["a", "b"] {
//!     let permit = lease.permit()?; // "lock not held", checked here and now, not by a timer
//!     write(item, permit.token()); // the resource refuses a token below the highest that it saw
//! }
//! lease.release()?;
//! # Ok(()) }
//! # fn write(_: &str, _: leaseproof::Token) {}
//! ```
//!
//! What this can promise, and what only the resource can, is argued in [`guarantees`].
//!
//! - [`Budget`]: the numbers, and their assertion at startup
//! - [`Options`], [`Lease`], [`Permit`]: acquire, hold, act
//! - [`Fleet`]: very many leases, on one thread and one connection (Redis)
//! - [`Lease::lost`], [`Lease::run`]: the asynchronous face; it needs no particular runtime
//! - [`Event`], [`Metrics`]: what happened, and what is believed
//! - [`Line`]: an event as a line that `leaseproof verify` and `watch` read
//! - [`PauseMeter`]: how long this process was stopped, at worst
//! - [`protocol`]: the pure core
//!
//! Stores are features, and none is on by default. One more, `flaws`, breaks a lease on purpose: it is for tests only.

mod asynchronous;
mod budget;
mod duty;
mod error;
mod event;
mod flaw;
mod fleet;
pub mod guarantees;
mod keeper;
mod lease;
mod line;
mod metrics;
mod options;
mod pause_meter;
mod permit;
pub mod protocol;
mod shared;
mod store;

pub use asynchronous::{Lost, Run};
pub use budget::{Budget, Sound};
pub use error::{AcquireError, BudgetError, LockNotHeld, ReleaseError};
pub use event::Event;
#[cfg(feature = "flaws")]
pub use flaw::Flaw;
pub use fleet::{Fleet, Tally};
pub use lease::Lease;
pub use leaseproof_model::clock::BootNanos;
pub use leaseproof_model::name::Token;
pub use leaseproof_store::boot_now;
pub use line::Line;
pub use metrics::Metrics;
pub use options::Options;
pub use pause_meter::PauseMeter;
pub use permit::Permit;
pub use protocol::{Loss, Policy};
pub use store::Store;
