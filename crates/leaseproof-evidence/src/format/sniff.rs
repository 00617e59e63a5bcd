//! What a whole file is, by its first bytes, where it is no text of lines.

/// What a whole file is.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Whole {
    /// Lines.
    Text,
    /// Redis' append-only file.
    Aof,
    /// A capture of Redis' MONITOR.
    Monitor,
    /// Text of two bytes a letter.
    Utf16 {
        /// The greater byte first.
        big: bool,
    },
    /// Something that is not text.
    Binary(&'static str),
}

/// By its first bytes.
pub(crate) fn whole(head: &[u8]) -> Whole {
    let head = head.get(..head.len().min(8192)).unwrap_or_default();
    if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) {
        return Whole::Utf16 {
            big: head.starts_with(&[0xfe, 0xff]),
        };
    }
    if head.starts_with(b"REDIS0") {
        return Whole::Binary("a Redis snapshot: it has no times");
    }
    if head.starts_with(b"#TS:") || aof(head) {
        return Whole::Aof;
    }
    for (magic, what) in [
        (&b"\x7fELF"[..], "a program"),
        (b"PK\x03\x04", "a zip archive: unpack it"),
        (b"BZh", "packed with bzip2: unpack it"),
        (b"\xfd7zXZ", "packed with xz: unpack it"),
        (b"LPKSHHRH", "a journal: give `journalctl -o json`"),
        (b"\xd4\xc3\xb2\xa1", "a packet capture"),
        (b"\x0a\x0d\x0d\x0a", "a packet capture"),
        (b"SQLite format 3", "a database"),
    ] {
        if head.starts_with(magic) {
            return Whole::Binary(what);
        }
    }
    if head.get(257..262) == Some(b"ustar") {
        return Whole::Binary("a tar archive: unpack it");
    }
    let zeros = head.iter().filter(|byte| **byte == 0).count();
    // A journal's export has a few zero bytes, in the lengths of its fields; a text that was cut by a crash ends in them.
    if zeros > 0 && zeros * 20 > head.len() {
        return Whole::Binary("many zero bytes");
    }
    if head.split(|byte| *byte == b'\n').take(3).any(monitor) {
        return Whole::Monitor;
    }
    Whole::Text
}

/// `*2\r\n$6\r\n`.
fn aof(head: &[u8]) -> bool {
    let Some(rest) = head.strip_prefix(b"*") else {
        return false;
    };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && rest.get(digits..).is_some_and(|rest| rest.starts_with(b"\r\n$"))
}

/// `1796007273.232620 [0 127.0.0.1:47688] "`.
fn monitor(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"+").unwrap_or(line);
    let stamp = line
        .iter()
        .take_while(|byte| byte.is_ascii_digit() || **byte == b'.')
        .count();
    (15..=20).contains(&stamp)
        && line.get(stamp..).is_some_and(|rest| rest.starts_with(b" ["))
        && memchr::memmem::find(line, b"] \"").is_some()
}
