//! Looking at a lease in Consul, through the leader.

use super::api::Api;
use super::entry::Entry;
use super::keys::{Found, GETS};
use super::server::Server;
use crate::clock::boot_now;
use crate::error::StoreError;
use crate::inspect::{names_a_holder, text_key};
use crate::patience::Patience;
use crate::seen::Seen;
use crate::url::ConsulUrl;
use crate::{Listing, Observe, OneOfMany, one_by_one, texts};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Held, Reading};
use leaseproof_model::moment::Moment;
use leaseproof_model::store::StoreFacts;
use std::collections::HashMap;
use std::time::Duration;

/// What is known of a session.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Known {
    /// Its TTL, which never changes; none: it has none.
    Shown(Option<Duration>),
    /// It ended between two answers, or this token may not see it: it is not asked for again.
    Hidden,
}

/// An observer.
pub(crate) struct Observer {
    pub(super) api: Api,
    pub(super) timeout: Duration,
    facts: StoreFacts,
    pub(super) server: Server,
    /// On which connection the server was asked who it is.
    asked_on: u64,
    /// The session looked at last, and its TTL, which never changes.
    session: Option<(String, Option<Duration>)>,
    /// What is known of the sessions of many keys.
    sessions: HashMap<String, Known>,
    seen: Seen<(Option<Entry>, String)>,
}

impl Observer {
    pub(crate) fn open(url: &ConsulUrl, timeout: Duration) -> Result<Self, StoreError> {
        let mut api = Api::new(url, timeout)?.only_looks();
        let server = Server::ask(&mut api, &mut Patience::new(timeout))?;
        Ok(Self {
            asked_on: api.connections(),
            api,
            timeout,
            facts: server.facts(url.lock_delay),
            server,
            session: None,
            sessions: HashMap::new(),
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
    fn ttl(
        &mut self,
        id: &str,
        said: Option<Duration>,
        patience: &mut Patience,
    ) -> Result<Option<Duration>, StoreError> {
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
            // It ended between two answers, or this token may not see it: then its holder's word counts.
            None => Ok(said.or(self.facts.ttl_ceiling)),
        }
    }
}

impl Observer {
    /// The TTLs of all these sessions, with one request where there is one that is not known.
    fn know(&mut self, wanted: &[String], patience: &mut Patience) -> Result<(), StoreError> {
        if wanted.iter().all(|id| self.sessions.contains_key(id)) {
            return Ok(());
        }
        let shown = self.api.sessions(patience).map_err(|failed| failed.into_error())?;
        self.sessions = shown.into_iter().map(|it| (it.id, Known::Shown(it.ttl))).collect();
        for id in wanted {
            self.sessions.entry(id.clone()).or_insert(Known::Hidden);
        }
        Ok(())
    }

    /// At most [`GETS`] keys. A read may be repeated: the connection may have been closed meanwhile.
    fn entries(&mut self, keys: &[&str], patience: &mut Patience) -> Result<Vec<Found>, StoreError> {
        match self.api.entries(keys, patience).map_err(|failed| failed.into_error()) {
            Err(StoreError::Unreachable { .. }) => {
                self.api.entries(keys, patience).map_err(|failed| failed.into_error())
            }
            done => done,
        }
    }

    fn reading(&mut self, key: &str, at: Moment, entry: Option<Entry>, bound: Option<Duration>) -> OneOfMany {
        names_a_holder(key, entry.as_ref().map_or(0, Entry::size))?;
        let layout = self.api.url.layout;
        let epoch = self.server.epoch();
        let previous = self.seen.note(key, at.earliest, (entry.clone(), epoch.clone()));
        let reading = Reading {
            previous,
            held: entry.map(|entry| Held {
                holder: entry.holder(layout),
                token: entry.shown_token(layout),
                expires: None,
                bound,
                ttl: None,
                expired: false,
                granted: None,
                renewed: None,
                write_lock: false,
            }),
            counter: None,
            server_ns: None,
            epoch: Some(epoch),
        };
        Ok((at, reading))
    }

    /// Another connection may be to another server.
    fn ask_who(&mut self, patience: &mut Patience) -> Result<(), StoreError> {
        if self.api.connections() != self.asked_on {
            self.server = Server::ask(&mut self.api, patience)?;
            self.asked_on = self.api.connections();
        }
        Ok(())
    }

    /// At most [`GETS`] keys.
    fn batch(&mut self, keys: &[&str]) -> Result<Vec<OneOfMany>, StoreError> {
        let patience = &mut Patience::new(self.timeout);
        self.api.connect(patience)?;
        let asked = boot_now();
        let entries = self.entries(keys, patience)?;
        let moment = Moment::between(asked, boot_now());
        self.ask_who(patience)?;
        let session = |found: &Found| match found {
            Found::Entry(entry) => entry.session().map(str::to_owned),
            _ => None,
        };
        let wanted: Vec<String> = entries.iter().filter_map(session).collect();
        self.know(&wanted, patience)?;
        let readings = keys.iter().zip(entries).map(|(key, found)| {
            let entry = match found {
                Found::Entry(entry) => Some(entry).filter(|entry| entry.session().is_some()),
                Found::Absent => None,
                // That says nothing about the next key.
                Found::Hidden => return Err(self.api.hidden(key)),
            };
            let bound = entry
                .as_ref()
                .and_then(|entry| match self.sessions.get(entry.session()?) {
                    Some(Known::Shown(ttl)) => *ttl,
                    // Its holder's word counts.
                    _ => entry.bound().or(self.facts.ttl_ceiling),
                });
            self.reading(key, moment, entry, bound)
        });
        Ok(readings.collect())
    }
}

impl Observe for Observer {
    fn facts(&self) -> &StoreFacts {
        &self.facts
    }

    fn prefer(&mut self, member: usize) {
        self.api.prefer(member);
    }

    fn read(&mut self, key: &str) -> Result<(Moment, Reading), StoreError> {
        let mut patience = Patience::new(self.timeout);
        let (asked, entry) = self.look(key, &mut patience)?;
        let moment = Moment::between(asked, boot_now());
        self.ask_who(&mut patience)?;
        let bound = match entry.as_ref().and_then(|entry| Some((entry.session()?, entry.bound()))) {
            Some((session, said)) => self.ttl(session, said, &mut patience)?,
            None => None,
        };
        self.reading(key, moment, entry, bound)
    }

    fn read_keys(&mut self, keys: &[&[u8]]) -> Result<Vec<OneOfMany>, StoreError> {
        texts(keys, text_key, |keys| {
            if self.api.url.layout.is_recipe() {
                return one_by_one(keys, |key| self.read(key));
            }
            let mut all = Vec::with_capacity(keys.len());
            for keys in keys.chunks(GETS) {
                all.extend(self.batch(keys)?);
            }
            Ok(all)
        })
    }

    fn leases_below(&mut self, prefix: &str, most: usize) -> Result<Option<Listing>, StoreError> {
        if self.api.url.layout.is_recipe() {
            return Ok(None);
        }
        let patience = &mut Patience::new(self.timeout);
        let mut keys = self
            .api
            .keys_below(prefix, patience)
            .map_err(|failed| failed.into_error())?;
        // A folder that somebody made is no lease.
        keys.retain(|key| !key.ends_with('/'));
        keys.sort_unstable();
        let more = keys.len() > most;
        keys.truncate(most);
        Ok(Some(Listing {
            keys,
            more,
            not_text: 0,
        }))
    }
}
