//! `leaseproof undo`: heals what a killed run may have left.

use super::{print, wrong};
use crate::args::STANDARD_OUT;
use leaseproof_fault::warden::Healed;
use leaseproof_lab::{left, prepare};
use leaseproof_model::verdict::Verdict;
use std::path::Path;
use std::process::ExitCode;

/// Heals every journal below the folder of runs; with a store's URL also removes keys from it.
pub fn run(out: &Path, store: Option<&str>) -> ExitCode {
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
    match undo(out, store) {
        Ok((said, _)) if said.is_empty() => {
            print("nothing to undo\n");
            ExitCode::SUCCESS
        }
        Ok((said, whole)) => {
            print(&said);
            if whole {
                ExitCode::SUCCESS
            } else {
                // Its journal stays, so that it can be tried again.
                ExitCode::from(Verdict::CannotTell.exit_status())
            }
        }
        Err(says) => wrong(&says),
    }
}

/// What was done, a line each, and whether it was all that could be.
fn undo(out: &Path, store: Option<&str>) -> Result<(String, bool), String> {
    let healed = prepare::heal(out)?;
    let whole = !healed.iter().any(|it| matches!(it, Healed::Failed(_)));
    let mut said: Vec<String> = healed.iter().map(ToString::to_string).collect();
    if let Some(url) = store {
        // Said first: what was healed stays so, whatever the store answers.
        print(&lines(&said));
        said = left::remove(out, url)?;
        if said.is_empty() && !healed.is_empty() {
            said.push("no keys were left in a store".to_owned());
        }
        return Ok((lines(&said), whole));
    }
    said.extend(left::told(&left::below(out)?, out));
    Ok((lines(&said), whole))
}

fn lines(said: &[String]) -> String {
    said.iter().map(|line| format!("{line}\n")).collect()
}
