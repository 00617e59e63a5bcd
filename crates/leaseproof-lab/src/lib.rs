//! Runs experiments: owners, scenarios, evidence bundle.
//!
//! The folders are the phases of a run: [`plan`] what to run, [`prepare`] whether it may start,
//! [`server`] a store of our own, [`owner`] who is judged, [`observe`] who looks, [`scenarios`] what is done
//! to it, [`bundle`] what is kept, [`run`] all of it side by side, [`verdict`] what it came to; [`again`]
//! judges a kept bundle, [`left`] knows what a killed run left in a store.

pub mod again;
pub mod bundle;
pub mod left;
pub mod observe;
pub mod owner;
pub mod plan;
pub mod prepare;
pub mod progress;
pub mod run;
pub mod scenarios;
pub mod server;
pub mod settings;
pub mod verdict;
