//! `leaseproof explain [CODE]`.

use super::{print, wrong};
use leaseproof_lab::plan::nearest;
use leaseproof_model::rule;
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
        None => wrong(&format!(
            "`{code}` is no rule{}: `leaseproof explain` lists them",
            meant(code).map_or_else(String::new, |it| format!(" (did you mean {it}?)"))
        )),
    }
}

/// The rule that was meant: by its number, or by a name that is near.
fn meant(code: &str) -> Option<&'static str> {
    let code = code.trim().to_lowercase();
    let number = code
        .strip_prefix("lp")
        .unwrap_or(&code)
        .trim_start_matches(['-', '_', ' ']);
    match number.parse::<u32>() {
        Ok(number) => rule::find(&format!("LP{number:03}")).map(|it| it.code),
        Err(_) => nearest(&code, rule::ALL.iter().map(|it| it.name)),
    }
}
