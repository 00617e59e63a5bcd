//! What servers of databases have in common: a transaction may be ended for another's sake.

use super::{Outcome, changed};
use std::time::{Duration, Instant};

/// Why a statement has no answer that counts rows.
pub enum Failed {
    /// It says no.
    Refused(String),
    /// The transaction was ended for another's sake, and has changed nothing: the same can be asked again.
    Again(String),
    /// It can't be told.
    Unknown(String),
}

impl Failed {
    /// In the server's words.
    pub fn text(self) -> String {
        match self {
            Self::Refused(why) | Self::Again(why) | Self::Unknown(why) => why,
        }
    }
}

/// Writes, again where that is safe and for so long.
pub fn patiently(patience: Duration, mut write: impl FnMut() -> Result<u64, Failed>) -> Outcome {
    let until = Instant::now() + patience;
    loop {
        match write() {
            Ok(rows) => return changed(rows),
            Err(Failed::Again(_)) if Instant::now() < until => {}
            Err(Failed::Refused(why)) => return Outcome::Refused(why),
            Err(Failed::Unknown(why) | Failed::Again(why)) => return Outcome::Unknown(why),
        }
    }
}
