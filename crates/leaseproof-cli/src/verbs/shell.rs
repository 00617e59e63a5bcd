//! Shell completions and man pages, from the one definition of the arguments.

use super::wrong;
use crate::args;
use std::path::Path;
use std::process::ExitCode;

/// Prints completions.
pub fn completions(shell: clap_complete::Shell) -> ExitCode {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "leaseproof", &mut text);
    super::print(&String::from_utf8_lossy(&text));
    ExitCode::SUCCESS
}

/// Writes `leaseproof.1`, `leaseproof-verify.1` and so on.
pub fn man(dir: &Path) -> ExitCode {
    let written = std::fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(args::command(), dir));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => wrong(&format!("the folder {} can't be written: {error}", dir.display())),
    }
}
