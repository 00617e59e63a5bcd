//! Tar archives, as `kubectl cp` and reports for support give them: each of their files is read as it passes.

use std::io::{self, Read};
use std::ops::ControlFlow;

/// Files of one archive that are read.
pub(crate) const MOST: usize = 10_000;

/// One file of an archive.
pub(crate) struct Entry<'a> {
    /// Which of the archive's entries it is.
    pub(crate) nth: usize,
    /// Its path in the archive.
    pub(crate) name: String,
    pub(crate) size: u64,
    /// The year in which it was last written.
    pub(crate) year: Option<i16>,
    pub(crate) reader: &'a mut dyn Read,
}

/// Whether a file is an archive, by its first block.
pub(crate) fn is(head: &[u8]) -> bool {
    let Some(block) = head.get(..512).filter(|block| block.get(257..262) == Some(b"ustar")) else {
        return false;
    };
    // Its checksum counts its own eight bytes as blanks.
    let sum: u64 = block
        .iter()
        .enumerate()
        .map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u64::from(*byte) })
        .sum();
    let written = block.get(148..156).unwrap_or_default();
    let digits = written.iter().filter(|byte| byte.is_ascii_digit());
    digits.fold(0_u64, |sum, digit| sum * 8 + u64::from(digit - b'0')) == sum
}

/// Its plain files, one after the other, until `with` has enough. An error: the archive is broken from there on.
pub(crate) fn each(reader: impl Read, with: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>) -> io::Result<()> {
    let mut archive = tar::Archive::new(reader);
    for (nth, entry) in archive.entries()?.enumerate() {
        let mut entry = entry?;
        if !entry.header().entry_type().is_file() && !entry.header().entry_type().is_gnu_sparse() {
            continue;
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let name = name.trim_start_matches("./").to_owned();
        // As in a folder: hidden files are nobody's log.
        if name.split('/').any(|part| part.starts_with('.')) {
            continue;
        }
        let year = entry.header().mtime().ok().and_then(|at| {
            let at = jiff::Timestamp::from_second(i64::try_from(at).ok()?).ok()?;
            Some(at.to_zoned_datetime(jiff::tz::TimeZone::UTC).year())
        });
        let size = entry.size();
        let mut whole = Whole {
            inner: &mut entry,
            left: size,
        };
        let flow = with(Entry {
            nth,
            name,
            size,
            year,
            reader: &mut whole,
        });
        if flow.is_break() {
            break;
        }
    }
    Ok(())
}

/// A file that ends before its size is an error, and no short file.
struct Whole<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Whole<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.left = self.left.saturating_sub(read as u64);
        if read == 0 && self.left > 0 && !into.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the archive ends inside this file",
            ));
        }
        Ok(read)
    }
}
