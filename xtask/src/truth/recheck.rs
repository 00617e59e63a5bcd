//! The check on the check: kept bundles are judged again without the rule that found the flaw.

use super::gist::codes;
use leaseproof_model::verdict::RunVerdict;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A right run's bundle, to be judged again.
pub struct Kept {
    /// What it is counted under.
    pub label: String,
    /// Where it is.
    pub folder: PathBuf,
    /// The codes that were required of it.
    pub required: &'static [&'static str],
}

/// With a required rule switched off, the flaw must no longer be found by it: a rule that is found
/// without being asked could not fail.
pub fn all(program: &Path, kept: &[Kept]) -> Vec<String> {
    let mut blind = Vec::new();
    for it in kept {
        let Some(bundle) = bundle_in(&it.folder) else {
            blind.push(format!("{}: its bundle is gone", it.label));
            continue;
        };
        for code in it.required {
            let output = Command::new(program)
                .args(["verify", "--json", "--judge"])
                .arg(&bundle)
                .args(["--without", code])
                .output();
            let again: Option<RunVerdict> = output
                .ok()
                .and_then(|output| serde_json::from_slice(&output.stdout).ok());
            match again {
                Some(verdict) if !codes(&verdict).contains(*code) => {}
                Some(_) => blind.push(format!("{}: {code} is found although it is switched off", it.label)),
                None => blind.push(format!("{}: the kept bundle can't be judged again", it.label)),
            }
        }
    }
    blind
}

fn bundle_in(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?;
    entries
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.join("events.jsonl").is_file())
}
