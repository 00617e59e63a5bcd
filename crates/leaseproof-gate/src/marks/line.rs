//! One line of the marks file: a batch of marks that was written, and made durable, at once. Pure.
//!
//! `CHECKSUM TOKEN:KEY TOKEN:KEY …`, the checksum in hex over all that follows it; the key percent-encoded.
//! `CHECKSUM clean` says that the gate ended in order, with nothing under way.

use super::checksum::crc32;
use leaseproof_model::name::Token;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode, percent_encode};
use std::fmt::Write as _;

/// The first line of the file.
pub const HEADER: &str = "leaseproof.marks/1\n";

/// What would end a key or a line.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'%');

/// A whole line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Line {
    /// Marks that were raised.
    Marks(Vec<(Vec<u8>, Token)>),
    /// The end, in order.
    Clean,
}

impl Line {
    /// The line with its newline.
    pub fn write(&self) -> Vec<u8> {
        let mut body = String::new();
        match self {
            Self::Clean => body.push_str(" clean"),
            Self::Marks(marks) => {
                for (key, token) in marks {
                    // Writing to a string can't fail.
                    let _ = write!(body, " {token}:{}", percent_encode(key, ENCODED));
                }
            }
        }
        format!("{:08x}{body}\n", crc32(body.as_bytes())).into_bytes()
    }

    /// The line in these bytes, which have no newline; none where it is torn or damaged.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let (sum, body) = text.split_at_checked(8)?;
        if u32::from_str_radix(sum, 16).ok()? != crc32(body.as_bytes()) {
            return None;
        }
        let body = body.strip_prefix(' ')?;
        if body == "clean" {
            return Some(Self::Clean);
        }
        let marks: Option<Vec<_>> = body
            .split(' ')
            .map(|mark| {
                let (token, key) = mark.split_once(':')?;
                Some((percent_decode(key.as_bytes()).collect(), Token(token.parse().ok()?)))
            })
            .collect();
        marks.map(Self::Marks)
    }
}
