//! How a request failed: whether it can have reached the server.

use crate::error::StoreError;

/// How a request failed.
#[derive(Debug)]
pub(crate) enum Failed {
    /// It certainly never left.
    NotSent(StoreError),
    /// It left, at least in part, and nobody knows.
    Unknown(StoreError),
}

impl Failed {
    pub(crate) fn into_error(self) -> StoreError {
        match self {
            Self::NotSent(error) | Self::Unknown(error) => error,
        }
    }
}
