//! `leaseproof undo`: heals what a killed run may have left.

use super::{print, wrong};
use crate::args::STANDARD_OUT;
use leaseproof_fault::warden::Healed;
use leaseproof_model::verdict::Verdict;
use std::path::Path;
use std::process::ExitCode;

/// Heals every journal below the folder of runs.
pub fn run(out: &Path) -> ExitCode {
    if !out.is_dir() {
        // Nothing ran here; a folder that was named is a slip of the pen, and a stopped owner may wait elsewhere.
        if out == Path::new(STANDARD_OUT) {
            print(&format!("nothing to undo: there is no folder {STANDARD_OUT} here\n"));
            return ExitCode::SUCCESS;
        }
        return wrong(&format!(
            "the folder {} is not there: name the one that the run had as --out",
            out.display()
        ));
    }
    match leaseproof_lab::prepare::heal(out) {
        Ok(healed) if healed.is_empty() => {
            print("nothing to undo\n");
            ExitCode::SUCCESS
        }
        Ok(healed) => {
            for it in &healed {
                print(&format!("{it}\n"));
            }
            if healed.iter().any(|it| matches!(it, Healed::Failed(_))) {
                // Its journal stays, so that it can be tried again.
                ExitCode::from(Verdict::CannotTell.exit_status())
            } else {
                ExitCode::SUCCESS
            }
        }
        Err(says) => wrong(&says),
    }
}
