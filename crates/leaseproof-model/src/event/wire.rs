//! What passes between an owner and the store.

use serde::{Deserialize, Serialize};

/// Something on the wire between one owner and the store.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Wire {
    /// The connection's number in this relay, from 1.
    pub connection: u64,
    /// What.
    pub seen: WireSeen,
    /// Bytes that it is about.
    pub bytes: u64,
}

/// What the relay saw.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WireSeen {
    /// The owner connected.
    Opened,
    /// Bytes from the owner passed on to the store.
    Request,
    /// Bytes from the store passed on to the owner.
    Answer,
    /// Bytes from the owner swallowed (or held back).
    RequestSwallowed,
    /// Bytes from the store swallowed (or held back).
    AnswerSwallowed,
    /// Bytes held back were delivered.
    Delivered,
    /// The relay reset the connection.
    Reset,
    /// The relay forgot the connection in silence.
    Forgotten,
    /// One side closed it.
    Closed,
}
