//! Where bytes come from: files, folders, packed files, the standard input.

pub(crate) mod lines;

use crate::evidence::{Problem, ProblemKind};
use crate::input::Input;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One file to read.
pub(crate) struct Source {
    pub(crate) name: Arc<str>,
    pub(crate) origin: Origin,
    /// Its size, where it is known and the file is not packed.
    pub(crate) size: Option<u64>,
    /// The year in which it was last written.
    pub(crate) year: Option<i16>,
}

/// Where its bytes are.
pub(crate) enum Origin {
    Path(PathBuf),
    Bytes(Arc<[u8]>),
    Stdin,
}

/// All that the inputs are.
#[derive(Default)]
pub(crate) struct Sources {
    pub(crate) files: Vec<Source>,
    pub(crate) bundles: Vec<PathBuf>,
    pub(crate) problems: Vec<Problem>,
}

impl Sources {
    pub(crate) fn of(inputs: &[Input]) -> Self {
        let mut sources = Self::default();
        for input in inputs {
            match input {
                Input::Path(path) => sources.path(path, true),
                Input::Bytes { name, bytes } => sources.files.push(Source {
                    name: Arc::clone(name),
                    size: Some(bytes.len() as u64),
                    origin: Origin::Bytes(Arc::clone(bytes)),
                    year: None,
                }),
                Input::Stdin => sources.files.push(Source {
                    name: Arc::from("-"),
                    origin: Origin::Stdin,
                    size: None,
                    year: None,
                }),
            }
        }
        sources
    }

    fn unreadable(&mut self, path: &Path, error: &io::Error) {
        self.problems.push(Problem {
            file: None,
            line: None,
            says: format!("{} can't be read: {error}", path.display()),
            kind: ProblemKind::Unreadable,
        });
    }

    fn path(&mut self, path: &Path, given: bool) {
        let about = match if given {
            std::fs::metadata(path)
        } else {
            std::fs::symlink_metadata(path)
        } {
            Ok(about) => about,
            Err(error) => return self.unreadable(path, &error),
        };
        if about.is_dir() {
            return self.folder(path);
        }
        // What is no plain file (a socket, a link inside a folder) is read only where it was named itself: a pipe may be.
        if !about.is_file() && !given {
            return;
        }
        let year = about.modified().ok().and_then(|at| {
            let at = jiff::Timestamp::try_from(at).ok()?;
            Some(at.to_zoned_datetime(jiff::tz::TimeZone::UTC).year())
        });
        self.files.push(Source {
            name: Arc::from(path.to_string_lossy().as_ref()),
            origin: Origin::Path(path.to_path_buf()),
            size: about.is_file().then_some(about.len()),
            year,
        });
    }

    fn folder(&mut self, path: &Path) {
        let entries = match std::fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => return self.unreadable(path, &error),
        };
        let mut paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
        paths.sort();
        let named = |name: &str| {
            paths
                .iter()
                .any(|path| path.file_name().is_some_and(|file| file == name))
        };
        // A bundle's events go to the judge as they are; its other files say the same again.
        if named("events.jsonl") {
            self.bundles.push(path.to_path_buf());
            return;
        }
        for path in paths {
            let hidden = path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if !hidden {
                self.path(&path, false);
            }
        }
    }
}

/// How a file is packed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Packed {
    No,
    Gzip,
    Zstd,
}

/// A file, unpacked as it is read.
pub(crate) struct Opened {
    pub(crate) reader: Box<dyn BufRead>,
    pub(crate) packed: Packed,
}

const BUFFER: usize = 1 << 20;

impl Source {
    /// Opens it; packed files are known by their first bytes, not by their names.
    pub(crate) fn open(&self) -> io::Result<Opened> {
        let plain: Box<dyn Read> = match &self.origin {
            Origin::Path(path) => Box::new(File::open(path)?),
            Origin::Bytes(bytes) => Box::new(Cursor::new(Arc::clone(bytes))),
            Origin::Stdin => Box::new(io::stdin()),
        };
        let mut reader = BufReader::with_capacity(BUFFER, plain);
        let head = reader.fill_buf()?;
        if head.starts_with(&[0x1f, 0x8b]) {
            let unpacked = flate2::bufread::MultiGzDecoder::new(reader);
            return Ok(Opened {
                reader: Box::new(BufReader::with_capacity(BUFFER, unpacked)),
                packed: Packed::Gzip,
            });
        }
        if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            let unpacked = ruzstd::decoding::StreamingDecoder::new(reader)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
            return Ok(Opened {
                reader: Box::new(BufReader::with_capacity(BUFFER, unpacked)),
                packed: Packed::Zstd,
            });
        }
        Ok(Opened {
            reader: Box::new(reader),
            packed: Packed::No,
        })
    }
}
