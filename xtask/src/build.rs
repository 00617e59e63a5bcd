//! The binary that is examined: the release build of this tree.

use std::path::PathBuf;
use std::process::Command;

/// Builds it and says where it is.
pub fn leaseproof() -> Result<PathBuf, String> {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--package", "leaseproof-cli"])
        .status()
        .map_err(|error| format!("cargo can't be run: {error}"))?;
    if !built.success() {
        return Err("the release build failed".to_owned());
    }
    // This very program was built into the same folder.
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    Ok(own.with_file_name("leaseproof"))
}
