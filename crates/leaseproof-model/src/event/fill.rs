//! A cache that is filled beside the resource.

use crate::name::Token;
use crate::scenario::WitnessMode;
use serde::{Deserialize, Serialize};

/// A fill of the witness's cache with a value that was read before.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Fill {
    /// Its place in the resource's order: after the write with this serial number (0: before the first).
    pub after: u64,
    /// The connection that it came on.
    pub connection: u64,
    /// The value that it stores: the serial number of the write that made it.
    pub value: u64,
    /// The version that it says the value has; `None`: it says none.
    pub token: Option<Token>,
    /// The version's text, where it is no ordered number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bad_token: Option<String>,
    /// Whether it was accepted.
    pub accepted: bool,
    /// The highest token that the resource had accepted before it.
    pub highest: Option<Token>,
    /// How the witness treated it.
    pub mode: WitnessMode,
}
