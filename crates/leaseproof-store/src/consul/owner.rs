//! Acquiring, renewing and releasing in Consul.

use super::api::Api;
use super::entry::{Entry, encoded, session_of};
use super::server::{LEAST_TTL, MOST_TTL};
use super::session::Session;
use super::txn::Why;
use crate::clock::boot_now;
use crate::done::{Done, Refusal, Step};
use crate::error::StoreError;
use crate::patience::Patience;
use crate::url::ConsulUrl;
use crate::value::{holder_id, new_incarnation};
use crate::wire::Failed;
use crate::{Grant, Lease};
use leaseproof_model::name::{HolderId, Token};
use serde_json::{Value, json};
use std::time::Duration;

/// An owner's access.
pub(crate) struct Owner {
    api: Api,
    /// A session without a grant, so that a waiter does not open one for each try.
    spare: Option<(Duration, String)>,
    /// The grant that was got last, and its session.
    granted: Option<(Grant, String)>,
}

impl Owner {
    pub(crate) fn open(url: &ConsulUrl, connect_timeout: Duration) -> Result<Self, StoreError> {
        Ok(Self {
            api: Api::new(url, connect_timeout)?,
            spare: None,
            granted: None,
        })
    }

    /// A session that has a whole TTL from now.
    fn session(&mut self, ttl: Duration, patience: &mut Patience) -> Result<String, Failed> {
        if let Some((asked, id)) = self.spare.take()
            && asked == ttl
            && self.api.renew_session(&id, patience)?.is_some()
        {
            return Ok(id);
        }
        open_session(&mut self.api, ttl, patience).map(|session| session.id)
    }

    fn take(&mut self, key: &str, id: &HolderId, ttl: Duration, patience: &mut Patience) -> Step<Grant> {
        // Until the lock itself nothing of a grant is sent.
        let not_sent = |failed: Failed| Failed::NotSent(failed.into_error());
        if ttl > MOST_TTL {
            return Err(Failed::NotSent(StoreError::Unexpected(format!(
                "Consul grants no session of more than {MOST_TTL:?}, and {ttl:?} was asked for: take a shorter TTL"
            ))));
        }
        loop {
            // A key that is held costs no session, and one that holds somebody's data is left alone.
            let entry = self.api.entry(key, patience).map_err(not_sent)?;
            if entry.as_ref().and_then(Entry::session).is_some() {
                return Ok(Err(Refusal::Held));
            }
            if entry.as_ref().is_some_and(Entry::is_foreign) {
                return Err(Failed::NotSent(self.api.foreign(key)));
            }
            let session = self.session(ttl, patience).map_err(not_sent)?;
            // Exactly what was looked at: what somebody puts there meanwhile is not overwritten.
            let ops = [
                self.api.unchanged(key, entry.as_ref()),
                lock(&self.api, key, &session, id, ttl),
            ];
            // A session whose lock may have been applied is never used again: what nobody believes in
            // must not be kept alive.
            match self.api.txn("", &ops, patience)? {
                Ok(entries) => {
                    let done = granted(&self.api, key, id, entries.last());
                    if let Ok(Ok(grant)) = &done {
                        self.granted = Some((grant.clone(), session));
                    }
                    return done;
                }
                Err(Why::Changed | Why::NoKey) => self.spare = Some((ttl, session)),
                Err(Why::NoSession) => {}
                Err(_) => {
                    self.spare = Some((ttl, session));
                    return Ok(Err(Refusal::Held));
                }
            }
        }
    }

    /// The session of a grant: our own, or the one that a look shows. Whoever can read a key can extend or
    /// end its session.
    fn session_of(&mut self, grant: &Grant, patience: &mut Patience) -> Step<String> {
        if let Some((granted, session)) = &self.granted
            && granted == grant
        {
            return Ok(Ok(session.clone()));
        }
        let entry = self
            .api
            .entry(&grant.key, patience)
            .map_err(|failed| Failed::NotSent(failed.into_error()))?;
        Ok(session_of(self.api.url.layout, entry.as_ref(), grant).map(str::to_owned))
    }

