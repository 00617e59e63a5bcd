//! Looking at a lease in ZooKeeper, on a session of its own: the server reads for nobody else.

use super::net::Net;
use super::node::{Look, Node, look};
use super::path::path_of;
use super::request::{Reply, Request};
use super::server::{Server, Start};
use super::session::{Broken, Session};
use crate::Observe;
use crate::clock::boot_now;
use crate::error::StoreError;
use crate::patience::Patience;
use crate::seen::Seen;
use crate::url::ZooKeeperUrl;
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Held, Reading};
use leaseproof_model::moment::Moment;
use leaseproof_model::store::StoreFacts;
use std::sync::Arc;
use std::time::Duration;

/// An observer.
pub(crate) struct Observer {
    net: Arc<Net>,
    pub(super) timeout: Duration,
    session: Option<Session>,
    facts: StoreFacts,
    server: Server,
    start: Start,
    seen: Seen<(Option<Node>, String)>,
}

impl Observer {
    pub(crate) fn open(url: &ZooKeeperUrl, timeout: Duration) -> Result<Self, StoreError> {
        let mut patience = Patience::new(timeout);
        let net = Net::for_looks(url, timeout)?;
        let server = Server::ask(&net, &mut patience);
        let (facts, session) = server.clone().facts(&net, &mut patience)?;
        Ok(Self {
            net,
            timeout,
            start: Start::of(&session),
            session: Some(session),
            facts,
            server,
            seen: Seen::new(),
        })
    }

    /// A session on an open connection. A new connection means a new session: its number tells
    /// whether the same start of the same server answers.
    fn connected(&mut self, patience: &mut Patience) -> Result<&mut Session, StoreError> {
        if self.session.as_mut().is_some_and(|session| !session.is_connected()) {
            self.session = None;
        }
        match &mut self.session {
            Some(session) => Ok(session),
            empty => {
                let session = Session::open(&self.net, self.facts.ttl_ceiling.unwrap_or(self.timeout), patience)?;
                let start = Start::of(&session);
                if !start.is(self.start) {
                    self.start = start;
                    self.server = Server::ask(&self.net, patience);
                }
                Ok(empty.insert(session))
            }
        }
    }

    fn look(&mut self, key: &str, patience: &mut Patience) -> Result<(BootNanos, Look), StoreError> {
        let mut repeated = false;
        loop {
            let session = self.connected(patience)?;
            let asked = boot_now();
            match look(session, key, patience) {
                Ok(look) => return Ok((asked, look)),
                // A read may be repeated, on a new session too.
                Err(Broken::Over) if !repeated => self.session = None,
                Err(broken) => return Err(broken.into_error()),
            }
            repeated = true;
        }
    }
}

impl Observer {
    /// The path of a key's node.
    pub(super) fn path(&self, key: &str) -> String {
        self.net.url.chroot.clone() + &path_of(key)
    }

    /// What the server answers to a four-letter word.
    pub(super) fn word(&self, word: &str) -> Option<String> {
        self.net.word(word, &mut Patience::new(self.timeout))
    }

    /// One request about a key's node, on a server that is not behind.
    pub(super) fn ask(
        &mut self,
        request: impl Fn(String) -> Request,
        key: &str,
        patience: &mut Patience,
    ) -> Result<Reply, StoreError> {
        let path = self.path(key);
        let requests = [Request::Sync { path: path.clone() }, request(path)];
        let mut replies = self.ask_all(&requests, patience)?;
        replies.pop().ok_or_else(|| self.net.strange("an answer is missing"))
    }

    /// Requests that may be repeated, on a new session too.
    fn ask_all(&mut self, requests: &[Request], patience: &mut Patience) -> Result<Vec<Reply>, StoreError> {
        let mut repeated = false;
        loop {
            match self.connected(patience)?.ask_again(requests, patience) {
                Ok(replies) => return Ok(replies),
                Err(Broken::Over) if !repeated => self.session = None,
                Err(broken) => return Err(broken.into_error()),
            }
            repeated = true;
        }
    }
}

impl Observe for Observer {
    fn facts(&self) -> &StoreFacts {
        &self.facts
    }

    fn read(&mut self, key: &str) -> Result<(Moment, Reading), StoreError> {
        let (asked, look) = self.look(key, &mut Patience::new(self.timeout))?;
        let moment = Moment::between(asked, boot_now());
        // An election raises the upper half of the transactions' numbers.
        let epoch = format!("{}/{}/{}", self.server.mode(), look.zxid >> 32, self.start.label());
        let previous = self.seen.note(key, asked, (look.node.clone(), epoch.clone()));
        let reading = Reading {
            previous,
            held: look.node.map(|node| Held {
                token: node.stat.token(),
                expires: None,
                // A foreign client's session is at most as long as the server allows.
                bound: match node.stat.is_ephemeral() {
                    true => node.bound.or(self.facts.ttl_ceiling),
                    false => None,
                },
                holder: node.holder,
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
