//! A session that holds nothing: for looks, and for what is done to nodes of others.

use super::code::Code;
use super::net::Net;
use super::node::{Look, look, one};
use super::request::{Reply, Request};
use super::session::{Broken, Session};
use crate::Grant;
use crate::done::Refusal;
use crate::error::StoreError;
use crate::patience::Patience;
use crate::wire::Failed;
use std::sync::Arc;
use std::time::Duration;

/// What is asked for such a session: it outlives the pauses between two uses, or is opened anew.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A session that holds nothing, opened at its first use and again whenever it is over.
pub(crate) struct Desk {
    net: Arc<Net>,
    session: Option<Session>,
}

impl Desk {
    pub(crate) fn new(net: &Arc<Net>) -> Self {
        Self {
            net: Arc::clone(net),
            session: None,
        }
    }

    /// Gives up the connection until the next use: a server counts those from one host.
    pub(crate) fn disconnect(&mut self) {
        if let Some(session) = &mut self.session {
            session.disconnect();
        }
    }

    /// The session, opened if need be.
    pub(crate) fn session(&mut self, patience: &mut Patience) -> Result<&mut Session, StoreError> {
        match &mut self.session {
            Some(session) => Ok(session),
            empty => Ok(empty.insert(Session::open(&self.net, TIMEOUT, patience)?)),
        }
    }

    /// Works on the session, and on a new one where it was over.
    fn work<T>(
        &mut self,
        patience: &mut Patience,
        mut work: impl FnMut(&mut Session, &mut Patience) -> Result<T, Broken>,
    ) -> Result<T, Failed> {
        loop {
            let session = self.session(patience).map_err(Failed::NotSent)?;
            match work(session, patience) {
                Ok(value) => return Ok(value),
                Err(Broken::Over) => self.session = None,
                Err(Broken::Failed(failed)) => return Err(failed),
            }
        }
    }

    /// Looks at a key.
    pub(crate) fn look(&mut self, key: &str, patience: &mut Patience) -> Result<Look, Failed> {
        self.work(patience, |session, patience| look(session, key, patience))
    }

    /// Sends one request.
    pub(crate) fn ask(&mut self, request: &Request, patience: &mut Patience) -> Result<Reply, Failed> {
        self.work(patience, |session, patience| {
            let replies = session.ask(std::slice::from_ref(request), patience)?;
            one(replies, session)
        })
    }

    /// The node of a key.
    pub(crate) fn path(&mut self, key: &str, patience: &mut Patience) -> Result<String, StoreError> {
        self.session(patience).map(|session| session.path(key))
    }

    /// Removes a node, whoever has it.
    pub(crate) fn delete(
        &mut self,
        path: String,
        version: i32,
        patience: &mut Patience,
    ) -> Result<Result<(), Code>, Failed> {
        let reply = self.ask(&Request::Delete { path, version }, patience)?;
        Ok(if reply.code == Code::OK {
            Ok(())
        } else {
            Err(reply.code)
        })
    }

    /// Removes the node of a grant whose session is another client's.
    ///
    /// The server has no deletion by czxid. Whoever takes the key between the look and the removal
    /// would lose it: only the lab gives up what another of its own clients has, on a key that it
    /// alone acts on. An owner ends its session instead.
    pub(crate) fn remove(&mut self, grant: &Grant, patience: &mut Patience) -> Result<Result<(), Refusal>, Failed> {
        let look = self
            .look(&grant.key, patience)
            .map_err(|failed| Failed::NotSent(failed.into_error()))?;
        if let Some(refusal) = look.refusal(grant) {
            return Ok(Err(refusal));
        }
        let Some(node) = look.node else {
            return Ok(Err(Refusal::Gone));
        };
        match self.delete(node.path, node.stat.version, patience)? {
            Ok(()) => Ok(Ok(())),
            Err(Code::NO_NODE) => Ok(Err(Refusal::Gone)),
            Err(Code::BAD_VERSION) => Ok(Err(Refusal::NotTheHolder)),
            Err(code) => Err(Failed::NotSent(code.error(&self.net.url, &grant.key))),
        }
    }
}
