//! Readings of many keys, on connections of their own.
//!
//! The server tells the TTL of one lease at a time, and a look asks for each. That goes by gRPC, all of a batch
//! at once: its JSON gateway takes four times as much of the server's processor. The keys come in transactions of
//! ranges. As for one key: the TTLs are asked first, of the leases that the keys had at the last look, and the keys
//! once all TTLs are answered. Where something in between passes no gRPC, the gateway is asked, and for a TTL only
//! when a tenth of it has passed since the last look.

use crate::clock::boot_now;
use crate::error::StoreError;
use crate::etcd::allow::may_send;
use crate::etcd::grpc::{Failure, Grpc};
use crate::etcd::message::{KeyValue, Login, Refusal, Txn, base64, first};
use crate::etcd::observer::Shown;
use crate::etcd::protobuf;
use crate::etcd::server::{epoch, is_stale_login, refusal};
use crate::http::{Answered, Pipeline, Place};
use crate::patience::Patience;
use crate::url::EtcdUrl;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::moment::Moment;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::time::Duration;

/// The most operations that a server takes in one transaction, if nobody set another bound.
const RANGES: usize = 128;

/// How many keys one batch asks about.
pub(super) const KEYS: usize = 512;

/// The calls that tell a TTL, and keys.
const TIME_TO_LIVE: &str = "/etcdserverpb.Lease/LeaseTimeToLive";
const TXN: &str = "/etcdserverpb.KV/Txn";

/// After this, gRPC is tried once more where it was not understood.
const AGAIN: Duration = Duration::from_secs(60);

/// The reader of many keys; nothing is connected before the first use.
pub(super) struct Many {
    url: EtcdUrl,
    pipeline: Pipeline,
    grpc: Grpc,
    /// Where it was not understood: when it is tried again.
    gateway_until: Option<BootNanos>,
    /// Whether that was told, and what is yet to be.
    told: bool,
    note: Option<String>,
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
    pub(super) fn new(url: &EtcdUrl, place: &Place, timeout: Duration) -> Result<Self, StoreError> {
        Ok(Self {
            url: url.clone(),
            pipeline: Pipeline::new(place.clone())?,
            grpc: Grpc::new(place.clone())?,
            gateway_until: None,
            told: false,
            note: None,
            timeout,
            token: None,
        })
    }

    /// Whether all leases can be asked about each time; else each now and then.
    pub(super) fn asks_all(&self, now: BootNanos) -> bool {
        self.gateway_until.is_none_or(|until| now >= until)
    }

    /// Asks this member from the next use on.
    pub(super) fn go_to(&mut self, place: &Place) -> Result<(), StoreError> {
        if !self.grpc.is_to(place) {
            self.pipeline = Pipeline::new(place.clone())?;
            self.grpc = Grpc::new(place.clone())?;
            (self.gateway_until, self.told) = (None, false);
        }
        Ok(())
    }

    /// What is to be told of the way that is taken, once.
    pub(super) fn note(&mut self) -> Option<String> {
        self.note.take()
    }

