//! Faults on real processes: each applied, confirmed and undone; and nothing left behind, whoever is
//! killed. No case asserts how long something took.

mod cases;
mod clock;
mod left_behind;
mod relays;
mod rig;
mod victim;

use rustix::process::{getpid, getsid};
use std::env;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

/// One case: its name, and what panics when it does not hold.
type Case = (&'static str, fn());

fn main() -> ExitCode {
    let mut args = env::args_os();
    args.next();
    match args.next().as_deref().and_then(|word| word.to_str()) {
        Some(leaseproof_fault::warden::WORD) => leaseproof_fault::warden::main(args),
        Some(leaseproof_fault::launch::STUB_WORD) => {
            // It was never in the terminal's group: a Ctrl-Z while it starts would have stopped it for good.
            assert_eq!(getsid(None), Ok(getpid()), "a stub begins in a session of its own");
            leaseproof_fault::launch::stub_main(args)
        }
        Some(victim::WORD) => victim::main(args),
        // What a test runner asks of every test binary.
        Some("--list") => ExitCode::SUCCESS,
        filter => run(filter.filter(|filter| !filter.starts_with('-'))),
    }
}

fn run(filter: Option<&str>) -> ExitCode {
    let cases: Vec<Case> = [cases::ALL, clock::ALL, left_behind::ALL, relays::ALL].concat();
    let mut failed = 0;
    for (name, case) in cases {
        if filter.is_some_and(|filter| !name.contains(filter)) {
            continue;
        }
        let held = panic::catch_unwind(AssertUnwindSafe(case)).is_ok();
        println!("{name} ... {}", if held { "ok" } else { "FAILED" });
        failed += u32::from(!held);
    }
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
