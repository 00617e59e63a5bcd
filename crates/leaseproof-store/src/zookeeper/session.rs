//! One session, kept alive by nothing but the requests that are sent on it.

use super::code::Code;
use super::jute::Writer;
use super::link::Link;
use super::net::{Net, drop_link};
use super::request::{Access, Reply, Request};
use crate::error::StoreError;
use crate::patience::Patience;
use crate::wire::Failed;
use std::sync::Arc;
use std::time::Duration;

/// The number of the packet that logs in.
const AUTH: i32 = -4;

/// Why a request came to nothing.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The request failed.
    Failed(Failed),
    /// The server says that the session is over: the request did nothing, and none ever will.
    Over,
}

impl Broken {
    pub(crate) fn into_error(self) -> StoreError {
        match self {
            Self::Failed(failed) => failed.into_error(),
            Self::Over => StoreError::Unexpected("the session was over at once".to_owned()),
        }
    }
}

/// A session.
pub(crate) struct Session {
    net: Arc<Net>,
    id: i64,
    password: Vec<u8>,
    /// What was granted: the asked one, brought between the server's least and greatest.
    timeout: Duration,
    link: Option<Link>,
}

impl Session {
    /// Opens a session that ends when nothing was sent on it for `timeout`, or for what the server
    /// makes of that.
    pub(crate) fn open(net: &Arc<Net>, timeout: Duration, patience: &mut Patience) -> Result<Self, StoreError> {
        let mut session = Self {
            net: Arc::clone(net),
            id: 0,
            password: vec![0; 16],
            timeout,
            link: None,
        };
        session.connect(patience).map_err(Broken::into_error)?;
        Ok(session)
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(crate) fn id(&self) -> i64 {
        self.id
    }

    pub(crate) fn net(&self) -> &Arc<Net> {
        &self.net
    }

    /// Drops the connection; the session lives on.
    pub(crate) fn disconnect(&mut self) {
        drop_link(&mut self.link);
    }

    pub(crate) fn is_connected(&mut self) -> bool {
        if let Some(link) = &mut self.link
            && !self.net.is_open(link)
        {
            self.disconnect();
        }
        self.link.is_some()
    }

    /// Sends requests on the session, connecting anew if need be.
    pub(crate) fn ask(&mut self, requests: &[Request], patience: &mut Patience) -> Result<Vec<Reply>, Broken> {
        if !self.is_connected() {
            self.connect(patience)?;
        }
        let replies = self
            .net
            .ask(&mut self.link, requests, patience)
            .map_err(Broken::Failed)?;
        if replies.iter().any(|reply| reply.code == Code::SESSION_EXPIRED) {
            self.disconnect();
            return Err(Broken::Over);
        }
        Ok(replies)
    }

    /// As `ask`, for what may be sent twice: a connection that breaks is made anew, once. That also
    /// tells a session that has just ended, since the server closes its connection first.
    pub(crate) fn ask_again(&mut self, requests: &[Request], patience: &mut Patience) -> Result<Vec<Reply>, Broken> {
        match self.ask(requests, patience) {
            Err(Broken::Failed(Failed::NotSent(error) | Failed::Unknown(error)))
                if !matches!(error, StoreError::TimedOut(_)) =>
            {
                self.ask(requests, patience)
            }
            done => done,
        }
    }

    /// The access that nodes of this session get.
    pub(crate) fn access(&self) -> Access {
        match self.net.url.digest {
            None => Access::Everyone,
            Some(_) => Access::SameUser,
        }
    }

    /// The node of a key.
    pub(crate) fn path(&self, key: &str) -> String {
        self.net.url.chroot.clone() + &super::path::path_of(key)
    }

    fn connect(&mut self, patience: &mut Patience) -> Result<(), Broken> {
        let not_sent = |error| Broken::Failed(Failed::NotSent(error));
        let hello = hello(self.timeout, self.id, &self.password);
        let login = self.net.url.digest.as_ref().map(|digest| {
            let mut login = Writer::default();
            login.int(AUTH).int(100).int(0).text("digest").text(digest);
            login.frame()
        });
        let (link, welcome, reply) = self.net.open(&hello, login.as_deref(), patience).map_err(not_sent)?;
        let Some(timeout) = welcome.timeout else {
            return Err(Broken::Over);
        };
        if let Some(reply) = reply.filter(|reply| reply.code != Code::OK) {
            return Err(not_sent(reply.code.error(&self.net.url, "")));
        }
        self.id = welcome.id;
        self.password = welcome.password;
        self.timeout = timeout;
        self.link = Some(link);
        Ok(())
    }
}

/// The least time-out that the server grants: of a session that is left alone at once.
pub(crate) fn least_timeout(net: &Net, patience: &mut Patience) -> Result<Duration, StoreError> {
    let (link, welcome, _) = net.open(&hello(Duration::ZERO, 0, &[0; 16]), None, patience)?;
    drop_link(&mut Some(link));
    welcome
        .timeout
        .ok_or_else(|| net.strange("a session that was over at once"))
}

fn hello(timeout: Duration, id: i64, password: &[u8]) -> Vec<u8> {
    let millis = i32::try_from(timeout.as_micros().div_ceil(1000)).unwrap_or(i32::MAX);
    let mut hello = Writer::default();
    // Protocol, last transaction seen, time-out, session, its password, no read-only server.
    hello
        .int(0)
        .long(0)
        .int(millis.max(1))
        .long(id)
        .buffer(password)
        .flag(false);
    hello.frame()
}
