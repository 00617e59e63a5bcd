//! The node of a lease: who holds it, and with which grant.

use super::code::Code;
use super::jute::{Garbled, Stat};
use super::queue;
use super::request::{Kind, Reply, Request};
use super::session::{Broken, Session};
use crate::Grant;
use crate::done::Refusal;
use crate::error::{Lasts, StoreError};
use crate::patience::Patience;
use crate::value::{parse_bounded, stored_bounded};
use crate::wire::Failed;
use leaseproof_model::name::{HolderId, Token};
use std::time::Duration;

/// How often a step is tried again that another's step came in between.
const TRIES: usize = 10;

/// A lease's node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Node {
    /// Where it lies.
    pub(crate) path: String,
    pub(crate) holder: HolderId,
    /// The time-out of the holder's session, as the holder says.
    pub(crate) bound: Option<Duration>,
    pub(crate) stat: Stat,
}

impl Node {
    /// Whether this is the node of that very grant.
    pub(crate) fn is_of(&self, grant: &Grant) -> bool {
        self.holder == grant.holder && self.stat.token() == Some(grant.token)
    }
}

/// One look at a key.
pub(crate) struct Look {
    pub(crate) node: Option<Node>,
    /// The last transaction that the server had seen.
    pub(crate) zxid: i64,
}

impl Look {
    /// Why this look refuses a step of `grant`, if it does.
    pub(crate) fn refusal(&self, grant: &Grant) -> Option<Refusal> {
        match &self.node {
            None => Some(Refusal::Gone),
            Some(node) if node.is_of(grant) => None,
            Some(_) => Some(Refusal::NotTheHolder),
        }
    }
}

/// Looks at a key: never older than when it was asked, on whatever server of the ensemble.
pub(crate) fn look(session: &mut Session, key: &str, patience: &mut Patience) -> Result<Look, Broken> {
    if session.net().url.layout.is_recipe() {
        return queue::look(session, key, patience);
    }
    let path = session.path(key);
    let requests = [
        Request::Sync { path: path.clone() },
        Request::Get { path: path.clone() },
    ];
    let replies = session.ask_again(&requests, patience)?;
    let [synced, got] = &replies[..] else {
        return Err(unknown(session.net().strange("an answer is missing")));
    };
    let node = match (synced.code, got.code) {
        (Code::OK, Code::OK) => {
            let (data, stat) = got.node().map_err(|Garbled| unknown(garbled(session)))?;
            if !stat.is_ephemeral() && (stat.children > 0 || stat.length == 0) {
                let below = match stat.children {
                    0 => "empty".to_owned(),
                    1 => "has another below it".to_owned(),
                    more => format!("has {more} others below it"),
                };
                return Err(unknown(StoreError::Unexpected(format!(
                    "the node {path} is permanent and {below}, as the place of a lock recipe is (kazoo, Curator): \
                     such locks are read with ?recipe=lock at the end of the store's URL",
                ))));
            }
            let (holder, bound) = parse_bounded(data);
            Some(Node {
                path,
                holder,
                bound,
                stat,
            })
        }
        (Code::OK, Code::NO_NODE) => None,
        (Code::OK, code) | (code, _) => return Err(unknown(code.error(&session.net().url, key))),
    };
    Ok(Look { node, zxid: got.zxid })
}

pub(super) fn unknown(error: StoreError) -> Broken {
    Broken::Failed(Failed::Unknown(error))
}

fn not_sent(error: StoreError) -> Broken {
    Broken::Failed(Failed::NotSent(error))
}

pub(super) fn garbled(session: &Session) -> StoreError {
    session.net().strange("a record that is cut short")
}

/// How a grant is come to.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// The key must be free.
    Acquire,
    /// Whoever holds it loses it.
    Steal,
}

