//! The `leaseproof` command: arguments in, faces out. No logic of its own.
//!
//! Exit status, the same for every verb: 0 proven (or nothing wrong, with the evidence to say so),
//! 1 violated, 2 the call or the plan is wrong, 3 cannot tell.

mod args;
mod faces;
mod verbs;

use std::process::ExitCode;

fn main() -> ExitCode {
    // The hidden roles come first and touch nothing of the command's own: a stub must stay small,
    // since an owner starts from it.
    let mut words = std::env::args_os().skip(1);
    match words.next().as_deref().and_then(std::ffi::OsStr::to_str) {
        Some("__warden") => leaseproof_fault::warden::main(words),
        Some("__stub") => leaseproof_fault::launch::stub_main(words),
        Some(leaseproof_hold::guardian::WORD) => leaseproof_hold::guardian::main(words),
        Some(leaseproof_hold::start::WORD) => leaseproof_hold::start::main(words),
        Some("__witness") => leaseproof_witness::main(),
        _ => verbs::dispatch(args::parse()),
    }
}
