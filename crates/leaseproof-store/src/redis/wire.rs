//! The server's answers as they come off the wire, for readings of many keys.
//!
//! The client library builds a value on the heap for each part of each answer. A hundred thousand
//! leases a second are a million parts, so here they are only looked at, where they lie.

/// One part of an answer. Texts are places in the buffer that [`Scanner::text`] resolves.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// `+OK`.
    Simple(Place),
    /// `-ERR …`.
    Error(Place),
    Int(i64),
    Bulk(Place),
    /// A text longer than [`LONGEST`], which was passed over.
    TooLong,
    Nil,
    /// So many parts follow, and belong together.
    Array(usize),
}

/// From where, and how many bytes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    from: usize,
    length: usize,
}

/// No lock's value is longer, and a server's INFO is shorter.
pub(crate) const LONGEST: usize = 64 * 1024;

/// A batch's answers are shorter together, were each as long as that.
const MOST: usize = 64 * 1024 * 1024;

/// What is no answer of a Redis server.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct NotRedis;

/// Bytes as they arrive, and the parts found in them.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    bytes: Vec<u8>,
    at: usize,
    /// Bytes of a text that is passed over which are still to come.
    skip: usize,
    pub(crate) parts: Vec<Part>,
}

impl Scanner {
    /// Forgets everything, and keeps the room.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.parts.clear();
        self.at = 0;
        self.skip = 0;
    }

    /// Forgets the parts that were found, and keeps what has come of the next.
    pub(crate) fn forget_parts(&mut self) {
        self.parts.clear();
        self.bytes.drain(..self.at);
        self.at = 0;
    }

    /// The text of a part.
    pub(crate) fn text(&self, place: Place) -> &[u8] {
        &self.bytes[place.from..place.from + place.length]
    }

    /// Takes more bytes, and finds the parts that are whole by now.
    pub(crate) fn take(&mut self, more: &[u8]) -> Result<(), NotRedis> {
        let passed = self.skip.min(more.len());
        self.skip -= passed;
        self.bytes.extend_from_slice(&more[passed..]);
        if self.bytes.len() > MOST {
            return Err(NotRedis);
        }
        while self.skip == 0 && self.one()? {}
        Ok(())
    }

    /// Finds one part; false if it isn't whole yet.
    fn one(&mut self) -> Result<bool, NotRedis> {
        let rest = &self.bytes[self.at..];
        let Some(end) = rest.iter().position(|byte| *byte == b'\r') else {
            // A line is short: what goes on for ever without an end is another protocol.
            return if rest.len() > LONGEST { Err(NotRedis) } else { Ok(false) };
        };
        let Some(feed) = rest.get(end + 1) else {
            return Ok(false);
        };
        if *feed != b'\n' {
            return Err(NotRedis);
        }
        let line = rest.get(1..end).ok_or(NotRedis)?;
        let place = Place {
            from: self.at + 1,
            length: line.len(),
        };
        let next = self.at + end + 2;
        let part = match rest[0] {
            b'+' => Part::Simple(place),
            b'-' => Part::Error(place),
            b':' => Part::Int(number(line)?),
            b'*' => match number(line)? {
                -1 => Part::Nil,
                count => Part::Array(usize::try_from(count).map_err(|_| NotRedis)?),
            },
            b'$' => match number(line)? {
                -1 => Part::Nil,
                length => return self.bulk(next, usize::try_from(length).map_err(|_| NotRedis)?),
            },
            _ => return Err(NotRedis),
        };
        self.parts.push(part);
        self.at = next;
        Ok(true)
    }

    fn bulk(&mut self, from: usize, length: usize) -> Result<bool, NotRedis> {
        let here = self.bytes.len() - from;
        let whole = length.checked_add(2).ok_or(NotRedis)?;
        if length > LONGEST {
            // What is here of it goes; what comes of it is not even kept.
            let passed = here.min(whole);
            self.bytes.drain(from..from + passed);
            self.skip = whole - passed;
            self.parts.push(Part::TooLong);
            self.at = from;
            return Ok(true);
        }
        if here < whole {
            return Ok(false);
        }
        if self.bytes[from + length..from + whole] != *b"\r\n" {
            return Err(NotRedis);
        }
        self.parts.push(Part::Bulk(Place { from, length }));
        self.at = from + whole;
        Ok(true)
    }
}

fn number(line: &[u8]) -> Result<i64, NotRedis> {
    let text = std::str::from_utf8(line).map_err(|_| NotRedis)?;
    text.parse().map_err(|_| NotRedis)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &[u8] = b"+OK\r\n*3\r\n$3\r\na\r\n\r\n$-1\r\n:-2\r\n-WRONGTYPE no\r\n*-1\r\n$0\r\n\r\n";

    fn shown(scanner: &Scanner) -> Vec<String> {
        let text = |place| String::from_utf8_lossy(scanner.text(place)).into_owned();
        scanner
            .parts
            .iter()
            .map(|part| match part {
                Part::Simple(place) => format!("+{}", text(*place)),
                Part::Error(place) => format!("-{}", text(*place)),
                Part::Bulk(place) => format!("${}", text(*place)),
                other => format!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn answers_ok_however_they_are_cut() {
        let expected = [
            "+OK",
            "Array(3)",
            "$a\r\n",
            "Nil",
            "Int(-2)",
            "-WRONGTYPE no",
            "Nil",
            "$",
        ];
        for size in 1..=ANSWER.len() {
            let mut scanner = Scanner::default();
            for chunk in ANSWER.chunks(size) {
                scanner.take(chunk).expect("it is Redis");
            }
            assert_eq!(shown(&scanner), expected, "in pieces of {size}");
        }
    }

    #[test]
    fn a_long_text_is_passed_over_and_not_kept() {
        for size in [7, 4096, 1_000_000] {
            let mut answer = format!("${}\r\n", LONGEST + 1).into_bytes();
            answer.extend(vec![b'x'; LONGEST + 1]);
            answer.extend(b"\r\n:7\r\n");
            let mut scanner = Scanner::default();
            for chunk in answer.chunks(size) {
                scanner.take(chunk).expect("it is Redis");
            }
            assert_eq!(shown(&scanner), ["TooLong", "Int(7)"], "in pieces of {size}");
        }
    }

    #[test]
    fn answers_bad() {
        for bytes in [
            &b"HTTP/1.1 400 Bad Request\r\n"[..],
            b":x\r\n",
            b"$-7\r\n",
            b"*99999999999999999999\r\n",
            b"+OK\rx",
            b"\r\n",
            b"$1\r\nabc",
        ] {
            assert_eq!(Scanner::default().take(bytes), Err(NotRedis), "{bytes:?}");
        }
        // Parts without end.
        let mut scanner = Scanner::default();
        let many = b":1\r\n".repeat(MOST / 4);
        assert_eq!(scanner.take(&many), Ok(()));
        assert_eq!(scanner.take(b":1\r\n"), Err(NotRedis));
    }
}
