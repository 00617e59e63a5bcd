//! One look: the first ten minutes of an incident.
//!
//! Read-only by its types: everything goes through [`leaseproof_store::Inspect`], whose adapters send
//! what is in their list and nothing else.
//!
//! A span of readings is taken (`sampling`, at the `pace` of the bound), and the rest is pure:
//! [`sample`] compares two readings, [`steps`] goes through all of them, [`renewals`] places what it
//! found, [`view`] is the lease as they show it, [`against`] sets it beside a plan, [`side`] says which
//! side to look at first ([`overdue`]: who had already missed renewals before the store fell silent), `missing` what would tell more, `holder` whether the named process is seen to hold, [`answer`] gives the verdict. `host` looks at the owner's process, `keep`
//! writes the evidence down before anything is judged.

pub mod against;
pub mod answer;
pub mod holder;
mod host;
mod keep;
mod missing;
pub mod offset;
pub mod overdue;
pub mod pace;
pub mod renewals;
mod run;
pub mod sample;
mod sampling;
pub mod settings;
pub mod side;
pub mod steps;
pub mod view;

pub use run::{Refused, run};
pub use settings::{PlanGiven, Settings};
