//! The way to one server, or to one of several: what all sessions of one adapter share.

use super::allow::{allows, name};
use super::link::{Link, NoFrame, invalid};
use super::request::{Reply, Request};
use super::welcome::Welcome;
use crate::error::StoreError;
use crate::patience::Patience;
use crate::url::ZooKeeperUrl;
use crate::wire::{Failed, Gate, Gated, Tls};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;

/// The most that a four-letter word may answer.
const WORDS: u64 = 64 << 10;

/// After so many time-outs in a row a connection is given up: the network may have forgotten it.
const TIME_OUTS: u8 = 3;

/// How to reach the server, or its members.
pub(crate) struct Net {
    pub(crate) url: ZooKeeperUrl,
    connect_timeout: Duration,
    /// One at least.
    members: Vec<Member>,
    /// Which of them new connections go to, until it does not answer.
    at: AtomicUsize,
    /// Whether nothing may be sent but what a look may send.
    looks_only: bool,
    /// Always there until it is dropped in the background: a look-up of a name may hang in it.
    runtime: Option<Runtime>,
}

/// Where a member is.
struct Member {
    host: String,
    port: u16,
    tls: Option<Tls>,
}

impl Net {
    pub(crate) fn new(url: &ZooKeeperUrl, connect_timeout: Duration) -> Result<Arc<Self>, StoreError> {
        Self::made(url, connect_timeout, false)
    }

    /// One on which nothing is sent but what a look may send.
    pub(crate) fn for_looks(url: &ZooKeeperUrl, connect_timeout: Duration) -> Result<Arc<Self>, StoreError> {
        Self::made(url, connect_timeout, true)
    }

