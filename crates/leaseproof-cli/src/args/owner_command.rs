//! The owner's command without the `--` before it: what was meant.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A word that `verify` doesn't know may be one of the owner's.
pub fn explained(mut error: Error, command: Command, given: &[OsString]) -> Error {
    if let Some(meant) = meant(&error, command, given) {
        let tip = format!("the owner's command comes after `--`: {meant}").into();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

/// Whether a path is that of a plan, by its name.
pub fn is_plan(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "toml")
}

fn meant(error: &Error, command: Command, given: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let words: Vec<String> = given.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let is_verify = words.get(1).is_some_and(|verb| verb == "verify");
    if error.kind() != ErrorKind::UnknownArgument || !is_verify || words.iter().any(|word| word == "--") {
        return None;
    }
    let at = words
        .iter()
        .position(|it| it == word || it.starts_with(&format!("{word}=")))?;
    let matches = command.ignore_errors(true).try_get_matches_from(given).ok()?;
    let plan: &PathBuf = matches.subcommand_matches("verify")?.get_one("plan")?;
    // What was taken for the plan is the program.
    let program = match is_plan(plan) {
        true => (!word.starts_with('-')).then_some(at)?,
        false => words[..at].iter().rposition(|it| Path::new(it) == plan)?,
    };
    let (before, owner) = (words[1..program].join(" "), words[program..].join(" "));
    Some(format!("leaseproof {before} -- {owner}"))
}
