//! What a run makes in a store, and what of it can be removed without the run.
//!
//! The file of an embedded store is the run's own and can go. A server has to be connected to, and
//! passwords are in no journal: of its keys only the names are kept, for `leaseproof undo --store`.

use super::Healed;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What a database leaves beside its file.
const BESIDE: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// What one scenario makes in a store.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Traces {
    /// The store's URL, without its password.
    pub store: String,
    /// The file, where the store is one that this scenario has for itself.
    pub file: Option<PathBuf>,
    /// The keys, the lease's own first. Each may have a token counter.
    pub keys: Vec<String>,
}

impl Traces {
    /// By what they are known.
    pub(crate) fn name(&self) -> &str {
        self.keys.first().map_or("", String::as_str)
    }

    /// Removes the files; `None` if there are none to remove, since the store is a server.
    pub(crate) fn remove_files(&self) -> Option<Vec<Healed>> {
        let file = self.file.as_deref()?;
        let mut healed = Vec::new();
        for end in BESIDE {
            let mut path = file.as_os_str().to_owned();
            path.push(end);
            match fs::remove_file(&path) {
                Ok(()) if end.is_empty() => healed.push(Healed::FileRemoved(file.to_owned())),
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let path = Path::new(&path).display();
                    healed.push(Healed::Failed(format!("store file {path}: {error}")));
                }
            }
        }
        Some(healed)
    }
}