    /// Asks for the TTLs of these leases, one a key and 0 for none, then for the keys. At most [`KEYS`].
    pub(super) fn ask(&mut self, keys: &[&[u8]], leases: &[i64]) -> Result<Batch, StoreError> {
        let mut again = true;
        loop {
            match self.once(keys, leases, again) {
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

    fn once(&mut self, keys: &[&[u8]], leases: &[i64], again: bool) -> Result<Batch, Trouble> {
        let patience = &mut Patience::new(self.timeout);
        self.log_in(patience)?;
        let mut not_spoken = None;
        if self.asks_all(boot_now()) {
            match self.by_grpc(keys, leases, again, patience)? {
                Ok(batch) => {
                    (self.gateway_until, self.told) = (None, false);
                    return Ok(batch);
                }
                Err(why) => not_spoken = Some(why),
            }
        }
        let batch = self.by_gateway(keys, leases, patience)?;
        // The gateway answers: so it is gRPC alone that is not understood.
        if let Some(why) = not_spoken {
            self.stay_with_the_gateway(&why);
        }
        Ok(batch)
    }

    /// The inner error is why it can't be asked so.
    fn by_grpc(
        &mut self,
        keys: &[&[u8]],
        leases: &[i64],
        again: bool,
        patience: &mut Patience,
    ) -> Result<Result<Batch, String>, Trouble> {
        let asked = boot_now();
        let due = leases.iter().filter(|&&lease| lease != 0);
        let questions: Vec<Vec<u8>> = due.map(|&lease| protobuf::time_to_live(lease)).collect();
        let answers = match self.call(TIME_TO_LIVE, &questions, protobuf::time_left, again, patience)? {
            Ok(answers) => answers,
            Err(why) => return Ok(Err(why)),
        };
        let mut answers = answers.into_iter();
        let mut shown = Vec::with_capacity(keys.len());
        for &lease in leases {
            // There is an answer to each question.
            shown.push(match lease {
                0 => None,
                _ => answers
                    .next()
                    .map(|(left, latest)| Shown::by(&left, Moment::between(asked, latest))),
            });
        }
        let questions: Vec<Vec<u8>> = keys.chunks(RANGES).map(protobuf::ranges).collect();
        match self.call(TXN, &questions, protobuf::found, again, patience)? {
            Ok(found) => self.batch(keys, asked, shown, found).map(Ok),
            Err(why) => Ok(Err(why)),
        }
    }

    /// What is answered to each of these calls, and when that had been read.
    fn call<T>(
        &mut self,
        path: &'static str,
        questions: &[Vec<u8>],
        read: fn(&[u8]) -> Result<T, &'static str>,
        again: bool,
        patience: &mut Patience,
    ) -> Result<Result<Vec<(T, BootNanos)>, String>, Trouble> {
        if questions.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let answers = match self.grpc.exchange(path, self.token.as_deref(), questions, patience) {
            Ok(answers) => answers,
            Err(Failure::NotSpoken(why)) => return Ok(Err(why)),
            // Twice in a row it is no server that was just ending.
            Err(Failure::Closed(_)) if !again => return Ok(Err("it closes such a connection".to_owned())),
            Err(Failure::Closed(error) | Failure::Store(error)) => return Err(error.into()),
        };
        let understood = answers.into_iter().map(|answer| match answer.message {
            Ok(message) => match read(&message) {
                Ok(read) => Ok((read, answer.at)),
                Err(why) => Err(strange(&self.url, &format!("an answer that is not understood: {why}")).into()),
            },
            Err(error) => Err(self.refused(&error)),
        });
        understood.collect::<Result<_, Trouble>>().map(Ok)
    }

    /// All in one go, in their order, on one connection.
    fn by_gateway(&mut self, keys: &[&[u8]], leases: &[i64], patience: &mut Patience) -> Result<Batch, Trouble> {
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
        for &lease in leases {
            shown.push(match lease {
                0 => None,
                _ => {
                    let answer = next()?;
                    Some(Shown::by(&self.understood(answer)?, Moment::between(asked, answer.at)))
                }
            });
        }
        let mut found = Vec::new();
        for _ in keys.chunks(RANGES) {
            let answer = next()?;
            found.push((self.understood(answer)?, answer.at));
        }
        self.batch(keys, asked, shown, found)
    }

    /// What the answers make.
    fn batch(
        &self,
        keys: &[&[u8]],
        asked: BootNanos,
        shown: Vec<Option<Shown>>,
        answers: Vec<(Txn, BootNanos)>,
    ) -> Result<Batch, Trouble> {
        let mut found = Vec::with_capacity(keys.len());
        let mut epochs = Vec::new();
        let mut latest = asked;
        for (part, (txn, at)) in keys.chunks(RANGES).zip(answers) {
            if txn.responses.len() != part.len() {
                return Err(strange(&self.url, "an answer with another number of ranges").into());
            }
            if txn.header.member_id == 0 {
                return Err(strange(&self.url, "an answer without a header").into());
            }
            latest = at;
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

    fn stay_with_the_gateway(&mut self, why: &str) {
        if !std::mem::replace(&mut self.told, true) {
            self.note = Some(format!(
                "{}: gRPC can't be used there ({why}), so the JSON gateway is asked, for each TTL when a tenth of it \
                 has passed",
                self.url
            ));
        }
        self.gateway_until = Some(boot_now().plus(AGAIN));
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
            Ok(error) if !error.message.is_empty() => self.refused(&error),
            _ => strange(&self.url, &format!("HTTP status {}", answer.status)).into(),
        })
    }

    fn refused(&self, error: &Refusal) -> Trouble {
        let told = refusal(&self.url.to_string(), error);
        match is_stale_login(error) {
            true => Trouble::StaleLogin(told),
            false => Trouble::Other(told),
        }
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
