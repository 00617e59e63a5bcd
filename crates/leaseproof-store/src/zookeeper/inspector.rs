//! What a ZooKeeper server shows beside the lease itself.

use super::allow::ALLOWED;
use super::code::Code;
use super::connections::{connections, timeout_of};
use super::jute::Stat;
use super::observer::Observer;
use super::queue::{behind, holder};
use super::request::{Reply, Request};
use super::shown::{NO_WORDS, acl_words, by_srvr, date, field, session};
use super::tools;
use crate::Observe;
use crate::error::StoreError;
use crate::inspect::{Allowed, Hints, Inspect, LONGEST_HOLDER, shown_key, text_key};
use crate::patience::Patience;
use crate::url::ZooKeeperUrl;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Held, Reading};
use leaseproof_model::inspect::Shown;
use leaseproof_model::inspect::store_view::{Attribute, Connections, Form, KeyForm, StoreView};
use leaseproof_model::moment::Moment;
use leaseproof_model::store::StoreFacts;
use std::time::Duration;

/// So many places of a queue are read.
const QUEUED: usize = 8;

/// A look at a server.
pub(crate) struct Inspector {
    observer: Observer,
    url: ZooKeeperUrl,
    /// The node's state at the last look at its form.
    stat: Option<Stat>,
    /// The path of the node that was looked at.
    place: String,
}

impl Inspector {
    pub(crate) fn open(url: &ZooKeeperUrl, timeout: Duration) -> Result<Self, StoreError> {
        Ok(Self {
            observer: Observer::open(url, timeout)?,
            url: url.clone(),
            stat: None,
            place: String::new(),
        })
    }

    /// A four-letter word's answer, or why there is none.
    fn word(&mut self, word: &str) -> Shown<String> {
        let answer = self.observer.word(word);
        match answer.filter(|text| !text.trim().is_empty() && !text.contains("not executed because")) {
            Some(text) => Shown::Is(text),
            None => Shown::Withheld(NO_WORDS.to_owned()),
        }
    }

    /// One request about the node.
    fn ask(&mut self, request: impl Fn(String) -> Request) -> Result<Reply, StoreError> {
        let patience = &mut Patience::new(self.observer.timeout);
        self.observer.ask(request, &self.place, patience)
    }

    /// The state of the node that holds the lease: the first in the queue, where the URL says that it is one.
    fn find(&mut self, key: &str) -> Result<Option<Stat>, StoreError> {
        self.place = self.observer.path(key);
        if self.url.layout.is_recipe() {
            let patience = &mut Patience::new(self.observer.timeout);
            let found = self.observer.node(key, patience)?;
            return Ok(found.map(|node| {
                self.place = node.path;
                node.stat
            }));
        }
        let reply = self.ask(|path| Request::Exists { path })?;
        match reply.code {
            Code::OK => reply.stat().map(Some).map_err(|_| {
                StoreError::Unexpected("a node's state that is cut short: is it a ZooKeeper server?".to_owned())
            }),
            Code::NO_NODE => Ok(None),
            code => Err(code.error(&self.url, key)),
        }
    }

    /// What is at the place of an empty queue, where it is a lease by itself.
    fn elsewhere(&mut self) -> Result<Option<String>, StoreError> {
        let reply = self.ask(|path| Request::Exists { path })?;
        let lease = reply.code == Code::OK && reply.stat().is_ok_and(|stat| stat.is_ephemeral());
        Ok(lease.then(|| {
            "the node itself is there and ends with a session, as a plain lease does: look again without ?recipe=lock"
                .to_owned()
        }))
    }

    /// Who waits in the queue behind the one that holds.
    fn waiters(&mut self, key: &str) -> Result<Attribute, StoreError> {
        let patience = &mut Patience::new(self.observer.timeout);
        let queue = self.observer.path(key);
        let listed = self.observer.ask(|path| Request::Children { path }, &queue, patience)?;
        let names = match (listed.code, listed.children()) {
            (Code::OK, Ok((names, _))) => names,
            (Code::OK | Code::NO_NODE, _) => Vec::new(),
            _ => return Ok(Attribute::withheld("waiters", "this user may not list the queue")),
        };
        let held = self.place.rsplit('/').next().unwrap_or_default().to_owned();
        let behind = behind(&names, &held);
        let mut told = Vec::new();
        for name in behind.iter().take(QUEUED) {
            let reply = self
                .observer
                .ask(|path| Request::Get { path }, &format!("{queue}/{name}"), patience)?;
            // One that may not be read, or has left meanwhile, has its name.
            let who = match (reply.code, reply.node()) {
                (Code::OK, Ok((data, stat))) => format!(" ({})", holder(data, &stat)),
                _ => String::new(),
            };
            told.push(format!("{}{who}", shown_key(name.as_bytes())));
        }
        let text = match (behind.len(), told.len()) {
            (0, _) => "none".to_owned(),
            (all, told_of) if all == told_of => format!("{all}: {}", told.join(", ")),
            (all, told_of) => format!("{all}, the first {told_of}: {}", told.join(", ")),
        };
        Ok(Attribute::plain("waiters", text))
    }

