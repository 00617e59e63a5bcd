//! The server's answer to a new connection.

use super::jute::{Garbled, Reader};
use std::time::Duration;

/// The answer.
pub(crate) struct Welcome {
    /// The session's time-out; none: there is no such session, or no more.
    pub(crate) timeout: Option<Duration>,
    pub(crate) id: i64,
    pub(crate) password: Vec<u8>,
}

impl Welcome {
    pub(crate) fn parse(frame: &[u8]) -> Result<Self, Garbled> {
        let mut reader = Reader::new(frame);
        let _protocol = reader.int()?;
        let millis = reader.int()?;
        Ok(Self {
            timeout: u64::try_from(millis)
                .ok()
                .filter(|&millis| millis > 0)
                .map(Duration::from_millis),
            id: reader.long()?,
            password: reader.buffer()?.to_vec(),
        })
    }
}
