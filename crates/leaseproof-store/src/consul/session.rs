//! Sessions: opened, renewed, ended, shown.

use super::api::{Api, LIST};
use super::go_duration;
use crate::patience::Patience;
use crate::wire::Failed;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// A session, as the server shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Session {
    pub(crate) id: String,
    /// None: it lives until somebody ends it, or the agent's node fails.
    pub(crate) ttl: Option<Duration>,
}

impl Api {
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