    fn made(url: &ZooKeeperUrl, connect_timeout: Duration, looks_only: bool) -> Result<Arc<Self>, StoreError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(1)
            .build()
            .map_err(|error| StoreError::Unexpected(format!("no event loop: {error}")))?;
        let server = &url.server;
        let mut members = Vec::new();
        for (host, port) in server.places() {
            let tls = server
                .tls
                .then(|| Tls::new(server.ca.as_deref(), server.tls_name(&host), url));
            members.push(Member {
                tls: tls.transpose()?,
                host,
                port,
            });
        }
        Ok(Arc::new(Self {
            url: url.clone(),
            connect_timeout,
            members,
            at: AtomicUsize::new(0),
            looks_only,
            runtime: Some(runtime),
        }))
    }

    /// An error for what may not be sent.
    fn check(&self, name: &str) -> Result<(), StoreError> {
        match self.looks_only && !allows(name) {
            false => Ok(()),
            true => Err(StoreError::Unexpected(format!(
                "{name} is not among what a look may send: nothing was sent"
            ))),
        }
    }

    fn runtime(&self) -> &Runtime {
        // Invariant: taken by drop alone.
        self.runtime
            .as_ref()
            .expect("the runtime lives as long as what uses it")
    }

    pub(crate) fn unreachable(&self, why: impl ToString) -> StoreError {
        StoreError::Unreachable {
            url: self.url.to_string(),
            why: why.to_string(),
        }
    }

    pub(crate) fn strange(&self, what: &str) -> StoreError {
        StoreError::Unexpected(self.asked_whether(what))
    }

    fn asked_whether(&self, what: &str) -> String {
        format!("{}: {what}: is it a ZooKeeper server?", self.url)
    }

    fn broken(&self, error: &io::Error) -> StoreError {
        match error.kind() {
            // TLS has words of its own for what it does not trust.
            io::ErrorKind::InvalidData if error.get_ref().is_none() => {
                self.strange("what came is no frame of its protocol")
            }
            io::ErrorKind::InvalidData if error.get_ref().is_some_and(|it| it.is::<NoFrame>()) => {
                StoreError::OtherProtocol(self.asked_whether(&error.to_string()))
            }
            // TLS has its words for that.
            io::ErrorKind::UnexpectedEof if error.get_ref().is_none() => {
                let tls = match self.url.server.tls {
                    true => "",
                    false => "wants TLS (zookeepers:// asks for it), ",
                };
                self.unreachable(format!(
                    "it closed without an answer: it {tls}starts, has no quorum, or has too many connections from here \
                     (maxClientCnxns, 60 by default); or another server is there"
                ))
            }
            _ => self.unreachable(error),
        }
    }

    /// Makes new connections to this member.
    pub(crate) fn prefer(&self, member: usize) {
        self.at.store(member % self.members.len(), Ordering::Relaxed);
    }

    /// Makes new connections to another member than this one. Several sessions may find out about the same.
    fn leave(&self, member: usize) {
        let next = (member + 1) % self.members.len();
        let _ = self
            .at
            .compare_exchange(member, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Opens a connection: sends the frame `hello`, and after a welcome the frame `login`. A member that does not
    /// answer was asked for nothing yet: the next is tried at once.
    pub(crate) fn open(
        &self,
        hello: &[u8],
        login: Option<&[u8]>,
        patience: &mut Patience,
    ) -> Result<(Link, Welcome, Option<Reply>), StoreError> {
        self.check("connect")?;
        if login.is_some() {
            self.check("auth digest")?;
        }
        let mut others = self.members.len() - 1;
        loop {
            let member = self.at.load(Ordering::Relaxed);
            let opened = Self::in_turn(others, patience, |patience| {
                self.open_at(member, hello, login, patience)
            });
            match opened {
                Ok(opened) => return Ok(opened),
                Err(error) => {
                    self.leave(member);
                    if others == 0 || patience.left().is_zero() {
                        return Err(error);
                    }
                    others -= 1;
                }
            }
        }
    }

    fn open_at(
        &self,
        place: usize,
        hello: &[u8],
        login: Option<&[u8]>,
        patience: &mut Patience,
    ) -> Result<(Link, Welcome, Option<Reply>), StoreError> {
        let member = &self.members[place];
        let mut part = Patience::new(self.connect_timeout.min(patience.left()));
        let allowed = part.left();
        let opened = self.runtime().block_on(async {
            let work = pin!(async {
                let gate = Arc::new(Gate::default());
                let stream = Gated::connect(&member.host, member.port, member.tls.as_ref(), Arc::clone(&gate)).await?;
                let mut link = Link {
                    place,
                    stream,
                    gate,
                    inbox: Vec::new(),
                    number: 0,
                    time_outs: 0,
                };
                link.stream.write_all(hello).await?;
                let welcome = Welcome::parse(&link.frame().await?).map_err(|_| invalid())?;
                let reply = match login {
                    // To a session that is over nobody listens.
                    Some(login) if welcome.timeout.is_some() => {
                        link.stream.write_all(login).await?;
                        let (_, reply) = Reply::parse(&link.frame().await?).map_err(|_| invalid())?;
                        Some(reply)
                    }
                    _ => None,
                };
                Ok((link, welcome, reply))
            });
            part.wait(work).await
        });
        patience.take(allowed.saturating_sub(part.left()));
        match opened {
            Some(Ok(opened)) => Ok(opened),
            Some(Err(error)) => Err(self.broken(&error)),
            None => {
                // Not what was left of it: what was asked before, such as four-letter words, may have
                // waited for the same silent server.
                let timeout = self.connect_timeout.min(patience.whole());
                // A server that wants TLS, and many of another kind, wait for more of what they took for theirs.
                let tls = match self.url.server.tls {
                    false => "wants TLS (zookeepers:// asks for it)",
                    true => "speaks no TLS",
                };
                let or = format!("it stands still, this port {tls}, or another server is there");
                Err(self.unreachable(format!("no answer within {timeout:?}: {or}")))
            }
        }
    }

    /// What the server answers to a four-letter word, on a connection of its own.
    pub(crate) fn word(&self, word: &str, patience: &mut Patience) -> Option<String> {
        self.check(word).ok()?;
        for others in (0..self.members.len()).rev() {
            let place = self.at.load(Ordering::Relaxed);
            let answer = Self::in_turn(others, patience, |patience| self.word_of(place, word, patience));
            if answer.is_some() {
                return answer;
            }
            self.leave(place);
        }
        None
    }

    /// Does what may be done with each member in turn; `others` are left beside this one.
    fn in_turn<T>(others: usize, patience: &mut Patience, work: impl FnOnce(&mut Patience) -> T) -> T {
        if others == 0 {
            return work(patience);
        }
        let mut part = patience.half();
        let allowed = part.left();
        let done = work(&mut part);
        patience.take(allowed.saturating_sub(part.left()));
        done
    }

    fn word_of(&self, place: usize, word: &str, patience: &mut Patience) -> Option<String> {
        let mut part = Patience::new(self.connect_timeout.min(patience.left()));
        let allowed = part.left();
        let member = &self.members[place];
        let answer = self.runtime().block_on(async {
            let work = pin!(async {
                let gate = Arc::new(Gate::default());
                let mut stream = Gated::connect(&member.host, member.port, member.tls.as_ref(), gate).await?;
                stream.write_all(word.as_bytes()).await?;
                let mut text = Vec::new();
                stream.take(WORDS).read_to_end(&mut text).await?;
                Ok::<_, io::Error>(String::from_utf8_lossy(&text).into_owned())
            });
            part.wait(work).await
        });
        patience.take(allowed.saturating_sub(part.left()));
        answer?.ok()
    }

    /// Sends requests and reads the reply to each, in their order.
    ///
    /// After an error the link is of no use; after a time-out it goes on where it can.
    pub(crate) fn ask(
        &self,
        slot: &mut Option<Link>,
        requests: &[Request],
        patience: &mut Patience,
    ) -> Result<Vec<Reply>, Failed> {
        let Some(link) = slot else {
            return Err(Failed::NotSent(self.unreachable("not connected")));
        };
        for request in requests {
            self.check(name(request)).map_err(Failed::NotSent)?;
        }
        let first = link.number + 1;
        let bytes: Vec<u8> = requests
            .iter()
            .flat_map(|request| {
                link.number += 1;
                request.frame(link.number)
            })
            .collect();
        let before = link.gate.sent();
        let waited = patience.left();
        let answer = self.runtime().block_on(async {
            let work = pin!(link.exchange(&bytes, first, requests.len()));
            patience.wait(work).await
        });
        let sent = link.gate.sent() - before;
        let whole = sent == bytes.len() as u64;
        let error = match answer {
            Some(Ok(replies)) => {
                link.time_outs = 0;
                return Ok(replies);
            }
            Some(Err(error)) => {
                self.leave(link.place);
                drop_link(slot);
                self.broken(&error)
            }
            None => {
                link.time_outs += 1;
                let elsewhere = self.members.len() > 1;
                // Half a request would be taken for the begin of the next; and where there are others, the
                // session moves to the next of them.
                if !whole || elsewhere || link.time_outs >= TIME_OUTS {
                    self.leave(link.place);
                    drop_link(slot);
                }
                StoreError::TimedOut(waited)
            }
        };
        Err(if sent == 0 {
            Failed::NotSent(error)
        } else {
            Failed::Unknown(error)
        })
    }

    /// Whether the connection is open, as far as what lies in its socket tells.
    ///
    /// Between calls nobody looks at the socket. A close that already lies there is found here,
    /// before a request is lost in it.
    pub(crate) fn is_open(&self, link: &mut Link) -> bool {
        self.runtime().block_on(async {
            for _ in 0..3 {
                if !link.look().await {
                    return false;
                }
                yield_now().await;
            }
            true
        })
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Drops a connection; nothing of it reaches the server any more.
pub(crate) fn drop_link(slot: &mut Option<Link>) {
    if let Some(link) = slot.take() {
        link.gate.shut();
    }
}
