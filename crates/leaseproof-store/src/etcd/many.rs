//! Readings of many keys, on a connection of their own.
//!
//! The server tells the TTL of one lease at a time, which costs it a third of a millisecond by its gateway: so a
//! TTL is asked for only when a tenth of it has passed since the last look. The keys come each time, in
//! transactions of ranges. All requests of a batch are sent at once, and answered in their order. As for
//! one key: the TTLs are asked first, of the leases that the keys had at the last look, and the keys last.

use crate::clock::boot_now;
use crate::error::StoreError;
use crate::etcd::allow::may_send;
use crate::etcd::expiry::Look;
use crate::etcd::message::{KeyValue, LeaseAnswer, Login, Refusal, Txn, base64, first};
use crate::etcd::observer::{FOR_EVER, Shown};
use crate::etcd::server::{epoch, is_stale_login, refusal};
use crate::http::{Answered, Pipeline};
use crate::patience::Patience;
use crate::url::EtcdUrl;
use leaseproof_model::moment::Moment;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::time::Duration;

/// The most operations that a server takes in one transaction, if nobody set another bound.
const RANGES: usize = 128;

/// How many keys one batch asks about.
pub(super) const KEYS: usize = 256;

/// The reader of many keys; nothing is connected before the first use.
pub(super) struct Many {
    url: EtcdUrl,
    pipeline: Pipeline,
    timeout: Duration,
    /// What the server gave for user and password.
    token: Option<String>,
}

/// What a batch found, for each key in order: the TTL of the lease that was asked for, if one was; and the
/// key, if it is there.
pub(super) struct Batch {
    pub(super) shown: Vec<Option<Shown>>,
    pub(super) found: Vec<Option<KeyValue>>,
    /// From before the first question to after the last answer.
    pub(super) during: Moment,
    pub(super) epoch: String,
}

impl Many {
    pub(super) fn new(url: &EtcdUrl, pipeline: Pipeline, timeout: Duration) -> Self {
        Self {
            url: url.clone(),
            pipeline,
            timeout,
            token: None,
        }
    }

    /// Asks for the TTLs of these leases, one a key and 0 for none, then for the keys. At most [`KEYS`].
    pub(super) fn ask(&mut self, keys: &[&str], leases: &[i64]) -> Result<Batch, StoreError> {
        let mut again = true;
        loop {
            match self.once(keys, leases) {
                Err(Trouble::StaleLogin(error)) => {
                    self.token = None;
                    if !again {
                        return Err(error);
                    }
                }
                // A restarted server is seen at once: a read may be repeated.
                Err(Trouble::Other(StoreError::Unreachable { .. })) if again => {}
                Err(Trouble::Other(error)) => return Err(error),
                Ok(batch) => return Ok(batch),
            }
            again = false;
        }
    }

    fn once(&mut self, keys: &[&str], leases: &[i64]) -> Result<Batch, Trouble> {
        let patience = &mut Patience::new(self.timeout);
        self.log_in(patience)?;
        self.pipeline.begin();
        for lease in leases.iter().filter(|&&lease| lease != 0) {
            self.post("/v3/lease/timetolive", &format!("{{\"ID\":\"{lease}\"}}"))?;
        }
        for part in keys.chunks(RANGES) {
            let ranges: Vec<_> = part
                .iter()
                .map(|key| json!({ "request_range": { "key": base64(key) } }))
                .collect();
            self.post("/v3/kv/txn", &json!({ "success": ranges }).to_string())?;
        }
        let asked = boot_now();
        let answers = self.pipeline.exchange(patience)?;
        let mut answers = answers.iter();
        let mut next = || answers.next().ok_or_else(|| strange(&self.url, "an answer is missing"));
        let mut shown = Vec::with_capacity(keys.len());
        let mut epochs = Vec::new();
        for &lease in leases {
            shown.push(match lease {
                0 => None,
                _ => {
                    let answer = next()?;
                    let at = Moment::between(asked, answer.at);
                    let answer: LeaseAnswer = self.understood(answer)?;
                    Some(match answer.granted {
                        0 => Shown::NoLease,
                        _ if answer.ttl >= FOR_EVER => Shown::NotYet,
                        granted => Shown::At(
                            Look {
                                at,
                                left: answer.ttl,
                                granted,
                            },
                            epoch(&answer.header),
                        ),
                    })
                }
            });
        }
        let mut found = Vec::with_capacity(keys.len());
        let mut latest = asked;
        for part in keys.chunks(RANGES) {
            let answer = next()?;
            latest = answer.at;
            let txn: Txn = self.understood(answer)?;
            if txn.responses.len() != part.len() {
                return Err(strange(&self.url, "an answer with another number of ranges").into());
            }
            epochs.push(epoch(&txn.header));
            found.extend(txn.responses.into_iter().map(|it| it.response_range.one()));
        }
        epochs.dedup();
        let [epoch] = &mut epochs[..] else {
            // The leader changed in the middle.
            return Err(Trouble::Other(StoreError::Unreachable {
                url: self.url.to_string(),
                why: "its leader changed while it was asked: try again".to_owned(),
            }));
        };
        Ok(Batch {
            shown,
            found,
            during: Moment::between(asked, latest),
            epoch: std::mem::take(epoch),
        })
    }

    /// Adds a request to those that are sent next, if a look may send it.
    fn post(&mut self, path: &str, body: &str) -> Result<(), StoreError> {
        if !may_send("POST", path, body.as_bytes()) {
            return Err(StoreError::Unexpected(format!(
                "POST {path} is not among what a look may send: nothing was sent"
            )));
        }
        self.pipeline.post(path, self.token.as_deref(), body);
        Ok(())
    }

    fn log_in(&mut self, patience: &mut Patience) -> Result<(), Trouble> {
        let Some((user, password)) = self.url.login.clone().filter(|_| self.token.is_none()) else {
            return Ok(());
        };
        self.pipeline.begin();
        let body = json!({ "name": user, "password": password }).to_string();
        self.post("/v3/auth/authenticate", &body)?;
        let answers = self.pipeline.exchange(patience)?;
        let answer = answers
            .first()
            .ok_or_else(|| strange(&self.url, "an answer is missing"))?;
        let login: Login = self.understood(answer)?;
        self.token = Some(login.token);
        Ok(())
    }

    fn understood<T: DeserializeOwned>(&self, answer: &Answered) -> Result<T, Trouble> {
        if answer.status == 200 {
            return first(&answer.body)
                .map_err(|why| strange(&self.url, &format!("an answer that is not understood: {why}")).into());
        }
        Err(match first::<Refusal>(&answer.body) {
            Ok(error) if is_stale_login(&error) => Trouble::StaleLogin(refusal(&self.url.to_string(), &error)),
            Ok(error) if !error.message.is_empty() => Trouble::Other(refusal(&self.url.to_string(), &error)),
            _ => strange(&self.url, &format!("HTTP status {}", answer.status)).into(),
        })
    }
}

fn strange(url: &EtcdUrl, what: &str) -> StoreError {
    StoreError::Unexpected(format!(
        "{url}: {what}: is it an etcd server, 3.4 or later, with its JSON gateway?"
    ))
}

/// How a batch failed.
enum Trouble {
    /// A new login is needed.
    StaleLogin(StoreError),
    Other(StoreError),
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Other(error)
    }
}
