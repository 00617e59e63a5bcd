//! A key's entry: who holds it, and with which grant.

use super::txn::LOCK_FLAGS;
use crate::Grant;
use crate::done::Refusal;
use crate::url::Layout;
use crate::value::{parse_bounded, stored_bounded};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use leaseproof_model::name::{HolderId, Token};
use serde::Deserialize;
use std::time::Duration;

/// An entry.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Entry {
    /// The session that holds the key.
    session: Option<String>,
    /// In base64; an answer to a change has none.
    value: Option<String>,
    flags: u64,
    create_index: u64,
    lock_index: u64,
    modify_index: u64,
    #[serde(default)]
    key: String,
}

/// What a semaphore's key is marked with (`SemaphoreFlagValue` of the Go client).
const SEMAPHORE_FLAGS: u64 = 0xe0f6_9a2b_aa41_4de0;

impl Entry {
    /// The session that holds the key; a key may be there and free.
    pub(crate) fn session(&self) -> Option<&str> {
        self.session.as_deref().filter(|session| !session.is_empty())
    }

    /// The whole key.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// What clients mark their keys with.
    pub(crate) fn flags(&self) -> u64 {
        self.flags
    }

    pub(crate) fn create_index(&self) -> u64 {
        self.create_index
    }

    pub(crate) fn modify_index(&self) -> u64 {
        self.modify_index
    }

    /// How many bytes are stored, about.
    pub(crate) fn size(&self) -> usize {
        self.value.as_ref().map_or(0, |value| value.len() / 4 * 3)
    }

    /// The number of the change that gave it to its holder, while it is held.
    pub(crate) fn token(&self) -> Token {
        Token(self.modify_index)
    }

    /// The same, where there is one number that owners have for it: `consul lock` tells its command none, and
    /// clients of the recipe may take `LockIndex`.
    pub(crate) fn shown_token(&self, layout: Layout) -> Option<Token> {
        (!layout.is_recipe()).then(|| self.token())
    }

    /// Whether it is a semaphore's (`consul lock -n 2`), which has several holders elsewhere.
    pub(crate) fn is_semaphore(&self) -> bool {
        self.flags == SEMAPHORE_FLAGS
    }

    pub(crate) fn holder(&self, layout: Layout) -> HolderId {
        let (holder, ours) = self.parsed();
        match (layout, self.session()) {
            // Its value is empty or its holder's to change. Its session is not, nor which lock of which key it is.
            (Layout::LockRecipe, Some(session)) if ours.is_none() => {
                HolderId::from(format!("session-{session}#{}.{}", self.create_index, self.lock_index))
            }
            _ => holder,
        }
    }

    /// Whether it holds what somebody wrote, and no lock left there: a release leaves an empty value, the end of a
    /// session the value of its grant, and clients of the recipe mark their keys.
    pub(crate) fn is_foreign(&self) -> bool {
        let empty = self.value.as_deref().unwrap_or_default().is_empty();
        self.session().is_none() && !empty && self.flags != LOCK_FLAGS && self.bound().is_none()
    }

    /// The TTL that the holder says it asked for; a foreign one says none.
    pub(crate) fn bound(&self) -> Option<Duration> {
        self.parsed().1
    }

    fn parsed(&self) -> (HolderId, Option<Duration>) {
        let value = self.value.as_deref().unwrap_or_default();
        // What is no base64 is no answer of a Consul agent; as a holder it is a foreign one.
        parse_bounded(&STANDARD.decode(value).unwrap_or_default())
    }
}

/// Why a look refuses a step of `grant`, if it does; else the session that it lives as long as.
pub(crate) fn session_of<'e>(layout: Layout, entry: Option<&'e Entry>, grant: &Grant) -> Result<&'e str, Refusal> {
    match entry.and_then(|entry| entry.session().map(|session| (entry, session))) {
        None => Err(Refusal::Gone),
        Some((entry, session)) if entry.holder(layout) == grant.holder && entry.token() == grant.token => Ok(session),
        Some(_) => Err(Refusal::NotTheHolder),
    }
}

/// A grant's value, as it goes into a request.
pub(crate) fn encoded(holder: &HolderId, ttl: Duration) -> String {
    STANDARD.encode(stored_bounded(holder, ttl))
}
