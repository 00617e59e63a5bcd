//! The calls of the HTTP API, and which failures mean *certainly not done*.
//!
//! Keys are read and written by transactions alone, whose bodies hold any key: in a path the server cleans
//! up what looks like a folder.

use super::allow::allows;
use super::entry::Entry;
use super::go_duration;
use super::tools::in_path;
use crate::error::{Lasts, StoreError};
use crate::http::{Answer, Client, LIMIT, Place, Request};
use crate::patience::Patience;
use crate::url::{ConsulUrl, Layout};
use crate::wire::{Failed, Tls};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::Duration;

/// What `consul lock` and the Go client's `api.Lock` mark their keys with (`LockFlagValue`).
pub(super) const LOCK_FLAGS: u64 = 0x2ddc_cbc0_58a5_0c18;

/// One agent.
pub(crate) struct Api {
    client: Client,
    pub(crate) url: ConsulUrl,
}

/// The most that a list of keys or sessions may have, or the values of many keys.
const LIST: usize = 64 * 1024 * 1024;

/// What an agent means that refuses who gives none.
const WANTS_TOKEN: &str = "it wants a token, and the URL has none: give one, consul://:token@host";

/// The most operations that a server takes in one transaction.
pub(crate) const GETS: usize = 64;

/// So often a transaction is sent again without the keys that are not there.
const TRIES: usize = 4;

/// A session, as the server shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Session {
    pub(crate) id: String,
    /// None: it lives until somebody ends it, or the agent's node fails.
    pub(crate) ttl: Option<Duration>,
}

