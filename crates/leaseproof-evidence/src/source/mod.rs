//! Where bytes come from: files, folders, packed files, archives, the standard input.

pub(crate) mod archive;
pub(crate) mod lines;
pub(crate) mod wide;

use crate::bundle::{self, Bundle};
use crate::evidence::{Problem, ProblemKind};
use crate::input::Input;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One file to read.
pub(crate) struct Source {
    pub(crate) name: Arc<str>,
    pub(crate) origin: Origin,
    /// Its size as it lies there, packed or not, where it is known.
    pub(crate) size: Option<u64>,
    /// The year in which it was last written.
    pub(crate) year: Option<i16>,
    /// Where its bytes are counted as they come, packed or not.
    pub(crate) taken: Taken,
}

/// Bytes that were taken from where they lie.
#[derive(Clone, Default)]
pub(crate) struct Taken(Arc<AtomicU64>);

impl Taken {
    pub(crate) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn of<R>(&self, inner: R) -> Counted<R> {
        Counted {
            inner,
            taken: self.clone(),
        }
    }
}

struct Counted<R> {
    inner: R,
    taken: Taken,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.taken.0.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Where its bytes are.
pub(crate) enum Origin {
    Path(PathBuf),
    Bytes(Arc<[u8]>),
    Stdin,
    /// A file of an archive, and which of its entries.
    Entry(Arc<Source>, usize),
}

/// All that the inputs are.
#[derive(Default)]
pub(crate) struct Sources {
    pub(crate) files: Vec<Source>,
    pub(crate) bundles: Vec<PathBuf>,
    pub(crate) problems: Vec<Problem>,
    /// Of all of them.
    pub(crate) taken: Taken,
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
                    taken: sources.taken.clone(),
                }),
                Input::Stdin => sources.files.push(Source {
                    name: Arc::from("-"),
                    origin: Origin::Stdin,
                    size: None,
                    year: None,
                    taken: sources.taken.clone(),
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
            taken: self.taken.clone(),
        });
    }

    fn folder(&mut self, path: &Path) {
        let entries = match std::fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => return self.unreadable(path, &error),
        };
        let mut paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
        paths.sort();
        match bundle::of(path) {
            // Its events go to the judge as they are; its other files say the same again.
            Some(Bundle::Run) => {
                let says = format!(
                    "{} is a kept run of verify, which is judged by itself, and was not read: leaseproof diagnose {}",
                    path.display(),
                    path.display()
                );
                self.problems.push(Problem {
                    file: None,
                    line: None,
                    says,
                    kind: ProblemKind::Other,
                });
                self.bundles.push(path.to_path_buf());
                return;
            }
            // The store's answer and the owner's are in the whole one, too.
            Some(Bundle::Look) => paths.retain(|path| {
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
                !matches!(name.as_deref(), Some("store.json" | "monitor.json" | "failures.txt"))
                    && !name.is_some_and(|name| name.starts_with("owner") && name.ends_with(".json"))
            }),
            None => {}
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
pub(crate) struct Opened<'r> {
    pub(crate) reader: Box<dyn BufRead + 'r>,
    pub(crate) packed: Packed,
}

/// What is read at a time: it stays in a core's own cache while its lines are gone through.
pub(crate) const BUFFER: usize = 256 << 10;

impl Source {
    /// Opens it. A file of an archive is opened by its archive.
    pub(crate) fn open(&self) -> io::Result<Opened<'static>> {
        match &self.origin {
            Origin::Path(path) => Opened::of(self.taken.of(File::open(path)?)),
            Origin::Bytes(bytes) => Opened::of(self.taken.of(Cursor::new(Arc::clone(bytes)))),
            Origin::Stdin => Opened::of(self.taken.of(io::stdin())),
            Origin::Entry(..) => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

impl<'r> Opened<'r> {
    /// Packed files are known by their first bytes, not by their names.
    pub(crate) fn of(plain: impl Read + 'r) -> io::Result<Self> {
        let mut reader = BufReader::with_capacity(BUFFER, plain);
        let head = reader.fill_buf()?;
        if head.starts_with(&[0x1f, 0x8b]) {
            let unpacked = flate2::bufread::MultiGzDecoder::new(reader);
            return Ok(Self {
                reader: headed(BufReader::with_capacity(BUFFER, unpacked))?,
                packed: Packed::Gzip,
            });
        }
        if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            let unpacked = ruzstd::decoding::StreamingDecoder::new(reader)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
            return Ok(Self {
                reader: headed(BufReader::with_capacity(BUFFER, unpacked))?,
                packed: Packed::Zstd,
            });
        }
        Ok(Self {
            reader: headed(reader)?,
            packed: Packed::No,
        })
    }

    /// Whether it is an archive of files.
    pub(crate) fn is_archive(&mut self) -> bool {
        self.reader.fill_buf().is_ok_and(archive::is)
    }
}

/// So much of a file must be seen at once to tell what it is; pipes and unpackers may begin with less.
const HEAD: usize = 512;

fn headed<'r>(mut reader: impl BufRead + 'r) -> io::Result<Box<dyn BufRead + 'r>> {
    if reader.fill_buf()?.len() >= HEAD {
        return Ok(Box::new(reader));
    }
    let mut head = Vec::with_capacity(HEAD);
    match reader.by_ref().take(HEAD as u64).read_to_end(&mut head) {
        Ok(_) => Ok(Box::new(Cursor::new(head).chain(reader))),
        // What came before it is read first.
        Err(error) => Ok(Box::new(
            Cursor::new(head).chain(BufReader::with_capacity(1, Failing(Some(error)))),
        )),
    }
}

/// An error that was met too early, kept for its place.
struct Failing(Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn packed_bytes_are_counted_as_they_lie() {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&vec![b'x'; 1 << 20]).unwrap();
        let gz = gz.finish().unwrap();
        let size = gz.len() as u64;
        let sources = Sources::of(&[Input::Bytes {
            name: "a.log.gz".into(),
            bytes: gz.into(),
        }]);
        assert_eq!(sources.files[0].size, Some(size));
        let mut opened = sources.files[0].open().unwrap();
        let unpacked = io::copy(&mut opened.reader, &mut io::sink()).unwrap();
        assert_eq!((unpacked, sources.taken.bytes()), (1 << 20, size));
    }
}
