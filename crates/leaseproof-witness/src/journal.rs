//! The high-water mark on disk: one line a rise, so that a torn last line costs nothing but itself.

use leaseproof_model::name::Token;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The journal of one witness.
#[derive(Debug)]
pub struct Journal {
    file: File,
}

impl Journal {
    /// Opens or makes the journal at `path`, and gives the greatest token in it.
    ///
    /// # Errors
    /// When the file can't be made, read or written.
    pub fn open(path: &Path) -> io::Result<(Self, Option<Token>)> {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        let text = std::fs::read_to_string(path)?;
        let mut journal = Self { file };
        // A torn line must not join the next one.
        if !text.is_empty() && !text.ends_with('\n') {
            journal.file.write_all(b"\n")?;
        }
        Ok((journal, highest_in(&text)))
    }

    /// Writes a new mark down; with `sync` it survives the machine's death too.
    ///
    /// # Errors
    /// When the disk refuses; then the write must not be accepted.
    pub fn raise(&mut self, mark: Token, sync: bool) -> io::Result<()> {
        self.file.write_all(format!("{mark} .\n").as_bytes())?;
        if sync { self.file.sync_data() } else { Ok(()) }
    }
}

/// Whole lines end in a dot: a line torn by a crash ("41" of "417 .") is not taken for a mark.
fn highest_in(text: &str) -> Option<Token> {
    text.lines()
        .filter_map(|line| line.strip_suffix(" ."))
        .filter_map(|number| number.parse().ok().map(Token))
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_no_mark() {
        assert_eq!(highest_in("1 .\n12 .\n41"), Some(Token(12)));
        assert_eq!(highest_in(""), None);
    }

    #[test]
    fn the_mark_is_there_after_opening_anew() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("mark");
        let (mut journal, none) = Journal::open(&path).expect("opens");
        assert_eq!(none, None);
        journal.raise(Token(7), true).expect("writes");
        drop(journal);
        let mut torn = std::fs::read(&path).expect("reads");
        torn.extend(b"9");
        std::fs::write(&path, torn).expect("writes");
        let (mut journal, mark) = Journal::open(&path).expect("opens");
        assert_eq!(mark, Some(Token(7)));
        journal.raise(Token(8), true).expect("writes");
        assert_eq!(Journal::open(&path).expect("opens").1, Some(Token(8)));
    }
}