/// Creates the node of `key` in this session: the session's grant, and nobody else's.
pub(crate) fn create(
    session: &mut Session,
    way: Way,
    key: &str,
    holder: &HolderId,
    patience: &mut Patience,
) -> Result<Result<Token, Refusal>, Broken> {
    let url = &session.net().url;
    if let Some(why) = url.only_looked_at() {
        return Err(not_sent(StoreError::refused(url, why, Lasts::Mended)));
    }
    let path = session.path(key);
    let node = Request::Create {
        path: path.clone(),
        data: stored_bounded(holder, session.timeout()),
        kind: Kind::Ephemeral,
        access: session.access(),
    };
    let replace = Request::Multi(vec![
        Request::Delete {
            path: path.clone(),
            version: -1,
        },
        node.clone(),
    ]);
    let mut held = way == Way::Steal;
    for _ in 0..TRIES {
        let created = if held {
            replaced(session, &replace, key, holder, patience)?
        } else {
            let reply = one(session.ask(std::slice::from_ref(&node), patience)?, session)?;
            match reply.code {
                Code::OK => Ok(reply.created().map_err(|Garbled| unknown(garbled(session)))?),
                code => Err(code),
            }
        };
        match created {
            Ok(stat) => {
                return match stat.token() {
                    Some(token) => Ok(Ok(token)),
                    None => Err(unknown(garbled(session))),
                };
            }
            Err(Code::NODE_EXISTS) if way == Way::Acquire => return unfree(session, path, patience).map(Err),
            Err(Code::NODE_EXISTS) => held = true,
            // The one that was to be replaced is gone, or what is above it.
            Err(Code::NO_NODE) if held => held = false,
            Err(Code::NO_NODE) => parents(session, key, &path, patience)?,
            // The server refused it as a whole.
            Err(code) => return Err(not_sent(code.error(&session.net().url, key))),
        }
    }
    Err(not_sent(StoreError::Unexpected(format!(
        "others changed the key {key} between two steps, {TRIES} times in a row"
    ))))
}

/// Why the node can't be created: it is there.
fn unfree(session: &mut Session, path: String, patience: &mut Patience) -> Result<Refusal, Broken> {
    let reply = one(session.ask_again(&[Request::Get { path }], patience)?, session)?;
    // One that may not be read, or has just gone, is somebody's until the next try.
    let permanent = reply.code == Code::OK && reply.node().is_ok_and(|(_, stat)| !stat.is_ephemeral());
    Ok(match permanent {
        true => Refusal::Endless,
        false => Refusal::Held,
    })
}

/// Replaces a node in one transaction; the look right behind it tells the new one's number.
fn replaced(
    session: &mut Session,
    replace: &Request,
    key: &str,
    holder: &HolderId,
    patience: &mut Patience,
) -> Result<Result<Stat, Code>, Broken> {
    let path = session.path(key);
    let replies = session.ask(&[replace.clone(), Request::Get { path }], patience)?;
    let [replaced, got] = &replies[..] else {
        return Err(unknown(session.net().strange("an answer is missing")));
    };
    let broken = |Garbled| unknown(garbled(session));
    match replaced.all_done().map_err(broken)? {
        Code::OK => {}
        code => return Ok(Err(code)),
    }
    if got.code == Code::OK {
        let (data, stat) = got.node().map_err(broken)?;
        if parse_bounded(data).0 == *holder {
            return Ok(Ok(stat));
        }
    }
    Err(unknown(StoreError::Unexpected(format!(
        "the key {key} was taken again at once, so that its number is not known"
    ))))
}

/// Creates what is above a node: containers, which the server itself removes when they are empty.
fn parents(session: &mut Session, key: &str, path: &str, patience: &mut Patience) -> Result<(), Broken> {
    let access = session.access();
    let requests: Vec<Request> = super::path::above(path)
        .map(|path| Request::Create {
            path: path.to_owned(),
            data: Vec::new(),
            kind: Kind::Container,
            access,
        })
        .collect();
    // Nothing of a grant was sent, whatever becomes of these.
    let replies = session.ask(&requests, patience).map_err(|broken| match broken {
        Broken::Over => Broken::Over,
        Broken::Failed(failed) => not_sent(failed.into_error()),
    })?;
    match replies
        .iter()
        .map(|reply| reply.code)
        .find(|&code| code != Code::OK && code != Code::NODE_EXISTS)
    {
        Some(code) => Err(not_sent(code.error(&session.net().url, key))),
        None => Ok(()),
    }
}

/// The one reply to one request.
pub(crate) fn one(mut replies: Vec<Reply>, session: &Session) -> Result<Reply, Broken> {
    replies
        .pop()
        .ok_or_else(|| Broken::Failed(Failed::Unknown(session.net().strange("no answer"))))
}
