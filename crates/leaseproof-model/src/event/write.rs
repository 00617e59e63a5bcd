//! Writes at the protected resource.

use crate::moment::Moment;
use crate::name::Token;
use crate::scenario::WitnessMode;
use serde::{Deserialize, Serialize};

/// A write at the witness.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Write {
    /// Its place in the resource's own order, from 1.
    pub serial: u64,
    /// The connection that it came on.
    pub connection: u64,
    /// The token that it carries; `None`: unfenced.
    pub token: Option<Token>,
    /// The token's text, where it is no ordered number.
    pub bad_token: Option<String>,
    /// Whether it was accepted.
    pub accepted: bool,
    /// The highest token that the resource had accepted before it.
    pub highest: Option<Token>,
    /// How the witness treated it.
    pub mode: WitnessMode,
    /// The `Lease-Owner` header, if it differs from the URL's owner.
    pub claims_owner: Option<String>,
    /// When its first bytes arrived, where that was more than 20 ms before it was whole: it was begun
    /// then, and waited for its own client since. Without it the event's own moment (or `arrived`) holds
    /// both, the begin and the end of its arrival.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<Moment>,
    /// Only where it was held in flight: the moment at which it was whole; the event's own moment is then
    /// that of its decision. Of any other write the event's own moment is that at which it was whole.
    pub arrived: Option<Moment>,
    /// A replay by the lab itself (scenario `stale-token`): no act of the owner.
    pub replay: bool,
}
