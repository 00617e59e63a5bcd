//! The folder of a run: `.leaseproof/runs/<id>/`, 0700, its files 0600, all created before the run starts.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A folder that can't be written.
#[derive(Debug, thiserror::Error)]
#[error("the output folder {path} can't be used: {why}\n  name another with --out DIR")]
pub struct BundleError {
    /// Which.
    pub path: String,
    /// The system's words.
    pub why: String,
}

/// The folder of one run.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

/// What a run needs at least; less is found before anything starts, not in the middle.
const ROOM: usize = 1 << 20;

impl Folder {
    /// Creates `<out>/<run>` and every file that the run will write.
    ///
    /// # Errors
    /// When the folder or a file can't be created, or the disk has no room for a first megabyte.
    pub fn create(out: &Path, run: &str) -> Result<Self, BundleError> {
        let path = out.join(run);
        let fail = |error: std::io::Error| BundleError {
            path: out.display().to_string(),
            why: error.to_string(),
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)
            .map_err(fail)?;
        let folder = Self { path };
        if let Err(error) = folder.try_out() {
            // A run that is refused leaves nothing behind.
            folder.discard();
            return Err(fail(error));
        }
        Ok(folder)
    }

    /// Creates the files, and tries by writing whether there is room: quotas and full disks show only then.
    fn try_out(&self) -> std::io::Result<()> {
        for name in ["events.jsonl", "verdict.json", "junit.xml", "report.html"] {
            self.file(name)?;
        }
        let mut file = self.file(".room")?;
        let tried = file.write_all(&vec![0; ROOM]).and_then(|()| file.sync_all());
        let _ = std::fs::remove_file(self.path.join(".room"));
        tried
    }

    /// Removes the folder of a run that did not start.
    pub fn discard(&self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file of the folder for writing, empty, mode 0600.
    ///
    /// # Errors
    /// As the system says.
    pub fn file(&self, name: &str) -> std::io::Result<File> {
        OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(true)
            .mode(0o600)
            .open(self.path.join(name))
    }

    /// A folder below it, 0700.
    ///
    /// # Errors
    /// As the system says.
    pub fn room(&self, name: &str) -> std::io::Result<PathBuf> {
        let path = self.path.join(name);
        DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        Ok(path)
    }

    /// Writes one document whole: to a file beside it, then renamed over it, so that a reader never
    /// sees half of it.
    ///
    /// # Errors
    /// As the system says.
    pub fn write(&self, name: &str, content: &[u8]) -> std::io::Result<()> {
        let part = format!("{name}.part");
        self.file(&part)?.write_all(content)?;
        std::fs::rename(self.path.join(&part), self.path.join(name))
    }
}
