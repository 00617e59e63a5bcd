//! The warden's journal, and healing from it.
//!
//! One file a run, JSON lines, mode 0600: a header that names boot, run and warden, then the
//! requests. A process in it is matched by pid, start tick and boot, never by a name.

use crate::warden::protocol::{Header, JOURNAL_SCHEMA, Request};
use crate::warden::wards::Wards;
use leaseproof_proc::identity;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

pub use crate::warden::{Healed, Traces};

/// How long a warden whose run is gone may take, before its journal is healed beside it.
const WARDEN_AT_WORK: Duration = Duration::from_secs(10);

/// A journal without a first line is left alone while it is this young.
const JUST_MADE: Duration = Duration::from_secs(30);

const PREFIX: &str = "warden-";
/// Notes of keys in servers.
const STORE_PREFIX: &str = "store-";
const SUFFIX: &str = ".jsonl";

/// A journal being written.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    pub(crate) fn create(dir: &Path, header: &Header) -> io::Result<Self> {
        let path = dir.join(format!("{PREFIX}{}{SUFFIX}", header.mark));
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        let mut journal = Self { path, file };
        journal.line(header)?;
        Ok(journal)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn write(&mut self, request: &Request) -> io::Result<()> {
        match request {
            Request::Hello { .. } | Request::UndoAll | Request::EndAll | Request::Ping => Ok(()),
            _ => self.line(request),
        }
    }

    /// Removes it, once all is made good that can be; keys in servers are written down beside it.
    pub(crate) fn close(self, wards: &Wards) -> io::Result<()> {
        close(&self.path, wards)
    }

    /// One write for one line: a kill leaves whole lines, but perhaps the last.
    fn line(&mut self, entry: &impl serde::Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        self.file.write_all(&line)
    }
}

/// Heals what the journals in `dir` say was left, and removes them. A run that is still alive is
/// left alone. Answers what was done; nothing when there was nothing to heal.
///
/// # Errors
/// When the directory can't be read (one that isn't there holds no journals).
pub fn undo_all(dir: &Path) -> io::Result<Vec<Healed>> {
    let mut healed = Vec::new();
    for path in named(dir, PREFIX)? {
        match heal(&path) {
            Ok(mut done) => healed.append(&mut done),
            // Its warden has removed it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => healed.push(Healed::Failed(format!("journal {}: {error}", path.display()))),
        }
    }
    Ok(healed)
}

/// Keys that runs which are gone may have left in the store of a server.
#[derive(Debug)]
pub struct LeftInStore {
    path: PathBuf,
    /// What each of their scenarios made.
    pub traces: Vec<Traces>,
}

impl LeftInStore {
    /// Forgets them, since they are gone from the store.
    ///
    /// # Errors
    /// When the note of them can't be removed.
    pub fn forget(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// What runs whose journals were in `dir`, and are healed, may have left in the stores of servers.
///
/// # Errors
/// When the directory or a note in it can't be read (one that isn't there holds none).
pub fn left_in_stores(dir: &Path) -> io::Result<Vec<LeftInStore>> {
    let mut left = Vec::new();
    for path in named(dir, STORE_PREFIX)? {
        let text = fs::read_to_string(&path)?;
        let traces = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        left.push(LeftInStore { path, traces });
    }
    Ok(left)
}

/// The files of `dir` with this prefix, in order.
fn named(dir: &Path, prefix: &str) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with(prefix) && name.ends_with(SUFFIX) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn close(path: &Path, wards: &Wards) -> io::Result<()> {
    let mut lines = Vec::new();
    for traces in wards.traces() {
        serde_json::to_writer(&mut lines, traces)?;
        lines.push(b'\n');
    }
    if !lines.is_empty() {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let note = path.with_file_name(name.replacen(PREFIX, STORE_PREFIX, 1));
        // Whole or not at all: until then the journal has it.
        let part = note.with_extension("part");
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&part)?;
        file.write_all(&lines)?;
        fs::rename(&part, &note)?;
    }
    fs::remove_file(path)
}

fn heal(path: &Path) -> io::Result<Vec<Healed>> {
    let text = fs::read_to_string(path)?;
    let mut lines = text.lines();
    // A warden killed before its first line was whole had answered nothing, so nothing was begun.
    let Some(header) = lines.next().and_then(|line| serde_json::from_str::<Header>(line).ok()) else {
        // A run that starts at this moment has made its journal and not yet written to it.
        let age = fs::metadata(path)?.modified().ok().and_then(|made| made.elapsed().ok());
        if age.is_none_or(|age| age < JUST_MADE) {
            return Ok(Vec::new());
        }
        return if text.contains('\n') {
            Err(io::Error::new(io::ErrorKind::InvalidData, "it has an unknown form"))
        } else {
            fs::remove_file(path)?;
            Ok(Vec::new())
        };
    };
    if header.schema != JOURNAL_SCHEMA {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("its schema {} is not known", header.schema),
        ));
    }
    if header.boot_id == identity::boot_id()? {
        if identity::is_alive(header.run) {
            return Ok(Vec::new());
        }
        let patience = Instant::now() + WARDEN_AT_WORK;
        while identity::is_alive(header.warden) && Instant::now() < patience {
            thread::sleep(Duration::from_millis(10));
        }
        let mut wards = wards(path, header)?;
        let mut healed = wards.end_all();
        healed.extend(wards.sweep());
        finish(path, &wards, healed)
    } else {
        // Processes and control groups of another boot are gone; what was made in stores is not.
        let mut wards = wards(path, header)?;
        let healed = wards.sweep();
        finish(path, &wards, healed)
    }
}

fn finish(path: &Path, wards: &Wards, healed: Vec<Healed>) -> io::Result<Vec<Healed>> {
    if !healed.iter().any(|one| matches!(one, Healed::Failed(_))) {
        close(path, wards)?;
    }
    Ok(healed)
}

/// What a journal adds up to.
fn wards(path: &Path, header: Header) -> io::Result<Wards> {
    let text = fs::read_to_string(path)?;
    let mut wards = Wards::new(header.mark, header.run);
    for line in text.lines().skip(1) {
        // The last line may be cut off: it was never answered, so nothing came of it.
        let Ok(request) = serde_json::from_str::<Request>(line) else {
            continue;
        };
        // What can't be learnt refers to a fault that is cleared.
        let _ = wards.learn(&request);
    }
    Ok(wards)
}
