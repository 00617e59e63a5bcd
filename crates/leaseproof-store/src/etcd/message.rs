//! The gateway's JSON: 64-bit numbers are texts, bytes are base64, and what is zero or empty is left out.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use std::str::FromStr;

/// Bytes as the gateway takes them.
pub(super) fn base64(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

fn number<'de, D: Deserializer<'de>, T: FromStr>(from: D) -> Result<T, D::Error> {
    let text = match Value::deserialize(from)? {
        Value::String(text) => text,
        Value::Number(number) => number.to_string(),
        other => return Err(D::Error::custom(format!("{other} is no number"))),
    };
    text.parse()
        .map_err(|_| D::Error::custom(format!("{text} is no number of 64 bits")))
}

fn bytes<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(from)?;
    STANDARD.decode(text).map_err(D::Error::custom)
}

fn many_bytes<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Vec<u8>>, D::Error> {
    let texts = Vec::<String>::deserialize(from)?;
    let decoded = texts.iter().map(|text| STANDARD.decode(text));
    decoded.collect::<Result<_, _>>().map_err(D::Error::custom)
}

/// What comes with every answer.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug, Default)]
#[serde(default)]
pub(super) struct Header {
    #[serde(deserialize_with = "number")]
    pub(super) cluster_id: u64,
    #[serde(deserialize_with = "number")]
    pub(super) member_id: u64,
    #[serde(deserialize_with = "number")]
    pub(super) revision: u64,
    #[serde(deserialize_with = "number")]
    pub(super) raft_term: u64,
}

/// A key as it stands.
#[derive(Deserialize, Clone, PartialEq, Eq, Default)]
#[serde(default)]
pub(super) struct KeyValue {
    #[serde(deserialize_with = "bytes")]
    pub(super) key: Vec<u8>,
    #[serde(deserialize_with = "bytes")]
    pub(super) value: Vec<u8>,
    #[serde(deserialize_with = "number")]
    pub(super) create_revision: u64,
    #[serde(deserialize_with = "number")]
    pub(super) mod_revision: u64,
    /// The lease that it is attached to; 0: none.
    #[serde(deserialize_with = "number")]
    pub(super) lease: i64,
}

/// An answer to `kv/range`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Range {
    pub(super) header: Header,
    pub(super) kvs: Vec<KeyValue>,
    #[serde(deserialize_with = "number")]
    pub(super) count: u64,
}

impl Range {
    /// The one key that was asked for.
    pub(super) fn one(self) -> Option<KeyValue> {
        self.kvs.into_iter().next()
    }
}

/// An answer to `kv/deleterange`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Deleted {
    #[serde(deserialize_with = "number")]
    pub(super) deleted: u64,
    pub(super) prev_kvs: Vec<KeyValue>,
}

/// An answer to `kv/txn`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Txn {
    pub(super) header: Header,
    pub(super) succeeded: bool,
    pub(super) responses: Vec<Response>,
}

impl Txn {
    /// The key that its first response, a range, shows.
    pub(super) fn one(self) -> Option<KeyValue> {
        self.responses.into_iter().next()?.response_range.one()
    }
}

/// The response to one operation of a transaction.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Response {
    pub(super) response_range: Range,
    pub(super) response_delete_range: Deleted,
}

/// An answer to `lease/grant`, `lease/timetolive`, and one message of `lease/keepalive`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct LeaseAnswer {
    pub(super) header: Header,
    #[serde(rename = "TTL", deserialize_with = "number")]
    pub(super) ttl: i64,
    #[serde(rename = "grantedTTL", deserialize_with = "number")]
    pub(super) granted: i64,
    /// The keys attached to it, where they were asked for.
    #[serde(deserialize_with = "many_bytes")]
    pub(super) keys: Vec<Vec<u8>>,
}

/// A message of a stream.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Streamed {
    pub(super) result: Option<LeaseAnswer>,
    pub(super) error: Option<Value>,
}

