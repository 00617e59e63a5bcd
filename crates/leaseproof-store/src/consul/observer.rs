//! Looking at a lease in Consul, through the leader.

use super::api::Api;
use super::entry::Entry;
use super::server::Server;
use crate::Observe;
use crate::clock::boot_now;
use crate::error::StoreError;
use crate::patience::Patience;
use crate::seen::Seen;
use crate::url::ConsulUrl;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Held, Reading};
use leaseproof_model::moment::Moment;
use leaseproof_model::store::StoreFacts;
use std::time::Duration;

/// An observer.
pub(crate) struct Observer {
    api: Api,
    timeout: Duration,
    facts: StoreFacts,
    server: Server,
    /// On which connection the server was asked who it is.
    asked_on: u64,
    /// The session looked at last, and its TTL, which never changes.
    session: Option<(String, Option<Duration>)>,
    seen: Seen<(Option<Entry>, String)>,
}

impl Observer {
    pub(crate) fn open(url: &ConsulUrl, timeout: Duration) -> Result<Self, StoreError> {
        let mut api = Api::new(url, timeout)?;
        let server = Server::ask(&mut api, &mut Patience::new(timeout))?;
        Ok(Self {
            asked_on: api.connections(),
            api,
            timeout,
            facts: server.facts(url.lock_delay),
            server,
            session: None,
            seen: Seen::new(),
        })
    }

    fn look(&mut self, key: &str, patience: &mut Patience) -> Result<(BootNanos, Option<Entry>), StoreError> {
        let mut repeated = false;
        loop {
            self.api.connect(patience)?;
            let asked = boot_now();
            match self.api.entry(key, patience) {
                Ok(Some(entry)) if self.api.url.layout.is_recipe() && entry.is_semaphore() => {
                    return Err(StoreError::Unexpected(format!(
                        "the key {key}/.lock is a semaphore's (`consul lock -n`), which has several holders: give \
                         the name of a lock, which has one"
                    )));
                }
                Ok(entry) => return Ok((asked, entry.filter(|entry| entry.session().is_some()))),
                Err(failed) => match failed.into_error() {
                    error @ (StoreError::TimedOut(_) | StoreError::Refused { .. }) => return Err(error),
                    error if repeated => return Err(error),
                    // A read may be repeated: the connection may have been closed meanwhile.
                    _ => repeated = true,
                },
            }
        }
    }

    /// The TTL of a session; none: it has none. A session that is over says nothing of its end.
    fn ttl(&mut self, id: &str, patience: &mut Patience) -> Result<Option<Duration>, StoreError> {
        if let Some((known, ttl)) = &self.session
            && known == id
        {
            return Ok(*ttl);
        }
        match self.api.session(id, patience).map_err(|failed| failed.into_error())? {
            Some(session) => {
                self.session = Some((session.id, session.ttl));
                Ok(session.ttl)
            }
            // It ended between two answers; it had a TTL, or somebody ended it.
            None => Ok(self.facts.ttl_ceiling),
        }
    }
}

impl Observe for Observer {
    fn facts(&self) -> &StoreFacts {
        &self.facts
    }

    fn read(&mut self, key: &str) -> Result<(Moment, Reading), StoreError> {
        let mut patience = Patience::new(self.timeout);
        let (asked, entry) = self.look(key, &mut patience)?;
        let moment = Moment::between(asked, boot_now());
        if self.api.connections() != self.asked_on {
            self.server = Server::ask(&mut self.api, &mut patience)?;
            self.asked_on = self.api.connections();
        }
        let layout = self.api.url.layout;
        let epoch = self.server.epoch();
        let bound = match entry.as_ref().and_then(Entry::session) {
            Some(session) => self.ttl(session, &mut patience)?,
            None => None,
        };
        let previous = self.seen.note(key, asked, (entry.clone(), epoch.clone()));
        let reading = Reading {
            previous,
            held: entry.map(|entry| Held {
                holder: entry.holder(layout),
                token: entry.shown_token(layout),
                expires: None,
                bound,
                expired: false,
                granted: None,
                renewed: None,
                write_lock: false,
            }),
            counter: None,
            server_ns: None,
            epoch: Some(epoch),
        };
        Ok((moment, reading))
    }
}
