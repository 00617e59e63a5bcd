//! The reference owner: sound by default, broken in one known way by a flaw.
//!
//! It holds the lease in one process and works in another, so that stopping only one of them means
//! something. Start at [`main`]; [`holder`] is the process that holds, [`worker`] the one that works.
//!
//! - [`settings`]: the owner contract's variables
//! - [`flaw`], [`expectation`]: the known ways to be broken, and what must show each
//! - [`deadline`]: until when a grant is believed, by which clock
//! - [`belief`]: what is believed, counted from before each request
//! - [`holder`]: acquires, renews, notices the loss, releases
//! - [`child`], [`link`]: the worker's process, and what the holder tells it
//! - [`worker`], [`resource`]: writes while the grant is valid, checked at the moment of each write
//! - [`say`]: the event lines
//! - [`signals`]: the request to release
//! - [`flawed`]: the wrong statements that some flaws send to the store

pub mod belief;
pub mod child;
pub mod deadline;
pub mod expectation;
pub mod flaw;
pub mod flawed;
pub mod holder;
pub mod link;
pub mod resource;
pub mod say;
pub mod settings;
pub mod signals;

pub mod worker;

pub use expectation::Expectation;
pub use flaw::Flaw;
pub use settings::{Given, Settings, SettingsError};

use std::process::ExitCode;

/// Runs an owner until it is asked to release, or until it has lost the lease if it should exit then.
///
/// Status 0: released. 1: it ended for another reason, said on standard error. 2: the settings are wrong.
#[must_use]
pub fn main(settings: Settings) -> ExitCode {
    let ended = if settings.worker {
        worker::run(&settings)
    } else {
        holder::run(settings)
    };
    match ended {
        Ok(status) => ExitCode::from(status),
        Err(why) => {
            eprintln!("leaseproof owner: {why}");
            ExitCode::from(1)
        }
    }
}
