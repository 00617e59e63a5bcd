//! Keys: one looked at, many looked at, those below a prefix.

use super::api::{Api, LIST, WANTS_TOKEN};
use super::entry::Entry;
use super::tools::in_path;
use super::txn::Transaction;
use crate::error::{Lasts, StoreError};
use crate::patience::Patience;
use crate::wire::Failed;
use serde_json::{Value, json};
use std::collections::HashMap;

/// The most operations that a server takes in one transaction.
pub(crate) const GETS: usize = 64;

/// So often a transaction is sent again without the keys that are not there.
const TRIES: usize = 4;

/// What a transaction shows of one of many keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    Entry(Entry),
    Absent,
    /// It is there, and this token may not read it.
    Hidden,
}

impl Api {
    /// The entry of a key, read through the leader.
    pub(crate) fn entry(&mut self, key: &str, patience: &mut Patience) -> Result<Option<Entry>, Failed> {
        match self.txn("?consistent", &[self.op("get", key)], patience)? {
            // What a token may not read is left out of an answer, not refused; a key that is not there is.
            Ok(mut entries) => entries.pop().map(Some).ok_or_else(|| Failed::NotSent(self.hidden(key))),
            Err(_) => Ok(None),
        }
    }

    /// Whether a whole key is there for this token, in whatever layout.
    pub(crate) fn is_there(&mut self, place: &str, patience: &mut Patience) -> Result<bool, Failed> {
        let get = json!({ "Verb": "get", "Key": place });
        let found = self.txn("?consistent", &[get], patience)?;
        Ok(found.is_ok_and(|entries| !entries.is_empty()))
    }

    /// The error of a key that is there, and not for this token.
    pub(crate) fn hidden(&self, key: &str) -> StoreError {
        let why = match self.url.token {
            Some(_) => format!("the token of the URL may not do this: it lacks key:read for {key}"),
            None => format!("{WANTS_TOKEN} (key:read for {key})"),
        };
        StoreError::refused(&self.url, why, Lasts::Mended)
    }

    /// The entries of many keys, at most [`GETS`] and in their order, read through the leader as they stand
    /// at one moment. A transaction fails where a key is not there, and says which are not.
    pub(crate) fn entries(&mut self, keys: &[&str], patience: &mut Patience) -> Result<Vec<Found>, Failed> {
        let mut there: Vec<usize> = (0..keys.len()).collect();
        for _ in 0..TRIES {
            let mut all = vec![Found::Absent; keys.len()];
            if there.is_empty() {
                return Ok(all);
            }
            let body: Value = there
                .iter()
                .map(|&at| json!({ "KV": self.op("get", keys[at]) }))
                .collect();
            let answer = self.long_call("PUT", "/v1/txn?consistent", &body, LIST, patience)?;
            if answer.status != 409 && !answer.is_ok() {
                return Err(self.failure(&answer));
            }
            let done: Transaction = self.parsed(&answer)?;
            if answer.is_ok() {
                let found = done.results.unwrap_or_default();
                let mut named: HashMap<String, Entry> =
                    found.into_iter().map(|it| (it.kv.key().to_owned(), it.kv)).collect();
                for at in there {
                    all[at] = named.remove(&self.place(keys[at])).map_or(Found::Hidden, Found::Entry);
                }
                return Ok(all);
            }
            let absent: Vec<usize> = done.errors.unwrap_or_default().iter().map(|it| it.op_index).collect();
            let before = there.len();
            let mut place = 0..;
            there.retain(|_| place.next().is_some_and(|place| !absent.contains(&place)));
            if there.len() == before {
                return Err(Failed::Unknown(self.strange(&answer)));
            }
        }
        Err(Failed::Unknown(StoreError::Unexpected(format!(
            "{}: keys came and went in each of {TRIES} looks",
            self.url
        ))))
    }

    /// The names of the keys below a prefix, this URL's own prefix taken off.
    pub(crate) fn keys_below(&mut self, prefix: &str, patience: &mut Patience) -> Result<Vec<String>, Failed> {
        let whole = self.url.prefix.clone() + prefix;
        // The server cleans such a path up, and would list another folder.
        if whole.starts_with('/') || ["//", "/./", "/../"].iter().any(|part| whole.contains(part)) {
            return Err(Failed::NotSent(StoreError::Unexpected(format!(
                "the keys below {prefix} can't be listed: it has an empty part, or one of dots"
            ))));
        }
        let path = format!("/v1/kv/{}?keys&consistent", in_path(&whole));
        let answer = self.long_call("GET", &path, &Value::Null, LIST, patience)?;
        let keys: Vec<String> = match answer.status {
            404 if answer.body.is_empty() => Vec::new(),
            200 => self.parsed(&answer)?,
            _ => return Err(self.failure(&answer)),
        };
        let own = self.url.prefix.len();
        Ok(keys
            .into_iter()
            .filter_map(|key| key.get(own..).map(str::to_owned))
            .collect())
    }
}
