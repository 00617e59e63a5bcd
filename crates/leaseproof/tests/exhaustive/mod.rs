//! A small world, looked at in full: two owners, one key, a TTL of a few ticks, messages that are late, lost or
//! doubled, a clock that loses a tick, owners that stop, crash and give up, in every order.
//!
//! - `state`: the world at one instant, counted from the present so that there are finitely many
//! - `moves`: what can happen next
//! - `search`: all that can be reached, breadth first
//!
//! What an owner makes of it all is [`leaseproof::protocol`], the same that the library runs.

mod moves;
mod search;
mod state;

pub use moves::{Bounds, Broken};
pub use search::{Found, search};
