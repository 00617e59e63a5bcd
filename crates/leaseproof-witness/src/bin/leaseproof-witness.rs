//! The witness as a program of its own: what the tests start and kill.

use std::process::ExitCode;

fn main() -> ExitCode {
    leaseproof_witness::main()
}
