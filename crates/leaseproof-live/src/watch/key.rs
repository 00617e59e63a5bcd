//! A lease's key: text, but for the few that are none.

use leaseproof_store::shown_key;
use std::sync::Arc;

/// A key, as the store has it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Key {
    /// Text.
    Text(Arc<str>),
    /// Bytes that are no UTF-8.
    Bytes(Arc<[u8]>),
}

impl Key {
    /// The bytes that the store is asked for.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }

    /// The text, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Bytes(_) => None,
        }
    }

    /// What people read in its place: a byte that is no text is written `\xNN`.
    #[must_use]
    pub fn shown(&self) -> Arc<str> {
        match self {
            Self::Text(text) => Arc::clone(text),
            Self::Bytes(bytes) => Arc::from(shown_key(bytes)),
        }
    }
}

impl From<&[u8]> for Key {
    fn from(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(Arc::from(text)),
            Err(_) => Self::Bytes(Arc::from(bytes)),
        }
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Self::Text(Arc::from(text))
    }
}
