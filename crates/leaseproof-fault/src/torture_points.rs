//! A test hook: the named points at which the torture harness kills the run.
//!
//! With `LEASEPROOF_DIE_AT=<point>` in its environment, the process that uses this crate sends
//! itself SIGKILL on reaching that point (`<point>:3` on reaching it the third time). It is always
//! compiled, so that what is tortured is what is shipped; the variable is taken from no plan and is
//! not given to owners.

use rustix::process::{Signal, getpid, kill_process};
use std::collections::BTreeMap;
use std::env;
use std::sync::Mutex;

/// The variable.
pub const VARIABLE: &str = "LEASEPROOF_DIE_AT";

/// The warden was spawned and has not answered.
pub const WARDEN_STARTING: &str = "warden-starting";
/// An owner's stub was spawned and the warden doesn't know it.
pub const STUB_SPAWNED: &str = "stub-spawned";
/// The warden knows the stub; it has not become the owner.
pub const OWNER_REGISTERED: &str = "owner-registered";
/// The owner runs.
pub const OWNER_STARTED: &str = "owner-started";
/// A fault is registered and not begun.
pub const REGISTERED: &str = "registered";
/// A part of a fault is applied.
pub const APPLYING: &str = "applying";
/// A fault is applied and confirmed.
pub const APPLIED: &str = "applied";
/// A fault is about to be undone.
pub const UNDUE: &str = "undue";
/// A part of a fault is undone.
pub const UNDOING: &str = "undoing";
/// A fault is undone; the warden hasn't been told.
pub const UNDONE: &str = "undone";
/// The run is over; the warden hasn't been told.
pub const FINISHING: &str = "finishing";

/// All of them, in run order.
pub const ALL: &[&str] = &[
    WARDEN_STARTING,
    STUB_SPAWNED,
    OWNER_REGISTERED,
    OWNER_STARTED,
    REGISTERED,
    APPLYING,
    APPLIED,
    UNDUE,
    UNDOING,
    UNDONE,
    FINISHING,
];

static REACHED: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());

/// Dies here, if that was asked for.
pub fn reach(point: &str) {
    let Ok(asked) = env::var(VARIABLE) else { return };
    let (name, count) = match asked.split_once(':') {
        Some((name, count)) => (name, count.parse().unwrap_or(1)),
        None => (asked.as_str(), 1),
    };
    if name != point {
        return;
    }
    let Ok(mut reached) = REACHED.lock() else { return };
    let times = reached.entry(point.to_owned()).or_insert(0);
    *times += 1;
    if *times == count {
        let _ = kill_process(getpid(), Signal::KILL);
    }
}
