//! The calls of the HTTP API, and which failures mean *certainly not done*.
//!
//! Keys are read and written by transactions alone, whose bodies hold any key: in a path the server cleans
//! up what looks like a folder.

use super::allow::allows;
use crate::error::{Lasts, StoreError};
use crate::http::{Answer, Client, LIMIT, Place, Request};
use crate::patience::Patience;
use crate::url::ConsulUrl;
use crate::wire::{Failed, Tls};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::Duration;

/// One agent.
pub(crate) struct Api {
    client: Client,
    pub(crate) url: ConsulUrl,
}

/// The most that a list of keys or sessions may have, or the values of many keys.
pub(super) const LIST: usize = 64 * 1024 * 1024;

/// What an agent means that refuses who gives none.
pub(super) const WANTS_TOKEN: &str = "it wants a token, and the URL has none: give one, consul://:token@host";

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

    pub(super) fn call(
        &mut self,
        method: &'static str,
        path: &str,
        body: &Value,
        patience: &mut Patience,
    ) -> Result<Answer, Failed> {
        self.long_call(method, path, body, LIMIT, patience)
    }

    /// The same, whose answer may have `most` bytes.
    pub(super) fn long_call(
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

    pub(super) fn strange(&self, answer: &Answer) -> StoreError {
        StoreError::Unexpected(format!("{}: {}: is it a Consul agent?", self.url, answer.quoted()))
    }

    /// An answer that is no success.
    pub(super) fn failure(&self, answer: &Answer) -> Failed {
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

    pub(super) fn parsed<T: DeserializeOwned>(&self, answer: &Answer) -> Result<T, Failed> {
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
}
