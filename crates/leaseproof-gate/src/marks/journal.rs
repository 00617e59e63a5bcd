//! The marks file: appended to, made durable, rewritten now and then. Blocking; one thread owns it.

use super::line::{HEADER, Line};
use leaseproof_model::name::Token;
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The file is rewritten once it has so many bytes, and four times what a rewritten one had.
const REWRITE_FROM: u64 = 1 << 20;

/// Why the marks can't be used.
#[derive(Debug, Error)]
pub enum MarksError {
    /// The system's word.
    #[error("the marks file {path} can't be {what}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// Why not.
        error: io::Error,
    },
    /// Another process has it.
    #[error("the marks file {0} is in use by another gate: two gates on one file would not see each other's writes")]
    InUse(PathBuf),
    /// It is another file.
    #[error("{0} is no marks file: its first line is not `leaseproof.marks/1`; name another, or a new one")]
    Foreign(PathBuf),
    /// Marks may be missing.
    #[error(
        "the marks file {path} is damaged in line {line}, and later lines are whole: marks may be missing, and a stale \
         write could pass; put a whole copy back, or, once no holder of an old token is left, begin with a new file"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Its line.
        line: usize,
    },
}

/// The marks on disk.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Held as long as this lives.
    _lock: File,
    sync: bool,
    marks: BTreeMap<Vec<u8>, Token>,
    bytes: u64,
    rewritten_bytes: u64,
    /// An append failed: what is in the file beyond is not known, so it is rewritten before anything is added.
    broken: bool,
}

/// What was found in the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// Every key's mark.
    pub marks: BTreeMap<Vec<u8>, Token>,
    /// Whether the gate before ended in order, or there was none.
    pub clean: bool,
}

impl Journal {
    /// Opens or makes the file. With `sync` a mark is on the disk before [`Journal::raise`] returns; without, it
    /// survives the process and not the machine.
    ///
    /// # Errors
    /// When it can't be used; nothing of it is lost then.
    pub fn open(path: &Path, sync: bool) -> Result<(Self, Found), MarksError> {
        let failed = |what| {
            move |error| MarksError::Io {
                path: path.to_owned(),
                what,
                error,
            }
        };
        let lock = lock(path)?;
        let bytes = match std::fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(failed("read"))?,
        };
        let (found, whole) = read(path, &bytes)?;
        let mut file = options()
            .create(true)
            .append(true)
            .open(path)
            .map_err(failed("opened"))?;
        // A torn tail must not join the next line.
        file.set_len(whole as u64).map_err(failed("cut to its whole lines"))?;
        let mut length = whole as u64;
        if whole == 0 {
            file.write_all(HEADER.as_bytes()).map_err(failed("begun"))?;
            length = HEADER.len() as u64;
        }
        if sync {
            file.sync_data().map_err(failed("made durable"))?;
            folder_of(path)
                .and_then(|folder| folder.sync_all())
                .map_err(failed("made durable"))?;
        }
        let journal = Self {
            path: path.to_owned(),
            file,
            _lock: lock,
            sync,
            marks: found.marks.clone(),
            bytes: length,
            rewritten_bytes: 0,
            broken: false,
        };
        Ok((journal, found))
    }

    /// Writes these marks down, all or none.
    ///
    /// # Errors
    /// When the disk refuses: then none of them counts, and none that counted before is lost.
    pub fn raise(&mut self, marks: &[(Vec<u8>, Token)]) -> io::Result<()> {
        let higher: Vec<(Vec<u8>, Token)> = marks
            .iter()
            .filter(|(key, token)| self.marks.get(key).is_none_or(|mark| mark < token))
            .cloned()
            .collect();
        if higher.is_empty() {
            return Ok(());
        }
        if self.broken {
            self.rewrite(&higher)?;
        } else {
            self.append(&Line::Marks(higher.clone()))?;
        }
        for (key, token) in higher {
            let mark = self.marks.entry(key).or_insert(token);
            *mark = (*mark).max(token);
        }
        if self.bytes > REWRITE_FROM && self.bytes > 4 * self.rewritten_bytes {
            // It failed to get smaller; what is in it counts all the same.
            let _ = self.rewrite(&[]);
        }
        Ok(())
    }

    /// Says that the gate ends with nothing under way.
    ///
    /// # Errors
    /// When it can't be written: the next start waits for what might be under way.
    pub fn end(&mut self) -> io::Result<()> {
        if self.broken {
            self.rewrite(&[])?;
        }
        self.append(&Line::Clean)
    }

    fn append(&mut self, line: &Line) -> io::Result<()> {
        let bytes = line.write();
        let written = self.file.write_all(&bytes).and_then(|()| self.make_durable(&self.file));
        if let Err(error) = written {
            // After a failed fsync the kernel may call the same pages clean: only a new file can be trusted. The
            // torn bytes go, where that is possible, so that a restart finds no half of a line.
            let _ = self.file.set_len(self.bytes);
            self.broken = true;
            return Err(error);
        }
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn make_durable(&self, file: &File) -> io::Result<()> {
        if self.sync { file.sync_data() } else { Ok(()) }
    }

    /// Writes all marks, and these, to a new file that takes the place of the old one.
    fn rewrite(&mut self, more: &[(Vec<u8>, Token)]) -> io::Result<()> {
        let mut all = self.marks.clone();
        for (key, token) in more {
            let mark = all.entry(key.clone()).or_insert(*token);
            *mark = (*mark).max(*token);
        }
        let mut text = HEADER.as_bytes().to_vec();
        let all: Vec<(Vec<u8>, Token)> = all.into_iter().collect();
        for batch in all.chunks(1000) {
            text.extend(Line::Marks(batch.to_vec()).write());
        }
        let new = beside(&self.path, ".new");
        let written = (|| {
            let mut file = options().create(true).truncate(true).write(true).open(&new)?;
            file.write_all(&text)?;
            self.make_durable(&file)?;
            std::fs::rename(&new, &self.path)?;
            Ok(())
        })();
        if let Err(error) = written {
            let _ = std::fs::remove_file(&new);
            return Err(error);
        }
        // From here on the new file is the one that a restart reads. Until it is open for more, and its name is
        // durable, nothing counts that is only in it.
        self.broken = true;
        let file = options().append(true).open(&self.path)?;
        if self.sync {
            folder_of(&self.path)?.sync_all()?;
        }
        self.file = file;
        self.bytes = text.len() as u64;
        self.rewritten_bytes = self.bytes;
        self.broken = false;
        Ok(())
    }
}

