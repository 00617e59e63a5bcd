//! Calls of the gateway: the login, and which failures mean *certainly not done*.

use crate::done::Done;
use crate::error::StoreError;
use crate::etcd::allow::allows;
use crate::etcd::message::{Login, Range, Refusal, Streamed, first};
use crate::etcd::place;
use crate::etcd::server::{is_definite, is_stale_login, refusal};
use crate::http::{Answer, Client, Place, Request};
use crate::patience::Patience;
use crate::url::{EtcdUrl, Layout};
use crate::wire::{Failed, Tls};
use leaseproof_model::moment::Moment;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::time::Duration;

/// How a call failed.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The server refused it, or it never left: it was certainly not done.
    NotDone(StoreError),
    /// Nobody knows.
    Unknown(StoreError),
}

impl Trouble {
    pub(super) fn into_error(self) -> StoreError {
        match self {
            Self::NotDone(error) | Self::Unknown(error) => error,
        }
    }

    pub(super) fn done<T>(self, during: Moment) -> Done<T> {
        match self {
            Self::NotDone(error) => Done::failed(error, during),
            Self::Unknown(error) => Done::unknown(error, during),
        }
    }
}

/// One member of a cluster; another, once it does not answer or has lost the others.
pub(super) struct Gateway {
    client: Client,
    /// Whose layout the keys have.
    pub(super) layout: Layout,
    /// User and password.
    login: Option<(String, String)>,
    /// What the server gave for them.
    token: Option<String>,
}

impl Gateway {
    /// Nothing is connected yet.
    pub(super) fn new(url: &EtcdUrl, connect_timeout: Duration) -> Result<Self, StoreError> {
        let mut places = Vec::new();
        for (host, port) in url.server.places() {
            let tls = url
                .server
                .tls
                .then(|| Tls::new(url.server.ca.as_deref(), url.server.tls_name(&host), url))
                .transpose()?;
            places.push(Place {
                shown: url.to_string(),
                what: "an etcd server, 3.4 or later, with its JSON gateway",
                host,
                port,
                tls,
            });
        }
        Ok(Self {
            client: Client::new(places, connect_timeout)?,
            layout: url.layout,
            login: url.login.clone(),
            token: None,
        })
    }

    /// The way to the same server.
    pub(super) fn place(&self) -> &Place {
        self.client.place()
    }

    /// From now on nothing is sent but what a look may send.
    pub(super) fn only_looks(mut self) -> Self {
        self.client.only(allows);
        self
    }

    pub(super) fn disconnect(&mut self) {
        self.client.disconnect();
    }

    /// Asks another member from the next use on, where there is one.
    pub(super) fn move_on(&mut self) {
        self.client.move_on();
    }

    /// Asks this member from the next use on.
    pub(super) fn prefer(&mut self, member: usize) {
        self.client.prefer(member);
    }

    /// Connects and logs in if need be, so that a reading's own time is the reading's alone.
    pub(super) fn connect(&mut self, patience: &mut Patience) -> Result<(), StoreError> {
        self.client.connect(patience)?;
        self.log_in(patience).map_err(Trouble::into_error)
    }

    /// One call. It is repeated only where it was certainly not done.
    pub(super) fn call<T: DeserializeOwned>(
        &mut self,
        path: &str,
        body: &Value,
        patience: &mut Patience,
    ) -> Result<T, Trouble> {
        let mut again = true;
        loop {
            self.log_in(patience)?;
            match self.once(path, body, patience) {
                Ok(answer) => return self.understood(&answer.body).map_err(Trouble::Unknown),
                Err(Problem::StaleLogin(trouble)) => {
                    self.token = None;
                    if !again {
                        return Err(trouble);
                    }
                }
                // A connection that the server had closed: another is tried.
                Err(Problem::Other(Trouble::NotDone(StoreError::Unreachable { .. }))) if again => {}
                Err(Problem::Other(trouble)) => return Err(trouble),
            }
            again = false;
        }
    }

