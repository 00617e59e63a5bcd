//! Text of two bytes a letter, as other systems write it, made plain as it is read.

use std::io::{self, Read};

/// UTF-16 in, UTF-8 out. What is no letter becomes the mark for that.
pub(crate) struct Wide<R> {
    inner: R,
    /// The greater byte first.
    big: bool,
    /// The first half of a unit whose second half was not there yet.
    half: Option<u8>,
    /// The first unit of a letter that takes two.
    high: Option<u16>,
    /// What was made plain, and how much of it was given away.
    plain: String,
    given: usize,
}

const PIECE: usize = 64 << 10;

impl<R: Read> Wide<R> {
    pub(crate) fn new(inner: R, big: bool) -> Self {
        Self {
            inner,
            big,
            half: None,
            high: None,
            plain: String::new(),
            given: 0,
        }
    }

    /// The next piece; `false` where there is none.
    fn more(&mut self) -> io::Result<bool> {
        self.plain.clear();
        self.given = 0;
        let mut bytes = [0; PIECE];
        let read = self.inner.read(&mut bytes)?;
        for byte in bytes.iter().take(read) {
            match self.half.take() {
                None => self.half = Some(*byte),
                Some(first) if self.big => self.unit(u16::from_be_bytes([first, *byte])),
                Some(first) => self.unit(u16::from_le_bytes([first, *byte])),
            }
        }
        if read == 0 && (self.high.take().is_some() || self.half.take().is_some()) {
            self.plain.push(char::REPLACEMENT_CHARACTER);
        }
        Ok(read > 0 || !self.plain.is_empty())
    }

    fn unit(&mut self, unit: u16) {
        if let Some(high) = self.high.take() {
            if let Some(Ok(letter)) = char::decode_utf16([high, unit]).next() {
                return self.plain.push(letter);
            }
            self.plain.push(char::REPLACEMENT_CHARACTER);
        }
        if (0xd800..0xdc00).contains(&unit) {
            self.high = Some(unit);
        } else {
            let letter = char::from_u32(u32::from(unit));
            self.plain.push(letter.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
    }
}

impl<R: Read> Read for Wide<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.given == self.plain.len() {
            if !self.more()? {
                return Ok(0);
            }
        }
        let rest = self.plain.as_bytes().get(self.given..).unwrap_or_default();
        let many = rest.len().min(into.len());
        if let (Some(into), Some(rest)) = (into.get_mut(..many), rest.get(..many)) {
            into.copy_from_slice(rest);
        }
        self.given += many;
        Ok(many)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that gives a few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let many = self.1.min(self.0.len()).min(into.len());
            into[..many].copy_from_slice(&self.0[..many]);
            self.0 = &self.0[many..];
            Ok(many)
        }
    }

    fn plain(bytes: &[u8], big: bool, step: usize) -> String {
        let mut text = String::new();
        Wide::new(Slow(bytes, step), big)
            .read_to_string(&mut text)
            .expect("it is plain text");
        text
    }

    #[test]
    fn plain_ok() {
        let text = "caf\u{e9} \u{1f512} lost\r\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for step in [1, 2, 3, 4096] {
            assert_eq!(plain(&little, false, step), text);
            assert_eq!(plain(&big, true, step), text);
        }
    }

    #[test]
    fn halves_bad() {
        // Half a letter of two units, before another and at the end; a second half alone; half a unit.
        assert_eq!(plain(&[0xd8, 0x3d, 0, b'a'], true, 4096), "\u{fffd}a");
        assert_eq!(plain(&[0, b'a', 0xd8, 0x3d], true, 4096), "a\u{fffd}");
        assert_eq!(plain(&[0xdd, 0x12, 0, b'a'], true, 4096), "\u{fffd}a");
        assert_eq!(plain(&[0, b'a', 0], true, 4096), "a\u{fffd}");
    }
}