/// An answer to `maintenance/status`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Status {
    pub(super) header: Header,
    pub(super) version: String,
    #[serde(rename = "dbSize", deserialize_with = "number")]
    pub(super) db_size: u64,
    #[serde(rename = "dbSizeInUse", deserialize_with = "number")]
    pub(super) db_in_use: u64,
    /// Zero: nobody leads.
    #[serde(deserialize_with = "number")]
    pub(super) leader: u64,
    #[serde(rename = "raftIndex", deserialize_with = "number")]
    pub(super) raft_index: u64,
    #[serde(rename = "raftAppliedIndex", deserialize_with = "number")]
    pub(super) applied_index: u64,
    /// Alarms, and that nobody leads.
    pub(super) errors: Vec<String>,
    #[serde(rename = "isLearner")]
    pub(super) is_learner: bool,
}

/// An answer to `cluster/member/list`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Members {
    pub(super) members: Vec<Member>,
}

/// A member of the cluster.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Member {
    /// Empty: it was added and has never been started.
    pub(super) name: String,
    #[serde(rename = "ID", deserialize_with = "number")]
    pub(super) id: u64,
    #[serde(rename = "isLearner")]
    pub(super) is_learner: bool,
}

/// An answer to `auth/authenticate`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Login {
    pub(super) token: String,
}

/// An answer of which only that it came counts.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Anything {}

/// An error, as 3.4 (`error`) and later versions (`message` alone) write it.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Refusal {
    #[serde(alias = "grpc_code", deserialize_with = "number")]
    pub(super) code: i64,
    pub(super) message: String,
}

/// The first JSON text of a body; a stream has one after the other.
pub(super) fn first<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    // A list would be taken for an answer whose fields are all left out.
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err("it is no JSON object".to_owned());
    }
    let mut texts = serde_json::Deserializer::from_slice(body).into_iter::<T>();
    match texts.next() {
        Some(Ok(message)) => Ok(message),
        Some(Err(error)) => Err(error.to_string()),
        None => Err("it is no JSON object".to_owned()),
    }
}

/// The operation that puts a key, attached to a lease.
pub(super) fn put(key: &str, value: &str, lease: i64) -> Value {
    json!({ "key": base64(key), "value": base64(value), "lease": lease.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_real_servers_are_understood() {
        // From etcd 3.4.23.
        let range: Range = first(
            br#"{"header":{"cluster_id":"16669793395648480238","member_id":"1767428333833140196",
            "revision":"2","raft_term":"2"},"kvs":[{"key":"Zm9v","create_revision":"2","mod_revision":"2",
            "version":"1","value":"dg==","lease":"77"}],"count":"1"}"#,
        )
        .expect("a range");
        assert_eq!((range.header.cluster_id, range.count), (16_669_793_395_648_480_238, 1));
        let one = range.one().expect("a key");
        assert_eq!((&one.value[..], one.mod_revision, one.lease), (&b"v"[..], 2, 77));
        let gone: LeaseAnswer = first(br#"{"header":{},"ID":"77","TTL":"-1"}"#).expect("a lease");
        assert_eq!((gone.ttl, gone.granted), (-1, 0));
        let last: LeaseAnswer = first(br#"{"header":{},"ID":"77","grantedTTL":"3"}"#).expect("a lease");
        assert_eq!((last.ttl, last.granted), (0, 3));
        let streamed: Streamed = first(b"{\"result\":{\"ID\":\"78\",\"TTL\":\"3\"}}\n\n").expect("a message");
        assert_eq!(streamed.result.map(|it| it.ttl), Some(3));
        let refusal: Refusal = first(br#"{"error":"e","message":"etcdserver: x","code":9}"#).expect("an error");
        assert_eq!((refusal.code, &refusal.message[..]), (9, "etcdserver: x"));
        // From etcd 3.6.8.
        let refusal: Refusal = first(br#"{"code":3,"message":"etcdserver: y"}"#).expect("an error");
        assert_eq!((refusal.code, &refusal.message[..]), (3, "etcdserver: y"));
    }

    #[test]
    fn what_is_none_is_refused() {
        for body in [
            &b""[..],
            b"Not Found\n",
            b"[]",
            br#"{"count":"x"}"#,
            br#"{"kvs":[{"value":"%"}]}"#,
        ] {
            assert!(first::<Range>(body).is_err(), "{}", String::from_utf8_lossy(body));
        }
    }
}
