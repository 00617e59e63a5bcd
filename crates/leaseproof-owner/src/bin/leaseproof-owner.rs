//! The reference owner as a program of its own: what the tests start, stop and end.

use leaseproof_owner::{Given, Settings};
use std::process::ExitCode;

fn main() -> ExitCode {
    let given = Given {
        exit_on_loss: std::env::args().any(|argument| argument == "--exit-on-loss"),
        ..Given::default()
    };
    match Settings::from_env_and(given) {
        Ok(settings) => leaseproof_owner::main(settings),
        Err(error) => {
            eprintln!("leaseproof owner: {error}");
            ExitCode::from(2)
        }
    }
}
