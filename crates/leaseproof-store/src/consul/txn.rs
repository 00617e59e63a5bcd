//! Transactions: what a change of a key is made of.

use super::api::Api;
use super::entry::Entry;
use crate::error::{Lasts, StoreError};
use crate::patience::Patience;
use crate::url::Layout;
use crate::wire::Failed;
use serde::Deserialize;
use serde_json::{Value, json};

/// What `consul lock` and the Go client's `api.Lock` mark their keys with (`LockFlagValue`).
pub(super) const LOCK_FLAGS: u64 = 0x2ddc_cbc0_58a5_0c18;

/// Why a transaction did nothing.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    /// Another session has the key, or the lock-delay of one that had it is not over.
    Held,
    /// The session that was to have it is over.
    NoSession,
    /// The key is not there.
    NoKey,
    /// The key is not that session's.
    NotIts,
    /// It is not as it was looked at.
    Changed,
}

impl Api {
    /// One operation on a key.
    pub(crate) fn op(&self, verb: &str, key: &str) -> Value {
        json!({ "Verb": verb, "Key": self.place(key) })
    }

    /// One operation that a session does on a key.
    pub(crate) fn op_of(&self, verb: &str, key: &str, session: &str) -> Value {
        let mut op = json!({ "Verb": verb, "Key": self.place(key), "Session": session });
        if self.url.layout.is_recipe() {
            // Who finds a key without them takes it for something else than a lock, and gives up. A lock writes
            // them, and so does an unlock.
            op["Flags"] = json!(LOCK_FLAGS);
        }
        op
    }

    /// The operation that fails unless the key is as this look found it.
    pub(crate) fn unchanged(&self, key: &str, found: Option<&Entry>) -> Value {
        match found {
            None => self.op("check-not-exists", key),
            Some(entry) => {
                let mut op = self.op("check-index", key);
                op["Index"] = json!(entry.modify_index());
                op
            }
        }
    }

    /// The error of a key without a session that is no lease: what it holds is somebody's.
    pub(crate) fn foreign(&self, key: &str) -> StoreError {
        let why = format!(
            "the key {} holds data that is no lease of ours, and no session: it is left alone; take another key, or \
             delete it if nobody needs it",
            self.place(key)
        );
        StoreError::refused(&self.url, why, Lasts::Mended)
    }

    /// Where a lease lies.
    pub(crate) fn place(&self, key: &str) -> String {
        match self.url.layout {
            Layout::Reference => format!("{}{key}", self.url.prefix),
            Layout::LockRecipe => format!("{}{key}/.lock", self.url.prefix),
        }
    }

    /// All of these, or none.
    pub(crate) fn txn(
        &mut self,
        query: &str,
        ops: &[Value],
        patience: &mut Patience,
    ) -> Result<Result<Vec<Entry>, Why>, Failed> {
        let body: Value = ops.iter().map(|op| json!({ "KV": op })).collect();
        let answer = self.call("PUT", &format!("/v1/txn{query}"), &body, patience)?;
        if answer.status != 409 && !answer.is_ok() {
            return Err(self.failure(&answer));
        }
        let done: Transaction = self.parsed(&answer)?;
        if answer.is_ok() {
            return Ok(Ok(done
                .results
                .unwrap_or_default()
                .into_iter()
                .map(|it| it.kv)
                .collect()));
        }
        let what = done
            .errors
            .unwrap_or_default()
            .pop()
            .map(|error| error.what)
            .unwrap_or_default();
        let known = [
            ("lock is already held", Why::Held),
            ("due to lock delay", Why::Held),
            ("invalid session", Why::NoSession),
            ("doesn't exist", Why::NoKey),
            ("failed session check", Why::NotIts),
            ("failed to unlock", Why::NotIts),
            ("failed index check", Why::Changed),
            ("\" exists", Why::Changed),
        ];
        match known.iter().find(|(text, _)| what.contains(text)) {
            Some((_, why)) => Ok(Err(*why)),
            // Nothing of a transaction that failed was done.
            None => Err(Failed::NotSent(StoreError::refused(&self.url, what, Lasts::Mended))),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Transaction {
    pub(super) results: Option<Vec<TxnResult>>,
    pub(super) errors: Option<Vec<TxnError>>,
}

#[derive(Deserialize)]
pub(super) struct TxnResult {
    #[serde(rename = "KV")]
    pub(super) kv: Entry,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct TxnError {
    #[serde(default)]
    pub(super) op_index: usize,
    pub(super) what: String,
}