/// The marks in these bytes, and how many of the bytes are whole lines.
fn read(path: &Path, bytes: &[u8]) -> Result<(Found, usize), MarksError> {
    let mut found = Found {
        marks: BTreeMap::new(),
        clean: true,
    };
    if HEADER.as_bytes().starts_with(bytes) && bytes.len() < HEADER.len() {
        // New, or torn at its very begin, before any mark could be in it.
        return Ok((found, 0));
    }
    let Some(body) = bytes.strip_prefix(HEADER.as_bytes()) else {
        return Err(MarksError::Foreign(path.to_owned()));
    };
    let mut whole = HEADER.len();
    let mut torn = None;
    for (index, line) in body.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let read = line.strip_suffix(b"\n").and_then(Line::read);
        match (read, torn) {
            // A line is appended only after the one before it was durable: damage in front of a whole line is no
            // torn tail.
            (Some(_), Some(line)) => {
                return Err(MarksError::Damaged {
                    path: path.to_owned(),
                    line,
                });
            }
            (None, _) => torn = torn.or(Some(index + 2)),
            (Some(Line::Clean), None) => {
                found.clean = true;
                whole += line.len();
            }
            (Some(Line::Marks(marks)), None) => {
                found.clean = false;
                whole += line.len();
                for (key, token) in marks {
                    let mark = found.marks.entry(key).or_insert(token);
                    *mark = (*mark).max(token);
                }
            }
        }
    }
    found.clean &= torn.is_none();
    Ok((found, whole))
}

fn lock(path: &Path) -> Result<File, MarksError> {
    let beside = beside(path, ".lock");
    let file = options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&beside)
        .map_err(|error| MarksError::Io {
            path: beside,
            what: "locked",
            error,
        })?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| MarksError::InUse(path.to_owned()))?;
    Ok(file)
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

fn folder_of(path: &Path) -> io::Result<File> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))
}

#[cfg(test)]
mod tests;
