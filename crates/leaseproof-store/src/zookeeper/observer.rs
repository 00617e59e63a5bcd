//! Looking at a lease in ZooKeeper, on a session of its own: the server reads for nobody else.

use super::code::Code;
use super::net::Net;
use super::node::{Look, Node, look};
use super::path::{bare, key_of, path_of};
use super::request::{Reply, Request};
use super::server::{Server, Start};
use super::session::{Broken, Session};
use super::sessions::Sessions;
use crate::clock::boot_now;
use crate::error::StoreError;
use crate::inspect::{names_a_holder, text_key};
use crate::patience::Patience;
use crate::seen::Seen;
use crate::url::ZooKeeperUrl;
use crate::value::parse_bounded;
use crate::{Listing, Observe, OneOfMany, one_by_one, texts};
use leaseproof_model::clock::BootNanos;
use leaseproof_model::event::{Held, Reading};
use leaseproof_model::moment::Moment;
use leaseproof_model::store::StoreFacts;
use std::sync::Arc;
use std::time::Duration;

/// So many requests are sent at once: their answers fit into the buffers on the way.
const AT_ONCE: usize = 128;

/// Leases deeper than this below a prefix are not looked for.
const DEPTH: usize = 32;

/// An observer.
pub(crate) struct Observer {
    net: Arc<Net>,
    pub(super) timeout: Duration,
    session: Option<Session>,
    facts: StoreFacts,
    server: Server,
    start: Start,
    sessions: Sessions,
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
            sessions: Sessions::default(),
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

    /// One request about a node, on a server that is not behind.
    pub(super) fn ask(
        &mut self,
        request: impl Fn(String) -> Request,
        path: &str,
        patience: &mut Patience,
    ) -> Result<Reply, StoreError> {
        let requests = [Request::Sync { path: path.to_owned() }, request(path.to_owned())];
        let mut replies = self.ask_all(&requests, patience)?;
        replies.pop().ok_or_else(|| self.net.strange("an answer is missing"))
    }

