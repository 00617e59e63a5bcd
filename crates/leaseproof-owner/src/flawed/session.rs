//! The wrong statements on stores whose lease is a session. Most can't be said there: a session has a TTL
//! from its begin, its number is the server's, and nobody brings it back.

use super::{Answer, Wrong};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::Outcome;
use leaseproof_model::name::{HolderId, Token};
use leaseproof_store::{Grant, StoreUrl, open_administrator};
use std::time::Duration;

/// A store of sessions.
#[derive(Debug)]
pub(super) struct Sessions(pub(super) StoreUrl);

impl Sessions {
    fn not_here<T>(&self) -> Answer<T> {
        Err(format!("{} has no statement for this flaw", self.0.kind()))
    }
}

impl Wrong for Sessions {
    fn grant_without_ttl(&self, _: &str, _: &HolderId, _: Duration) -> Answer<Token> {
        self.not_here()
    }

    fn grant_with_old_token(&self, _: &str, _: &HolderId, _: Duration, _: Duration) -> Answer<Token> {
        self.not_here()
    }

    fn expire(&self, _: &str, _: Duration, _: Duration) -> Answer<()> {
        self.not_here()
    }

    fn revive(&self, _: &Grant, _: BootNanos, _: Duration, _: Duration) -> Answer<()> {
        self.not_here()
    }

    fn remove(&self, key: &str, timeout: Duration) -> Answer<()> {
        let mut store = open_administrator(&self.0, timeout).map_err(|error| error.to_string())?;
        let done = store.delete(key);
        match (done.outcome, done.refusal) {
            (Outcome::Applied, _) => Ok(Ok(())),
            (_, Some(refusal)) => Ok(Err(refusal)),
            _ => Err(done.reason.unwrap_or_default()),
        }
    }
}
