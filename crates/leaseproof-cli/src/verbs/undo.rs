//! `leaseproof undo`: heals what a killed run may have left.

use super::{print, wrong};
use std::path::Path;
use std::process::ExitCode;

/// Heals every journal below the folder of runs.
pub fn run(out: &Path) -> ExitCode {
    match leaseproof_lab::prepare::heal(out) {
        Ok(healed) if healed.is_empty() => {
            print("nothing to undo\n");
            ExitCode::SUCCESS
        }
        Ok(healed) => {
            for line in healed {
                print(&format!("{line}\n"));
            }
            ExitCode::SUCCESS
        }
        Err(says) => wrong(&says),
    }
}
