//! The wrong statements on etcd, over its JSON gateway.

use super::{Answer, Wrong};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::name::{HolderId, Token};
use leaseproof_store::{Grant, Refusal, StoreUrl};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// The most that an answer may have, in bytes.
const LIMIT: u64 = 1 << 20;

/// A server.
#[derive(Debug)]
pub(super) struct Etcd {
    host: String,
    port: u16,
}

impl Etcd {
    pub(super) fn new(url: &StoreUrl) -> Result<Self, String> {
        let text = url.with_secrets();
        match url.host_port() {
            Some((host, port)) if text.starts_with("etcd:") && !text.contains('@') => Ok(Self {
                host: host.to_owned(),
                port,
            }),
            _ => Err(
                "flaws that send statements of their own speak no TLS and log in nowhere: give an etcd:// store \
                 without a user"
                    .to_owned(),
            ),
        }
    }

    /// HTTP/1.0, so that the answer's end is the connection's.
    fn ask(&self, path: &str, body: &Value, timeout: Duration) -> Result<Value, String> {
        let asked = || -> std::io::Result<String> {
            let mut addresses = (self.host.as_str(), self.port).to_socket_addrs()?;
            let address = addresses
                .next()
                .ok_or_else(|| std::io::Error::other("the host has no address"))?;
            let mut stream = TcpStream::connect_timeout(&address, timeout)?;
            stream.set_read_timeout(Some(timeout))?;
            stream.set_write_timeout(Some(timeout))?;
            let body = body.to_string();
            let length = body.len();
            let request = format!("POST /v3/{path} HTTP/1.0\r\nContent-Length: {length}\r\n\r\n{body}");
            stream.write_all(request.as_bytes())?;
            let mut answer = String::new();
            stream.take(LIMIT).read_to_string(&mut answer)?;
            Ok(answer)
        };
        let answer = asked().map_err(|error| format!("etcd at {}:{}: {error}", self.host, self.port))?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        if head.split(' ').nth(1) != Some("200") {
            return Err(format!("etcd refuses {path}: {}", body.trim()));
        }
        // A stream is one message here, with an empty line after it.
        serde_json::from_str(body.trim()).map_err(|error| format!("etcd's answer to {path}: {error}"))
    }

    /// Puts the key where it is absent (or held by this holder, if `again`); the new token.
    fn put(&self, key: &str, holder: &HolderId, lease: i64, again: bool, timeout: Duration) -> Answer<Token> {
        let (key, value) = (base64(key), base64(holder.as_str()));
        let condition = if again {
            json!({ "target": "VALUE", "result": "EQUAL", "key": key, "value": value })
        } else {
            json!({ "target": "CREATE", "result": "EQUAL", "key": key, "create_revision": "0" })
        };
        let body = json!({
            "compare": [condition],
            "success": [{ "request_put": { "key": key, "value": value, "lease": lease.to_string() } }],
        });
        let answer = self.ask("kv/txn", &body, timeout)?;
        if answer["succeeded"] != json!(true) {
            return Ok(Err(Refusal::Held));
        }
        Ok(Ok(Token(number(&answer["header"]["revision"]).cast_unsigned())))
    }

    /// The key's lease, 0 where it has none; `None` where there is no key.
    fn lease_of(&self, key: &str, timeout: Duration) -> Result<Option<i64>, String> {
        let answer = self.ask("kv/range", &json!({ "key": base64(key) }), timeout)?;
        Ok(answer["kvs"].get(0).map(|it| number(&it["lease"])))
    }

    fn keep_alive(&self, lease: i64, timeout: Duration) -> Answer<()> {
        let answer = self.ask("lease/keepalive", &json!({ "ID": lease.to_string() }), timeout)?;
        Ok(if number(&answer["result"]["TTL"]) > 0 {
            Ok(())
        } else {
            Err(Refusal::Gone)
        })
    }

    /// Grants the lease that this holder's incarnation names.
    fn grant_lease(&self, holder: &HolderId, ttl: Duration, timeout: Duration) -> Result<i64, String> {
        let lease = lease_named_by(holder);
        let seconds = ttl.as_millis().div_ceil(1000).max(1);
        let body = json!({ "ID": lease.to_string(), "TTL": seconds.to_string() });
        self.ask("lease/grant", &body, timeout)?;
        Ok(lease)
    }
}

fn base64(text: &str) -> String {
    STANDARD.encode(text)
}

/// A number, which the gateway writes as a text; what is zero is left out.
fn number(value: &Value) -> i64 {
    value.as_str().and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn lease_named_by(holder: &HolderId) -> i64 {
    let incarnation = holder.as_str().rsplit('#').next().unwrap_or_default();
    i64::from_str_radix(incarnation, 16).unwrap_or(0)
}

impl Wrong for Etcd {
    fn grant_without_ttl(&self, key: &str, holder: &HolderId, timeout: Duration) -> Answer<Token> {
        self.put(key, holder, 0, false, timeout)
    }

    fn grant_with_old_token(&self, _: &str, _: &HolderId, _: Duration, _: Duration) -> Answer<Token> {
        Err("token-reused can't be shown on etcd: a token is a revision, and revisions only rise".to_owned())
    }

    fn give_ttl(&self, key: &str, holder: &HolderId, _: Token, ttl: Duration, timeout: Duration) -> Answer<Token> {
        let lease = self.grant_lease(holder, ttl, timeout)?;
        self.put(key, holder, lease, true, timeout)
    }

    fn expire(&self, key: &str, _: Duration, timeout: Duration) -> Answer<()> {
        match self.lease_of(key, timeout)? {
            None => Ok(Err(Refusal::Gone)),
            Some(0) => Ok(Ok(())),
            Some(lease) => self.keep_alive(lease, timeout),
        }
    }

    fn revive(&self, grant: &Grant, _: BootNanos, ttl: Duration, timeout: Duration) -> Answer<()> {
        let lease = lease_named_by(&grant.holder);
        if self.keep_alive(lease, timeout)?.is_err() {
            self.grant_lease(&grant.holder, ttl, timeout)?;
        }
        let key = &grant.key;
        match self.lease_of(key, timeout)? {
            Some(held) if held == lease => Ok(Ok(())),
            Some(_) => Ok(Err(Refusal::NotTheHolder)),
            None => Ok(self
                .put(key, &grant.holder, lease, false, timeout)?
                .map(|_| ())
                .map_err(|_| Refusal::NotTheHolder)),
        }
    }

    fn remove(&self, key: &str, timeout: Duration) -> Answer<()> {
        let answer = self.ask("kv/deleterange", &json!({ "key": base64(key) }), timeout)?;
        Ok(if number(&answer["deleted"]) > 0 {
            Ok(())
        } else {
            Err(Refusal::Gone)
        })
    }
}
