//! The synthetic monitor: what the store grants against what the owner believes.
//!
//! Readings and reports go in, series come out; in between nothing reads a clock or does I/O:
//!
//! - [`lease`]: readings of one lease → its [`grant`], its renewals, its token, the TTL that was [`granted`]; `hidden`:
//!   renewals that hide in whole seconds
//! - [`belief`], [`divergence`]: an owner's reports, set against the grants
//! - [`clock`]: the store's clock against ours
//! - [`board`]: all of it, with the [`states`] of the store and of the monitor itself
//! - [`notices`]: what people are told at once
//! - [`untold`]: why nothing can be said at the end
//! - [`series`], [`page`]: what is exported; [`rules`], [`dashboard`]: what reads it
//!
//! At the edge: [`run`] (rounds of readings), [`sources`] (where beliefs are read), [`server`] (HTTP).

pub mod belief;
pub mod board;
pub mod clock;
pub mod dashboard;
pub mod divergence;
pub mod grant;
pub mod granted;
mod hidden;
pub mod key;
pub mod label;
pub mod lease;
pub mod notices;
pub mod page;
pub mod rules;
pub mod run;
pub mod series;
pub mod server;
pub mod settings;
pub mod sources;
pub mod states;
pub mod terms;
#[cfg(feature = "tui")]
pub mod tui;
pub mod untold;
pub mod worst;
