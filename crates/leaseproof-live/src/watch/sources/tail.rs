//! Follows a log file: what was appended since the last look, across rotation.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How much is read in one look; what is beyond it is passed over, and counted.
const MOST: u64 = 4 * 1024 * 1024;

/// How much of what was there before is read at the first look.
const BACK: u64 = 256 * 1024;

/// A longer line is no event line: its rest is passed over.
const LONGEST: usize = 64 * 1024;

/// A file under watch.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    open: Option<(File, u64)>,
    at: u64,
    rest: Vec<u8>,
    /// The rest of a line that is passed over.
    skipping: bool,
    /// Another file is in its place, and what was left in this one has been read.
    left: bool,
    /// Bytes that were passed over.
    pub dropped: u64,
}

/// What a look found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// Whole lines.
    pub lines: Vec<String>,
    /// Whether the file is another one, or was cut, since the last look.
    pub restarted: bool,
    /// Whether this was there before the first look at this file: nobody knows for how long.
    pub old: bool,
}

impl Tail {
    /// Nothing is opened yet.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            open: None,
            at: 0,
            rest: Vec::new(),
            skipping: false,
            left: false,
            dropped: 0,
        }
    }

    /// What was appended since the last look.
    ///
    /// # Errors
    /// When the file is not there or can't be read.
    pub fn look(&mut self) -> io::Result<Looked> {
        let mut looked = Looked::default();
        let now = std::fs::metadata(&self.path)?;
        let same = self.open.as_ref().is_some_and(|(_, inode)| *inode == now.ino());
        if !same && !self.left && self.open.is_some() {
            // What its writer wrote into the old one before it took the new one comes first.
            self.left = true;
            self.read(MOST, &mut looked)?;
            return Ok(looked);
        }
        if !same || now.len() < self.at {
            let mut file = File::open(&self.path)?;
            looked.restarted = self.open.is_some();
            // A file that was cut or put in its place may hold lines of long ago: a log that somebody trimmed.
            looked.old = true;
            self.left = false;
            self.rest.clear();
            self.at = now.len().saturating_sub(BACK);
            self.skipping = self.at > 0;
            file.seek(SeekFrom::Start(self.at))?;
            self.open = Some((file, now.ino()));
        }
        let behind = now.len().saturating_sub(self.at);
        if behind > MOST {
            let passed = behind - MOST;
            self.dropped += passed;
            if let Some((file, _)) = &mut self.open {
                self.at = file.seek(SeekFrom::Start(self.at + passed))?;
            }
            self.rest.clear();
            self.skipping = true;
        }
        self.read(MOST, &mut looked)?;
        Ok(looked)
    }

    /// Reads on in the open file.
    fn read(&mut self, most: u64, looked: &mut Looked) -> io::Result<()> {
        let Some((file, _)) = &mut self.open else { return Ok(()) };
        let mut bytes = Vec::new();
        self.at += file.take(most).read_to_end(&mut bytes)? as u64;
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let whole = piece.ends_with(b"\n");
            if !self.skipping {
                self.rest.extend_from_slice(piece);
                if self.rest.len() > LONGEST {
                    self.rest.clear();
                    self.skipping = true;
                } else if whole {
                    looked
                        .lines
                        .push(String::from_utf8_lossy(&self.rest).trim_end().to_owned());
                    self.rest.clear();
                }
            }
            if whole {
                self.skipping = false;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn append(path: &Path, text: &str) {
        let file = File::options().append(true).create(true).open(path);
        file.expect("a file").write_all(text.as_bytes()).expect("written");
    }

    #[test]
    fn lines_come_whole_and_across_rotation() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("log");
        let mut tail = Tail::new(&path);
        tail.look().expect_err("there is no file");
        append(&path, "one\ntw");
        let looked = tail.look().expect("a file");
        assert_eq!((looked.lines, looked.old), (vec!["one".to_owned()], true));
        append(&path, "o\nthree\n");
        let looked = tail.look().expect("a file");
        assert_eq!(
            (looked.lines, looked.old),
            (vec!["two".to_owned(), "three".to_owned()], false)
        );
        append(&path, "the last of it\n");
        std::fs::rename(&path, dir.path().join("log.1")).expect("renamed");
        append(&path, "four\n");
        let looked = tail.look().expect("a file");
        assert_eq!(
            (looked.lines, looked.restarted),
            (vec!["the last of it".to_owned()], false)
        );
        let looked = tail.look().expect("a file");
        assert_eq!((looked.lines, looked.restarted), (vec!["four".to_owned()], true));
        std::fs::write(&path, "5\n").expect("cut");
        assert_eq!(tail.look().expect("a file").lines, ["5"]);
    }

    #[test]
    fn a_log_that_was_trimmed_says_nothing_new_bad() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("log");
        append(&path, "one\ntwo\n");
        let mut tail = Tail::new(&path);
        tail.look().expect("a file");
        append(&dir.path().join("new"), "two\n");
        std::fs::rename(dir.path().join("new"), &path).expect("renamed");
        tail.look().expect("the old one");
        let looked = tail.look().expect("a file");
        assert_eq!((looked.lines, looked.old), (vec!["two".to_owned()], true));
        append(&path, "three\n");
        let looked = tail.look().expect("a file");
        assert_eq!((looked.lines, looked.old), (vec!["three".to_owned()], false));
    }

    #[test]
    fn a_line_without_end_is_passed_over() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("log");
        append(&path, "one\n");
        let mut tail = Tail::new(&path);
        tail.look().expect("a file");
        append(&path, &"x".repeat(3 * LONGEST));
        assert_eq!(tail.look().expect("a file").lines, Vec::<String>::new());
        assert!(tail.rest.len() <= LONGEST);
        append(&path, "\ntwo\n");
        assert_eq!(tail.look().expect("a file").lines, ["two"]);
    }
}