    /// Who may use the node.
    fn acl(&mut self) -> Result<Attribute, StoreError> {
        let reply = self.ask(|path| Request::Acl { path })?;
        Ok(match reply.code {
            Code::OK => match reply.acl() {
                Ok(acl) => acl_words(&acl),
                Err(_) => Attribute::withheld("ACL", "an answer that is not understood"),
            },
            Code::NO_NODE => Attribute::plain("ACL", "none: there is no node"),
            _ => Attribute::withheld("ACL", "this user may neither read nor administer the node"),
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
        self.stat = self.find(key)?;
        let form = match &self.stat {
            None => Form::Absent,
            Some(stat) if stat.children > 0 => Form::Foreign(format!(
                "a node with {} below it, as the queues of kazoo and Curator have them: look again with ?recipe=lock",
                match stat.children {
                    1 => "another".to_owned(),
                    children => format!("{children} others"),
                }
            )),
            Some(stat) if usize::try_from(stat.length).is_ok_and(|it| it > LONGEST_HOLDER) => Form::Foreign(format!(
                "a node with {} bytes, too long for a holder's name: not read",
                stat.length
            )),
            Some(_) => Form::Lease,
        };
        let elsewhere = match form {
            Form::Absent if self.url.layout.is_recipe() => self.elsewhere()?,
            _ => None,
        };
        Ok(KeyForm {
            namespace: format!("node {}", shown_key(self.place.as_bytes())),
            form,
            elsewhere,
        })
    }

    fn read_key(&mut self, key: &[u8]) -> Result<(Moment, Reading), StoreError> {
        self.observer.read(text_key(key)?)
    }

    fn look(&mut self, key: &[u8], form: &KeyForm, hints: &Hints) -> Result<StoreView, StoreError> {
        let srvr = self.word("srvr");
        let mut attributes = by_srvr(&srvr);
        attributes.push(Attribute::plain(
            "persistence",
            "a log and snapshots, sessions among them: a restart or a new leader gives each its whole time-out anew",
        ));
        attributes.push(Attribute::plain("eviction", "none"));
        let facts = self.facts();
        let (floor, ceiling) = (facts.ttl_floor, facts.ttl_ceiling);
        let ms = |it: Option<Duration>| it.map_or(0, |it| it.as_millis());
        attributes.push(Attribute::plain(
            "sessions",
            format!("time-outs of {} to {} ms are granted", ms(floor), ms(ceiling)),
        ));
        let owner = self.stat.as_ref().and_then(Stat::session);
        let cons = match owner {
            Some(_) => self.word("cons"),
            None => Shown::NotByThisStore,
        };
        attributes.push(match (owner, &self.stat) {
            (Some(owner), _) => session(owner, cons.get().and_then(|it| timeout_of(it, owner))),
            (None, Some(_)) => Attribute::plain("session", "none: the node is no ephemeral")
                .worrying("it stays when its client ends: it is no lease, or its client removes it by itself"),
            (None, None) => Attribute::plain("session", "none: there is no node"),
        });
        if let Some(stat) = &self.stat {
            attributes.push(Attribute::plain(
                "node",
                format!(
                    "created by transaction 0x{:x} at {}; version {}, {} bytes",
                    stat.czxid,
                    date(stat.ctime),
                    stat.version,
                    stat.length
                ),
            ));
        }
        attributes.push(self.acl()?);
        if self.url.layout.is_recipe() && self.stat.is_some() {
            attributes.push(self.waiters(text_key(key)?)?);
        }
        let mut refused = Vec::new();
        for (name, hidden) in [
            ("srvr", matches!(srvr, Shown::Withheld(_))),
            ("cons", matches!(cons, Shown::Withheld(_))),
        ] {
            if hidden {
                refused.push(name.to_owned());
            }
        }
        let connections: Shown<Connections> = match (owner, cons) {
            (Some(owner), Shown::Is(text)) => Shown::Is(connections(&text, owner, hints)),
            (Some(_), Shown::Withheld(why)) => Shown::Withheld(why),
            _ => Shown::Withheld("there is no session that the node ends with".to_owned()),
        };
        let may_be_behind = matches!(&srvr, Shown::Is(text) if field(text, "Mode:") == Some("read-only"));
        Ok(StoreView {
            connections,
            may_be_behind,
            refused,
            ..StoreView::plain(&self.facts().kind, attributes, form)
        })
    }

    fn ttl_words(&self, held: Option<&Held>, _now: BootNanos) -> String {
        match held {
            None => "there is no node: its session has ended, it was removed, or it never was".to_owned(),
            Some(held) => match held.bound {
                Some(bound) if self.facts().is_only_the_most(bound) => format!(
                    "not shown: the session's time-out may not be read here, and the server grants {} ms at the most",
                    bound.as_millis()
                ),
                Some(bound) => format!(
                    "what is left is not shown by this store: the node goes when its session was silent for {} ms and up \
                     to two ticks more",
                    bound.as_millis()
                ),
                None => "the node is no ephemeral: it stays until somebody deletes it".to_owned(),
            },
        }
    }

    fn by_hand(&self, key: &[u8]) -> Vec<String> {
        let place = match self.place.as_str() {
            "" => self.observer.path(&String::from_utf8_lossy(key)),
            place => place.to_owned(),
        };
        tools::commands(&self.url, &place)
    }
}
