//! The verdict as a file for the node exporter: whole or not at all, since it is read at any moment.

use leaseproof_model::verdict::RunVerdict;
use leaseproof_report::metrics;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Whether the file can be written when the time comes; nothing is left behind.
pub fn can_write(path: &Path) -> io::Result<()> {
    let part = part_of(path)?;
    create(&part)?;
    fs::remove_file(part)
}

/// Writes the file anew, by renaming.
pub fn write(path: &Path, verdict: &RunVerdict) -> io::Result<()> {
    let finished = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0.0, |span| span.as_secs_f64());
    let text = metrics::render(verdict, finished);
    let part = part_of(path)?;
    let written = create(&part).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        // The node exporter is another user.
        file.set_permissions(Permissions::from_mode(0o644))?;
        file.sync_all()?;
        fs::rename(&part, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}

/// What can't be done, and what to do about it.
pub fn error(path: &Path, error: &io::Error) -> String {
    format!(
        "the metrics file {} can't be written: {error}\n  name a file in a folder that is there with --metrics FILE",
        path.display()
    )
}

/// In the same folder, so that the rename is one step; no name that the collector reads (`*.prom`).
fn part_of(path: &Path) -> io::Result<PathBuf> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let part = format!(".{}.{}.part", name.to_string_lossy(), std::process::id());
    Ok(path.with_file_name(part))
}

fn create(part: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(part)
}
