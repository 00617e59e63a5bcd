//! An answer, read whole.

use hyper::HeaderMap;
use std::borrow::Cow;

/// So much of an answer is quoted in an error.
const QUOTED: usize = 200;

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(super) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn is_ok(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// A header's text, if it is there and printable.
    #[cfg_attr(not(test), expect(dead_code, reason = "etcd has none that counts, Consul does"))]
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Status and the beginning of the body, on one line, for an error.
    pub(crate) fn quoted(&self) -> String {
        let text: Cow<'_, str> = String::from_utf8_lossy(&self.body[..self.body.len().min(QUOTED)]);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("HTTP status {} {}", self.status, text.escape_debug())
    }
}