    /// The node that holds a lease.
    pub(super) fn node(&mut self, key: &str, patience: &mut Patience) -> Result<Option<Node>, StoreError> {
        Ok(self.look(key, patience)?.1.node)
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

impl Observer {
    /// The time-outs of these sessions are asked for, where one is not known.
    fn know(&mut self, wanted: &[i64], patience: &mut Patience) {
        let now = boot_now();
        if self.sessions.should_ask(wanted, now) {
            let told = self.net.word("cons", patience);
            self.sessions.told(told.as_deref().unwrap_or_default(), wanted, now);
        }
    }
}

impl Observe for Observer {
    fn facts(&self) -> &StoreFacts {
        &self.facts
    }

    fn prefer(&mut self, member: usize) {
        self.net.prefer(member);
        self.session = None;
    }

    fn read(&mut self, key: &str) -> Result<(Moment, Reading), StoreError> {
        let mut patience = Patience::new(self.timeout);
        let (asked, look) = self.look(key, &mut patience)?;
        let moment = Moment::between(asked, boot_now());
        if let Some(session) = unsaid(&look) {
            self.know(&[session], &mut patience);
        }
        self.reading(key, moment, look)
    }

    fn read_keys(&mut self, keys: &[&[u8]]) -> Result<Vec<OneOfMany>, StoreError> {
        texts(keys, text_key, |keys| {
            if self.net.url.layout.is_recipe() {
                return one_by_one(keys, |key| self.read(key));
            }
            let mut all = Vec::with_capacity(keys.len());
            for keys in keys.chunks(AT_ONCE) {
                all.extend(self.batch(keys)?);
            }
            Ok(all)
        })
    }

    fn leases_below(&mut self, prefix: &str, most: usize) -> Result<Option<Listing>, StoreError> {
        if self.net.url.layout.is_recipe() {
            return Ok(None);
        }
        self.below(prefix, most).map(Some)
    }
}

impl Observer {
    fn reading(&mut self, key: &str, at: Moment, look: Look) -> OneOfMany {
        let length = look.node.as_ref().map_or(0, |node| node.stat.length);
        names_a_holder(key, usize::try_from(length).unwrap_or(0))?;
        let told = unsaid(&look).and_then(|session| self.sessions.timeout_of(session));
        let recipe = self.net.url.layout.is_recipe();
        // An election raises the upper half of the transactions' numbers.
        let epoch = format!("{}/{}/{}", self.server.mode(), look.zxid >> 32, self.start.label());
        let previous = self.seen.note(key, at.earliest, (look.node.clone(), epoch.clone()));
        let reading = Reading {
            previous,
            held: look.node.map(|node| Held {
                // Clients of the recipe may take another number, such as that of their place in the queue.
                token: node.stat.token().filter(|_| !recipe),
                expires: None,
                // The session of a client that is not told of is at most as long as the server allows.
                bound: match node.stat.is_ephemeral() {
                    true => node.bound.or(told).or(self.facts.ttl_ceiling),
                    false => None,
                },
                holder: node.holder,
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

    /// At most [`AT_ONCE`] keys: one catching up with the leader, and all of them behind it.
    fn batch(&mut self, keys: &[&str]) -> Result<Vec<OneOfMany>, StoreError> {
        let root = match self.net.url.chroot.as_str() {
            "" => "/".to_owned(),
            chroot => chroot.to_owned(),
        };
        let mut requests = vec![Request::Sync { path: root }];
        requests.extend(keys.iter().map(|key| Request::Get { path: self.path(key) }));
        let asked = boot_now();
        let replies = self.ask_all(&requests, &mut Patience::new(self.timeout))?;
        let moment = Moment::between(asked, boot_now());
        let [synced, replies @ ..] = &replies[..] else {
            return Err(self.net.strange("an answer is missing"));
        };
        if !matches!(synced.code, Code::OK | Code::NO_NODE) {
            return Err(synced.code.error(&self.net.url, ""));
        }
        let looks = keys
            .iter()
            .zip(replies)
            .map(|(key, reply)| found(reply, self.path(key)));
        let looks: Vec<_> = looks.collect();
        let wanted: Vec<i64> = looks.iter().flatten().filter_map(unsaid).collect();
        self.know(&wanted, &mut Patience::new(self.timeout));
        let mut all = Vec::with_capacity(keys.len());
        for (key, look) in keys.iter().zip(looks) {
            all.push(match look {
                Ok(look) => self.reading(key, moment, look),
                // A node that is closed to this user says nothing about the next.
                Err(Some(code)) => Err(code.error(&self.net.url, key)),
                Err(None) => return Err(self.net.strange("a record that is cut short")),
            });
        }
        Ok(all)
    }

    /// Level by level: a node that has others below it is a part of a path, and no lease.
    fn below(&mut self, prefix: &str, most: usize) -> Result<Listing, StoreError> {
        let prefix = bare(prefix);
        let top = match prefix.rsplit_once('/') {
            Some((above, _)) => self.path(above),
            None => self.net.url.chroot.clone(),
        };
        let chroot = self.net.url.chroot.len();
        let mut listing = Listing::default();
        let mut level = vec![top];
        for depth in 0..DEPTH {
            let mut next = Vec::new();
            for paths in level.chunks(AT_ONCE) {
                let requests: Vec<Request> = paths
                    .iter()
                    .map(|path| Request::Children {
                        path: if path.is_empty() { "/".to_owned() } else { path.clone() },
                    })
                    .collect();
                let replies = self.ask_all(&requests, &mut Patience::new(self.timeout))?;
                for (path, reply) in paths.iter().zip(&replies) {
                    let (names, stat) = match reply.code {
                        Code::OK => reply
                            .children()
                            .map_err(|_| self.net.strange("a record that is cut short"))?,
                        // It went meanwhile; and what is closed to this user below is not its to watch.
                        Code::NO_NODE => continue,
                        Code::NO_AUTH if depth > 0 => continue,
                        code => return Err(code.error(&self.net.url, prefix)),
                    };
                    // What is left of a path, or is yet to become one, is none either.
                    let is_lease = names.is_empty() && depth > 0 && (stat.is_ephemeral() || !stat.emptied);
                    if is_lease && listing.keys.len() == most {
                        listing.more = true;
                        break;
                    }
                    if is_lease {
                        listing.keys.push(key_of(&path[chroot..]));
                    }
                    let below = names.into_iter().map(|name| format!("{path}/{name}"));
                    // The first level has others beside the prefix.
                    next.extend(below.filter(|path| depth > 0 || key_of(&path[chroot..]).starts_with(prefix)));
                }
                if listing.more {
                    break;
                }
            }
            // Whatever is left of the level can be no more than this.
            if listing.more || next.is_empty() {
                break;
            }
            level = next;
        }
        listing.keys.sort_unstable();
        Ok(listing)
    }
}

/// The session of an ephemeral node whose holder does not write its time-out; its own word is nearer.
fn unsaid(look: &Look) -> Option<i64> {
    let node = look.node.as_ref()?;
    (node.bound.is_none() && node.stat.is_ephemeral()).then(|| node.stat.owner())
}

/// What the answer for one node comes to; an error without a code is no answer.
fn found(reply: &Reply, path: String) -> Result<Look, Option<Code>> {
    let node = match reply.code {
        Code::OK => {
            let (data, stat) = reply.node().map_err(|_| None)?;
            let (holder, bound) = parse_bounded(data);
            Some(Node {
                path,
                holder,
                bound,
                stat,
            })
        }
        Code::NO_NODE => None,
        code => return Err(Some(code)),
    };
    Ok(Look { node, zxid: reply.zxid })
}
