//! Owners, one store and one resource, by seed: the protocol of the library under delays, losses, duplications,
//! pauses, drifting clocks and crashes, with its properties checked at each instant of true time.
//!
//! - `plan`: what a seed makes of a schedule; `random`: from where it draws
//! - `world`: true time, and what comes next; `clock`: what each party's clock shows then
//! - `owner`, `keeper`, `worker`: the drivers, thread by thread, as the library has them
//! - `network`, `store`, `resource`: the parties that are asked
//! - `watch`: the properties; `sometimes`: what must have happened for them to mean anything
//! - `mutant`: what is broken on purpose, so that each property is seen to fail
//!
//! Nothing here decides anything about a lease: that is [`leaseproof::protocol`], the same that the library runs.

// Each program that includes this uses a part of it.
#![allow(dead_code)]

mod clock;
mod keeper;
mod mutant;
mod network;
mod owner;
mod plan;
mod random;
mod resource;
mod sometimes;
mod store;
mod tally;
mod watch;
mod worker;
mod world;

pub use mutant::Mutant;
pub use sometimes::Sometimes;
pub use tally::Tally;
pub use watch::Property;
pub use world::{replay, run};
