//! What the lab and the server say to each other: JSON lines over one socket, the same for a thread
//! and for a process.

use crate::fence::WitnessFlaw;
use leaseproof_model::event::What;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::{OwnerName, Token};
use leaseproof_model::scenario::WitnessMode;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The first line: what the server needs to know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// How writes are treated.
    pub mode: WitnessMode,
    /// How it is broken, if it is.
    pub flaw: Option<WitnessFlaw>,
    /// Where its high-water mark is written down.
    pub journal: PathBuf,
    /// The owners, by the opaque part of their URL.
    pub owners: Vec<(String, OwnerName)>,
    /// The serial number of the last write before.
    pub serial: u64,
    /// How often it was started before.
    pub restarts: u64,
}

/// A numbered command; the server answers each with [`Report::Done`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Command {
    /// Its number.
    pub number: u64,
    /// What to do.
    pub order: Order,
}

/// What to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Take writes of an owner at this opaque path.
    Register(String, OwnerName),
    /// Treat writes in this way from now on.
    Mode(WitnessMode),
    /// Hold the next request of this owner.
    Hold {
        /// The hold's number.
        hold: u64,
        /// Whose.
        owner: OwnerName,
        /// What of it.
        what: Holds,
    },
    /// Nothing: its answer comes after all that was seen before.
    Settle,
    /// Let it go (or wait for it no longer).
    Release {
        /// The hold's number.
        hold: u64,
    },
}

/// What is held.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    /// A write: it is decided when it is let go.
    Write,
    /// The answer to a read: the value is that of the read's arrival.
    Read,
}

/// What the server reports.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    /// It serves; the mark that it starts with.
    Ready {
        /// The greatest token that it knows.
        highest: Option<Token>,
    },
    /// A command was carried out.
    Done {
        /// Its number.
        number: u64,
    },
    /// Something happened.
    Saw {
        /// When.
        at: Moment,
        /// Whose.
        owner: Option<OwnerName>,
        /// What.
        what: What,
    },
    /// A write of which no record can be made, since its bytes were too many or no request.
    Lost {
        /// When.
        at: Moment,
        /// Whose.
        owner: OwnerName,
    },
    /// A hold has caught its request.
    Held {
        /// The hold's number.
        hold: u64,
        /// When it arrived.
        at: Moment,
    },
    /// It can't go on.
    Failed {
        /// Why.
        why: String,
    },
}