    /// A call that changes nothing: it may be repeated whatever became of it.
    pub(super) fn read<T: DeserializeOwned>(
        &mut self,
        path: &str,
        body: &Value,
        patience: &mut Patience,
    ) -> Result<T, StoreError> {
        for _ in 1..self.client.members() {
            let mut part = patience.half();
            let allowed = part.left();
            let answer = self.call(path, body, &mut part);
            patience.take(allowed.saturating_sub(part.left()));
            match answer.map_err(Trouble::into_error) {
                Ok(answer) => return Ok(answer),
                // The next is asked then.
                Err(StoreError::TimedOut(_) | StoreError::Unreachable { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        match self.call(path, body, patience) {
            Ok(answer) => Ok(answer),
            // A restarted server is seen at once.
            Err(Trouble::Unknown(StoreError::Unreachable { .. })) => {
                self.call(path, body, patience).map_err(Trouble::into_error)
            }
            Err(trouble) => Err(trouble.into_error()),
        }
    }

    /// The key that holds the lease, by a linearizable read.
    pub(super) fn range(&mut self, key: impl AsRef<[u8]>, patience: &mut Patience) -> Result<Range, StoreError> {
        let question = place::first(self.layout, key, 1);
        let range: Range = self.read("kv/range", &question, patience)?;
        // Every answer names its member; what says nothing of itself answers `{}` to everything.
        match range.header.member_id {
            0 => Err(self.strange("an answer without a header")),
            _ => Ok(range),
        }
    }

    fn log_in(&mut self, patience: &mut Patience) -> Result<(), Trouble> {
        let Some((user, password)) = &self.login else {
            return Ok(());
        };
        if self.token.is_some() {
            return Ok(());
        }
        let body = json!({ "name": user, "password": password });
        // Whatever becomes of a login, the call that needs it was not done.
        let answer = self
            .once("auth/authenticate", &body, patience)
            .map_err(|problem| Trouble::NotDone(problem.trouble().into_error()))?;
        let login: Login = self.understood(&answer.body).map_err(Trouble::NotDone)?;
        self.token = Some(login.token);
        Ok(())
    }

    fn once(&mut self, path: &str, body: &Value, patience: &mut Patience) -> Result<Answer, Problem> {
        let mut request = Request::post_json(format!("/v3/{path}"), body.to_string());
        if let Some(token) = &self.token {
            request = request.header("authorization", token);
        }
        let answer = self.client.ask(&request, patience).map_err(|failed| {
            Problem::Other(match failed {
                Failed::NotSent(error) => Trouble::NotDone(error),
                Failed::Unknown(error) => Trouble::Unknown(error),
            })
        })?;
        // A stream says "200" before it says what went wrong.
        let streamed = first::<Streamed>(&answer.body).ok().and_then(|streamed| streamed.error);
        let error = match streamed {
            Some(Value::Object(error)) => serde_json::from_value(Value::Object(error)).ok(),
            _ if answer.is_ok() => return Ok(answer),
            _ => first::<Refusal>(&answer.body).ok(),
        };
        let url = self.client.place().shown.clone();
        Err(match error.filter(|error| !error.message.is_empty()) {
            Some(error) if is_stale_login(&error) => Problem::StaleLogin(Trouble::NotDone(refusal(&url, &error))),
            Some(error) if is_definite(&error) => Problem::Other(Trouble::NotDone(refusal(&url, &error))),
            Some(error) => {
                // It has no leader, or no answer from it: another member may be better off.
                self.client.move_on();
                Problem::Other(Trouble::Unknown(refusal(&url, &error)))
            }
            None => {
                let error = self.strange(&answer.quoted());
                // What is no gateway has done nothing; a proxy in between may answer for one that has.
                Problem::Other(if (400..500).contains(&answer.status) {
                    Trouble::NotDone(error)
                } else {
                    Trouble::Unknown(error)
                })
            }
        })
    }

    fn understood<T: DeserializeOwned>(&self, body: &[u8]) -> Result<T, StoreError> {
        first(body).map_err(|why| self.strange(&format!("an answer that is not understood: {why}")))
    }

    pub(super) fn strange(&self, what: &str) -> StoreError {
        let place = self.client.place();
        StoreError::Unexpected(format!("{}: {what}: is it {}?", place.shown, place.what))
    }
}

/// What became of one request.
enum Problem {
    /// A new login is needed; nothing was done.
    StaleLogin(Trouble),
    Other(Trouble),
}

impl Problem {
    fn trouble(self) -> Trouble {
        match self {
            Self::StaleLogin(trouble) | Self::Other(trouble) => trouble,
        }
    }
}
