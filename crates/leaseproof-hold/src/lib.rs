//! Runs a command under a lease, and stops its whole tree before the lease's validity ends.
//!
//! Three processes of ours: `hold` itself acquires and renews, by the library; the [`guardian`] is the command's
//! parent, and stops it by the clock; a small one becomes the command ([`start`]). Either of the first two stops the
//! command without the other, and where neither can run, the kernel does (the guardian's fuse).
//!
//! Start at [`main`].
//!
//! - [`settings`]: what is asked, validated before anything starts
//! - [`timing`]: when the command is asked to end, and killed; pure
//! - [`tenure`]: one grant and its command, from the wait to the end; `run`: the command meanwhile
//! - [`ward`]: the guardian as `hold` sees it; [`message`]: what the two tell each other; [`page`]: the deadline that
//!   they share
//! - [`guardian`]: the second process; [`start`]: the third
//! - [`fuse`]: the kernel's own kill, where none of us runs; [`veto`]: where only the guardian does not
//! - [`tree`], [`group`]: the command's processes
//! - [`events`]: what is said
//! - [`signals`], [`wait`], [`inherited`]: what a process waits for, and is handed
//! - [`flaw`]: for tests
//!
//! No fault code is linked here.

pub mod events;
pub mod flaw;
pub mod fuse;
pub mod group;
pub mod guardian;
pub mod inherited;
pub mod message;
pub mod page;
mod run;
pub mod settings;
pub mod signals;
pub mod start;
pub mod tenure;
pub mod timing;
pub mod tree;
pub mod veto;
pub mod wait;
pub mod ward;

pub use settings::{Given, Settings, SettingsError};

use events::Events;
use rustix::process::{getpid, set_child_subreaper};
use signals::Signals;
use std::process::ExitCode;
use tenure::{End, Hold};

/// The call, the plan or the store's URL is wrong.
pub const WRONG_CALL: u8 = 2;
/// `hold` itself failed: a process or a thread could not be started.
pub const FAILED: u8 = 70;
/// The lease was not granted in the time that was to be waited.
pub const NOT_ACQUIRED: u8 = 75;
/// The lease was lost, and the command was stopped for it.
pub const LOST: u8 = 76;
/// Added to the number of the signal by which a command ended.
pub const BY_SIGNAL: u8 = 128;

/// Holds the lease, runs the command, gives the lease back.
#[must_use]
pub fn main(settings: Settings) -> ExitCode {
    let events = match Events::open(&settings.events, settings.quiet) {
        Ok(events) => events,
        Err(says) => {
            eprintln!("error: the events can't be written: {says}");
            return ExitCode::from(WRONG_CALL);
        }
    };
    let ready = Signals::take().and_then(|signals| {
        // What a guardian that died leaves becomes ours.
        set_child_subreaper(Some(getpid()))?;
        Ok(signals)
    });
    let signals = match ready {
        Ok(signals) => signals,
        Err(error) => {
            events.complain(&format!("it can't be started: {error}"));
            events.flush();
            return ExitCode::from(FAILED);
        }
    };
    // Most of the time it sleeps; where it may, it wakes before ordinary processes. Its threads and children don't
    // inherit that.
    let _ = leaseproof_proc::priority::raise_this_thread();
    let mut hold = Hold::new(settings, signals, events);
    loop {
        match hold.tenure() {
            End::Again => {}
            End::With(status) => {
                hold.flush();
                return ExitCode::from(status);
            }
        }
    }
}
