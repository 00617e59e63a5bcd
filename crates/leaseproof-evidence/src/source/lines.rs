//! Lines of any length, in bounded memory.

use std::io::{self, BufRead};

/// Lines of a reader, each cut at a limit.
pub(crate) struct Lines<R> {
    reader: R,
    limit: usize,
    /// A line that did not lie whole in the reader's buffer.
    line: Vec<u8>,
    /// Bytes of the reader's buffer that the last line was lent from.
    lent: usize,
    /// Bytes read so far.
    pub(crate) read: u64,
    /// Whether the last line was cut.
    pub(crate) was_cut: bool,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R, limit: usize) -> Self {
        Self {
            reader,
            limit: limit.max(1),
            line: Vec::new(),
            lent: 0,
            read: 0,
            was_cut: false,
        }
    }

    /// The next line, without its end. `None`: there is none.
    pub(crate) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.reader.consume(std::mem::take(&mut self.lent));
        self.was_cut = false;
        // Most lines lie whole in the buffer, and are lent from it.
        let whole = match self.reader.fill_buf() {
            Ok(buffer) => memchr::memchr(b'\n', buffer).filter(|end| *end <= self.limit),
            Err(_) => None,
        };
        if let Some(end) = whole {
            self.lent = end + 1;
            self.read += self.lent as u64;
            let line = self.reader.fill_buf()?.get(..end).unwrap_or_default();
            return Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)));
        }
        self.gathered()
    }

    /// A line that goes over the buffer's end, or is too long.
    fn gathered(&mut self) -> io::Result<Option<&[u8]>> {
        self.line.clear();
        let mut any = false;
        loop {
            let buffer = match self.reader.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // What was read of the line is still a line.
                Err(_) if any => break,
                Err(error) => return Err(error),
            };
            if buffer.is_empty() {
                if !any {
                    return Ok(None);
                }
                break;
            }
            any = true;
            let end = memchr::memchr(b'\n', buffer);
            let part = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
            let room = self.limit.saturating_sub(self.line.len());
            if part.len() > room {
                self.was_cut = true;
            }
            self.line
                .extend_from_slice(part.get(..part.len().min(room)).unwrap_or_default());
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            self.read += used as u64;
            if end.is_some() {
                break;
            }
        }
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        Ok(Some(&self.line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_ok() {
        let mut lines = Lines::new(&b"one\r\n\ntwo"[..], 100);
        assert_eq!(lines.next().expect("reads"), Some(&b"one"[..]));
        assert_eq!(lines.next().expect("reads"), Some(&b""[..]));
        assert_eq!(lines.next().expect("reads"), Some(&b"two"[..]));
        assert_eq!(lines.next().expect("reads"), None);
        assert_eq!(lines.read, 9);
    }

    #[test]
    fn a_long_line_is_cut_bad() {
        let text = format!("{}\nnext\n", "x".repeat(5000));
        let mut lines = Lines::new(io::BufReader::with_capacity(64, text.as_bytes()), 100);
        assert_eq!(lines.next().expect("reads").map(<[u8]>::len), Some(100));
        assert!(lines.was_cut);
        assert_eq!(lines.next().expect("reads"), Some(&b"next"[..]));
        assert!(!lines.was_cut);
    }
}
