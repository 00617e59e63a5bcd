//! The binaries that are examined: release builds of this tree.

use std::path::PathBuf;
use std::process::Command;

/// Builds the tool and says where it is.
pub fn leaseproof() -> Result<PathBuf, String> {
    built(&["--package", "leaseproof-cli"], "leaseproof")
}

/// Builds the example owner of the library, with its flaws, and says where it is.
pub fn library_owner() -> Result<PathBuf, String> {
    let features = "flaws,sqlite,redis,etcd,postgres,zookeeper,consul";
    let words = ["--package", "leaseproof", "--example", "owner", "--features", features];
    built(&words, "examples/owner")
}

fn built(words: &[&str], name: &str) -> Result<PathBuf, String> {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release"])
        .args(words)
        .status()
        .map_err(|error| format!("cargo can't be run: {error}"))?;
    if !built.success() {
        return Err("the release build failed".to_owned());
    }
    // This very program was built into the same folder.
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    Ok(own.with_file_name(name))
}
