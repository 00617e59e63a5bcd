//! The warden: a process of its own session that makes good what a run can't any more.
//!
//! It is up and has answered before the first owner starts; it knows each fault before it is
//! applied; it undoes a fault at its hard deadline even while the run lives (or hangs), and undoes
//! all and ends the owners when the run is gone. What it knows is also in a [journal](crate::journal),
//! for the case that it is killed too.
//!
//! - `protocol`: what run and warden say to each other, which is also what the journal holds
//! - `wards`: the state that the messages add up to, and its undoing
//! - `traces`: what the run made in a store
//! - `process`: the warden's own loop
//! - `handle`: the run's end

mod handle;
mod process;
pub(crate) mod protocol;
mod signals;
pub(crate) mod traces;
pub(crate) mod wards;

pub use handle::{Warden, WardenError};
pub use process::main;
pub(crate) use signals::apart;
pub use traces::Traces;
pub use wards::Healed;

/// The hidden first argument by which our binary becomes a warden.
pub const WORD: &str = "__warden";
