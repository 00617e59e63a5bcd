//! What a Consul agent shows beside the lease itself.

use super::allow::ALLOWED;
use super::entry::Entry;
use super::observer::Observer;
use super::shown::{Check, Session, beside, check_words, session_words};
use super::tools;
use crate::Observe;
use crate::error::StoreError;
use crate::http::LIMIT;
use crate::inspect::{Allowed, Hints, Inspect, LONGEST_HOLDER, shown_key, text_key};
use crate::patience::Patience;
use crate::url::ConsulUrl;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Held, Reading};
use leaseproof_model::inspect::Shown;
use leaseproof_model::inspect::store_view::{Attribute, Form, KeyForm, StoreView};
use leaseproof_model::moment::Moment;
use leaseproof_model::store::StoreFacts;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// The most that the checks of a node may have: one of a thousand services has a few thousand.
const CHECKS: usize = 8 * 1024 * 1024;

/// What a token lacks that may read a key and not the session that holds it.
const LACKS: &str = "this token lacks session:read for the session's node, the policy rule \
                     session_prefix \"\" { policy = \"read\" }";

/// A look through one agent.
pub(crate) struct Inspector {
    observer: Observer,
    url: ConsulUrl,
    /// The session that held the key when it was looked at last.
    session: Option<String>,
    /// Whether the token may not read that session.
    unreadable: bool,
    /// Whether what may be the lock lies beside the key.
    elsewhere: bool,
}

impl Inspector {
    pub(crate) fn open(url: &ConsulUrl, timeout: Duration) -> Result<Self, StoreError> {
        Ok(Self {
            observer: Observer::open(url, timeout)?,
            url: url.clone(),
            session: None,
            unreadable: false,
            elsewhere: false,
        })
    }

    /// One answer, or why this token gets none.
    fn ask<T: DeserializeOwned>(&mut self, path: &str) -> Result<Shown<T>, StoreError> {
        self.ask_up_to(path, LIMIT)
    }

    /// The same, of `most` bytes.
    fn ask_up_to<T: DeserializeOwned>(&mut self, path: &str, most: usize) -> Result<Shown<T>, StoreError> {
        let patience = &mut Patience::new(self.observer.timeout);
        match self
            .observer
            .api
            .get_up_to(path, most, patience)
            .map_err(|failed| failed.into_error())
        {
            Ok(answer) => Ok(Shown::Is(answer)),
            Err(StoreError::Refused { why, .. }) => Ok(Shown::Withheld(why)),
            Err(error) => Err(error),
        }
    }

    /// What lies beside a key that is absent: in the other layout, or without a slash at its front.
    fn elsewhere(&mut self, key: &str) -> Result<Option<String>, StoreError> {
        let api = &mut self.observer.api;
        let layout = api.url.layout;
        let prefix = api.url.prefix.clone();
        for (place, words) in beside(layout, &prefix, key) {
            let patience = &mut Patience::new(self.observer.timeout);
            if api.is_there(&place, patience).map_err(|failed| failed.into_error())? {
                return Ok(Some(words));
            }
        }
        Ok(None)
    }

    /// The session that holds the key. What a token may not see is left out of an answer, not refused; a session that ended
    /// holds no key any more.
    fn session(&mut self, key: &[u8]) -> Result<Shown<Session>, StoreError> {
        let Some(id) = self.session.clone() else {
            return Ok(Shown::NotByThisStore);
        };
        let shown: Shown<Vec<Session>> = self.ask(&format!("/v1/session/info/{id}?consistent"))?;
        Ok(match shown {
            Shown::Is(mut found) => match found.pop() {
                Some(session) => Shown::Is(session),
                None if self.still_holds(key, &id)? => {
                    self.unreadable = true;
                    Shown::Withheld(LACKS.to_owned())
                }
                // It has just ended.
                None => Shown::NotByThisStore,
            },
            Shown::Withheld(why) => Shown::Withheld(why),
            Shown::NotByThisStore => Shown::NotByThisStore,
        })
    }

    fn still_holds(&mut self, key: &[u8], session: &str) -> Result<bool, StoreError> {
        let patience = &mut Patience::new(self.observer.timeout);
        let entry = self.observer.api.entry(text_key(key)?, patience);
        let entry = entry.map_err(|failed| failed.into_error())?;
        Ok(entry.as_ref().and_then(Entry::session) == Some(session))
    }

    fn checks(&mut self, session: &Session) -> Result<Attribute, StoreError> {
        let mut wanted = session
            .node_checks
            .clone()
            .or_else(|| session.checks.clone())
            .unwrap_or_default();
        wanted.sort_unstable();
        let services = session.service_checks.as_ref().map_or(0, Vec::len);
        if wanted.is_empty() && services == 0 {
            return Ok(Attribute::plain("checks", "none: the session ends by its TTL alone"));
        }
        let path = format!("/v1/health/node/{}", tools::in_path(&session.node));
        Ok(match self.ask_up_to::<Vec<Check>>(&path, CHECKS)? {
            Shown::Is(all) => check_words(&wanted, services, &all),
            Shown::Withheld(why) => Attribute::withheld("checks", why),
            Shown::NotByThisStore => Attribute::not_shown("checks"),
        })
    }
}