/// What a transaction shows of one of many keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    Entry(Entry),
    Absent,
    /// It is there, and this token may not read it.
    Hidden,
}

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
    /// Nothing is connected yet.
    pub(crate) fn new(url: &ConsulUrl, connect_timeout: Duration) -> Result<Self, StoreError> {
        let server = &url.server;
        let mut places = Vec::new();
        for (host, port) in server.places() {
            let tls = server
                .tls
                .then(|| Tls::new(server.ca.as_deref(), server.tls_name(&host), url));
            places.push(Place {
                shown: url.to_string(),
                what: "a Consul agent",
                tls: tls.transpose()?,
                host,
                port,
            });
        }
        Ok(Self {
            client: Client::new(places, connect_timeout)?,
            url: url.clone(),
        })
    }

    /// From now on nothing is sent but what a look may send.
    pub(crate) fn only_looks(mut self) -> Self {
        self.client.only(allows);
        self
    }

    pub(crate) fn disconnect(&mut self) {
        self.client.disconnect();
    }

    /// Asks this member from the next use on.
    pub(crate) fn prefer(&mut self, member: usize) {
        self.client.prefer(member);
    }

    /// How many connections there were: another one may be to another start of the server.
    pub(crate) fn connections(&self) -> u64 {
        self.client.connections()
    }

    /// Connects if need be, so that a reading's own time is the reading's alone.
    pub(crate) fn connect(&mut self, patience: &mut Patience) -> Result<(), StoreError> {
        self.client.connect(patience)
    }

    fn call(
        &mut self,
        method: &'static str,
        path: &str,
        body: &Value,
        patience: &mut Patience,
    ) -> Result<Answer, Failed> {
        self.long_call(method, path, body, LIMIT, patience)
    }

    /// The same, whose answer may have `most` bytes.
    fn long_call(
        &mut self,
        method: &'static str,
        path: &str,
        body: &Value,
        most: usize,
        patience: &mut Patience,
    ) -> Result<Answer, Failed> {
        let mut request = Request::new(method, path).up_to(most);
        if !body.is_null() {
            request = request.body(body.to_string());
        }
        if let Some(token) = &self.url.token {
            request = request.header("x-consul-token", token.as_str());
        }
        let answer = self.client.ask(&request, patience)?;
        if answer.status >= 500 {
            // It has no leader, or no answer from it: another member may be better off.
            self.client.move_on();
        }
        Ok(answer)
    }

    fn strange(&self, answer: &Answer) -> StoreError {
        StoreError::Unexpected(format!("{}: {}: is it a Consul agent?", self.url, answer.quoted()))
    }

    /// An answer that is no success.
    fn failure(&self, answer: &Answer) -> Failed {
        let text = String::from_utf8_lossy(&answer.body);
        let lasting = |lasts, why: &str| Failed::NotSent(StoreError::refused(&self.url, why, lasts));
        let refused = |why: &str| lasting(Lasts::Mended, why);
        let for_now = |why: &str| lasting(Lasts::Moment, why);
        match answer.status {
            403 if text.contains("ACL not found") => {
                refused("it does not know the token of the URL, consul://:token@host")
            }
            403 if self.url.token.is_none() => refused(WANTS_TOKEN),
            403 => refused("the token of the URL may not do this: give one that may, consul://:token@host"),
            429 => for_now("too many requests: try again later"),
            500 if text.contains("No cluster leader") => for_now("it has no leader: try again later"),
            500 if text.contains("Invalid Session TTL") => refused(text.trim()),
            // A write may be on its way through the log.
            500.. => Failed::Unknown(StoreError::Unexpected(format!("{}: {}", self.url, answer.quoted()))),
            _ => Failed::NotSent(self.strange(answer)),
        }
    }

    fn parsed<T: DeserializeOwned>(&self, answer: &Answer) -> Result<T, Failed> {
        serde_json::from_slice(&answer.body).map_err(|_| Failed::Unknown(self.strange(answer)))
    }

    /// Reads something.
    pub(crate) fn get<T: DeserializeOwned>(&mut self, path: &str, patience: &mut Patience) -> Result<T, Failed> {
        self.get_up_to(path, LIMIT, patience)
    }

    /// The same, of `most` bytes.
    pub(crate) fn get_up_to<T: DeserializeOwned>(
        &mut self,
        path: &str,
        most: usize,
        patience: &mut Patience,
    ) -> Result<T, Failed> {
        for _ in 1..self.client.members() {
            let mut part = patience.half();
            let allowed = part.left();
            let answer = self.got(path, most, &mut part);
            patience.take(allowed.saturating_sub(part.left()));
            match answer {
                // The next is asked then.
                Err(Failed::NotSent(error) | Failed::Unknown(error))
                    if matches!(error, StoreError::TimedOut(_) | StoreError::Unreachable { .. }) => {}
                answer => return answer,
            }
        }
        self.got(path, most, patience)
    }

    fn got<T: DeserializeOwned>(&mut self, path: &str, most: usize, patience: &mut Patience) -> Result<T, Failed> {
        let answer = self.long_call("GET", path, &Value::Null, most, patience)?;
        if answer.is_ok() {
            self.parsed(&answer)
        } else {
            Err(self.failure(&answer))
        }
    }

    /// Opens a session. Its TTL ends it, and nothing else does: no health check of the agent's node.
    pub(crate) fn open_session(&mut self, ttl: Duration, patience: &mut Patience) -> Result<Session, Failed> {
        let body = json!({
            "Name": "leaseproof",
            "TTL": format!("{}ms", ttl.as_micros().div_ceil(1000)),
            "LockDelay": format!("{}ms", self.url.lock_delay.as_millis()),
            "Behavior": "release",
            "NodeChecks": [],
        });
        let answer = self.call("PUT", "/v1/session/create", &body, patience)?;
        if !answer.is_ok() {
            return Err(self.failure(&answer));
        }
        let made: Made = self.parsed(&answer)?;
        Ok(Session {
            id: made.id,
            ttl: Some(ttl),
        })
    }

    /// Extends a session to a whole TTL from now; none if it is over.
    pub(crate) fn renew_session(&mut self, id: &str, patience: &mut Patience) -> Result<Option<Session>, Failed> {
        let answer = self.call("PUT", &format!("/v1/session/renew/{id}"), &Value::Null, patience)?;
        match answer.status {
            404 if String::from_utf8_lossy(&answer.body).starts_with("Session id") => Ok(None),
            200 => Ok(self.parsed::<Vec<Shown>>(&answer)?.pop().map(Session::from)),
            _ => Err(self.failure(&answer)),
        }
    }

    /// Ends a session; its keys are free after the lock-delay.
    pub(crate) fn end_session(&mut self, id: &str, patience: &mut Patience) -> Result<(), Failed> {
        let answer = self.call("PUT", &format!("/v1/session/destroy/{id}"), &Value::Null, patience)?;
        if answer.is_ok() {
            Ok(())
        } else {
            Err(self.failure(&answer))
        }
    }

    /// A session as it is; none if it is over.
    pub(crate) fn session(&mut self, id: &str, patience: &mut Patience) -> Result<Option<Session>, Failed> {
        let mut shown: Vec<Shown> = self.get(&format!("/v1/session/info/{id}?consistent"), patience)?;
        Ok(shown.pop().map(Session::from))
    }

    /// All sessions that this token may see.
    pub(crate) fn sessions(&mut self, patience: &mut Patience) -> Result<Vec<Session>, Failed> {
        let shown: Vec<Shown> = self.get_up_to("/v1/session/list?consistent", LIST, patience)?;
        Ok(shown.into_iter().map(Session::from).collect())
    }

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
struct Made {
    #[serde(rename = "ID")]
    id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Shown {
    #[serde(rename = "ID")]
    id: String,
    #[serde(rename = "TTL", default)]
    ttl: String,
}

impl From<Shown> for Session {
    fn from(shown: Shown) -> Self {
        Self {
            ttl: go_duration::parse(&shown.ttl).filter(|ttl| !ttl.is_zero()),
            id: shown.id,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Transaction {
    results: Option<Vec<TxnResult>>,
    errors: Option<Vec<TxnError>>,
}

#[derive(Deserialize)]
struct TxnResult {
    #[serde(rename = "KV")]
    kv: Entry,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TxnError {
    #[serde(default)]
    op_index: usize,
    what: String,
}
