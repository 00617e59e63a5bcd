//! `leaseproof explain [CODE]`.

use super::{print, wrong};
use std::process::ExitCode;

/// Prints a rule's page, or the list.
pub fn run(code: Option<&str>) -> ExitCode {
    let Some(code) = code else {
        print(&leaseproof_report::explain::list());
        return ExitCode::SUCCESS;
    };
    match leaseproof_report::explain::page(code) {
        Some(page) => {
            print(page);
            ExitCode::SUCCESS
        }
        None => wrong(&format!("`{code}` is no rule: `leaseproof explain` lists them")),
    }
}