impl Observe for Inspector {
    fn facts(&self) -> &StoreFacts {
        self.observer.facts()
    }

    fn read(&mut self, key: &str) -> Result<(Moment, Reading), StoreError> {
        self.observer.read(key)
    }
}

impl Inspect for Inspector {
    fn allowed(&self) -> &'static [Allowed] {
        ALLOWED
    }

    fn form(&mut self, key: &[u8]) -> Result<KeyForm, StoreError> {
        let key = text_key(key)?;
        let patience = &mut Patience::new(self.observer.timeout);
        let entry = self
            .observer
            .api
            .entry(key, patience)
            .map_err(|failed| failed.into_error())?;
        self.session = entry.as_ref().and_then(Entry::session).map(str::to_owned);
        let mut namespace = format!("key {}", shown_key(self.observer.api.place(key).as_bytes()));
        if let Some(entry) = &entry {
            namespace.push_str(&format!(
                ", created at index {} and changed at {}, flags {:#x}",
                entry.create_index(),
                entry.modify_index(),
                entry.flags()
            ));
        }
        let form = match &entry {
            None => Form::Absent,
            Some(entry) if entry.is_semaphore() => {
                Form::Foreign("a semaphore of Consul's own clients, which several may hold".to_owned())
            }
            Some(entry) if entry.size() > LONGEST_HOLDER => Form::Foreign(format!(
                "a value of about {} bytes, too long for a holder's name: its content is left out",
                entry.size()
            )),
            Some(_) => Form::Lease,
        };
        let elsewhere = match form {
            Form::Absent => self.elsewhere(key)?,
            _ => None,
        };
        self.elsewhere = elsewhere.is_some();
        Ok(KeyForm {
            namespace,
            form,
            elsewhere,
        })
    }

    fn read_key(&mut self, key: &[u8]) -> Result<(Moment, Reading), StoreError> {
        self.observer.read(text_key(key)?)
    }

    fn look(&mut self, key: &[u8], form: &KeyForm, _hints: &Hints) -> Result<StoreView, StoreError> {
        let mut refused = Vec::new();
        let mut attributes = self.observer.server.attributes();
        if self.observer.server.is_hidden() {
            refused.push("GET /v1/agent/self".to_owned());
        }
        attributes.push(match self.ask::<Vec<String>>("/v1/status/peers")? {
            Shown::Is(peers) => {
                let attribute = Attribute::plain("servers", format!("{}: {}", peers.len(), peers.join(", ")));
                match peers.len() {
                    1 => attribute.worrying("one server alone: while it is down no lease is granted, and none ends"),
                    2 => attribute.worrying("of two servers none may be down"),
                    _ => attribute,
                }
            }
            _ => Attribute::withheld("servers", "this token may not ask"),
        });
        match self.session(key)? {
            Shown::Is(session) => {
                attributes.push(session_words(self.session.as_deref().unwrap_or_default(), &session));
                attributes.push(self.checks(&session)?);
            }
            Shown::Withheld(why) => {
                refused.push("GET /v1/session/info".to_owned());
                attributes.push(Attribute::withheld("session", why));
            }
            Shown::NotByThisStore => attributes.push(Attribute::plain("session", "none holds the key")),
        }
        Ok(StoreView {
            refused,
            ..StoreView::plain(&self.facts().kind, attributes, form)
        })
    }

    fn ttl_words(&self, held: Option<&Held>, _now: BootNanos) -> String {
        match held {
            None if self.elsewhere => "the key itself is not there".to_owned(),
            None => "no session holds the key: it is free, once a lock-delay is over".to_owned(),
            Some(held) => match held.bound {
                Some(bound) if self.facts().is_only_the_most(bound) && self.unreadable => format!(
                    "not shown: {LACKS}; the store grants {} ms at the most",
                    bound.as_millis()
                ),
                Some(bound) if self.facts().is_only_the_most(bound) => format!(
                    "not shown: the session may not be read with this token, and the store grants {} ms at the most",
                    bound.as_millis()
                ),
                Some(bound) => format!(
                    "what is left is not shown by this store: the leader ends the session when nobody renewed it for {} ms, \
                     or up to twice as long",
                    bound.as_millis()
                ),
                None => "its session has no TTL: it stays until its node fails or somebody ends it".to_owned(),
            },
        }
    }

    fn by_hand(&self, key: &[u8]) -> Vec<String> {
        let place = self.observer.api.place(&String::from_utf8_lossy(key));
        tools::commands(&self.url, &place, self.session.as_deref())
    }
}