    fn extend(&mut self, grant: &Grant, ttl: Duration, patience: &mut Patience) -> Step<()> {
        let session = match self.session_of(grant, patience)? {
            Ok(session) => session,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let renewed = self.api.renew_session(&session, patience)?;
        // A session outlives a key that was taken from it: only the look behind it says whose it is.
        let entry = self
            .api
            .entry(&grant.key, patience)
            .map_err(|failed| Failed::Unknown(failed.into_error()))?;
        match (session_of(self.api.url.layout, entry.as_ref(), grant), renewed) {
            (Err(refusal), _) => Ok(Err(refusal)),
            // It ended just now, and the key is still to be freed.
            (Ok(_), None) => Ok(Err(Refusal::Gone)),
            // It was extended, and not by what was asked: nobody may believe in that.
            (Ok(_), Some(renewed)) if renewed.ttl.is_some_and(|granted| granted < ttl) => {
                Err(Failed::Unknown(StoreError::Unexpected(format!(
                    "the grant's session is of {:?}, and {ttl:?} was asked for: a longer TTL needs a new grant",
                    renewed.ttl.unwrap_or_default()
                ))))
            }
            (Ok(_), Some(_)) => Ok(Ok(())),
        }
    }

    fn give_up(&mut self, grant: &Grant, patience: &mut Patience) -> Step<()> {
        let session = match self.session_of(grant, patience)? {
            Ok(session) => session,
            Err(refusal) => return Ok(Err(refusal)),
        };
        // A session has one grant, so that what it unlocks is this one. No lock-delay follows.
        let unlock = self.api.op_of("unlock", &grant.key, &session);
        if self.api.txn("", &[unlock], patience)?.is_err() {
            let entry = self.api.entry(&grant.key, patience)?;
            return Ok(Err(session_of(self.api.url.layout, entry.as_ref(), grant)
                .err()
                .unwrap_or(Refusal::Gone)));
        }
        // Given up is given up: a session that stays ends by its TTL.
        let _ = self.api.end_session(&session, patience);
        self.granted = None;
        Ok(Ok(()))
    }
}

/// Opens a session, of the least TTL where less was asked for.
pub(super) fn open_session(api: &mut Api, ttl: Duration, patience: &mut Patience) -> Result<Session, Failed> {
    match api.open_session(ttl, patience) {
        Err(Failed::NotSent(StoreError::Refused { why, .. })) if why.contains("Invalid Session TTL") => {
            // The least may be set otherwise than by default; the refusal says it.
            let least = why
                .split_once('[')
                .and_then(|(_, bounds)| super::go_duration::parse(bounds.split('=').next()?))
                .unwrap_or(LEAST_TTL);
            api.open_session(least, patience)
        }
        opened => opened,
    }
}

/// The operation that gives a key to a session.
pub(super) fn lock(api: &Api, key: &str, session: &str, holder: &HolderId, ttl: Duration) -> Value {
    let mut lock = api.op_of("lock", key, session);
    lock["Value"] = json!(encoded(holder, ttl));
    lock
}

/// The grant that a lock came to.
pub(super) fn granted(api: &Api, key: &str, id: &HolderId, entry: Option<&Entry>) -> Step<Grant> {
    match entry.map(Entry::token) {
        Some(token) if token > Token(0) => Ok(Ok(Grant {
            key: key.to_owned(),
            holder: id.clone(),
            token,
        })),
        _ => Err(Failed::Unknown(StoreError::Unexpected(format!(
            "{}: a lock without a number",
            api.url
        )))),
    }
}

impl Lease for Owner {
    fn acquire(&mut self, key: &str, holder: &str, ttl: Duration, timeout: Duration) -> Done<Grant> {
        let asked = boot_now();
        let id = holder_id(holder, &new_incarnation());
        let step = self.take(key, &id, ttl, &mut Patience::new(timeout));
        Done::of(asked, step)
    }

    fn renew(&mut self, grant: &Grant, ttl: Duration, timeout: Duration) -> Done<()> {
        let asked = boot_now();
        let step = self.extend(grant, ttl, &mut Patience::new(timeout));
        Done::of(asked, step)
    }

    fn release(&mut self, grant: &Grant, timeout: Duration) -> Done<()> {
        let asked = boot_now();
        let step = self.give_up(grant, &mut Patience::new(timeout));
        Done::of(asked, step)
    }

    fn reconnect(&mut self) {
        self.api.disconnect();
    }
}
