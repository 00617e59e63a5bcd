//! The lab's hands on ZooKeeper. Each change names its nodes.

use super::code::Code;
use super::desk::Desk;
use super::net::Net;
use super::node::{Way, create};
use super::path::{bare, key_of};
use super::request::Request;
use super::session::{Broken, Session};
use crate::clock::boot_now;
use crate::done::{Done, Refusal};
use crate::error::StoreError;
use crate::patience::Patience;
use crate::url::{Layout, ZooKeeperUrl};
use crate::value::{holder_id, new_incarnation};
use crate::wire::Failed;
use crate::{Administer, Grant};
use std::sync::Arc;
use std::time::Duration;

/// So many foreign keys are enough to know.
const ENOUGH: u64 = 1000;

/// So many nodes are looked at for it, at most.
const LOOKS: usize = 100_000;

/// The lab's access.
pub(crate) struct Administrator {
    net: Arc<Net>,
    desk: Desk,
    timeout: Duration,
}

impl Administrator {
    pub(crate) fn open(url: &ZooKeeperUrl, timeout: Duration) -> Result<Self, StoreError> {
        let net = Net::new(url, timeout)?;
        let mut desk = Desk::new(&net);
        desk.session(&mut Patience::new(timeout))?;
        Ok(Self { net, desk, timeout })
    }

    fn patience(&self) -> Patience {
        Patience::new(self.timeout)
    }

    fn take(&self, key: &str, holder: &str, ttl: Duration) -> Result<Result<Grant, Refusal>, Failed> {
        let mut patience = self.patience();
        // A session of its own, which nobody extends: the lease ends by itself after its TTL, or the most
        // that the server grants.
        let mut session = Session::open(&self.net, ttl, &mut patience).map_err(Failed::NotSent)?;
        let id = holder_id(holder, &new_incarnation());
        match create(&mut session, Way::Steal, key, &id, &mut patience) {
            Ok(token) => Ok(token.map(|token| Grant {
                key: key.to_owned(),
                holder: id,
                token,
            })),
            Err(Broken::Failed(failed)) => Err(failed),
            Err(over @ Broken::Over) => Err(Failed::NotSent(over.into_error())),
        }
    }
}

impl Administrator {
    fn remove(&mut self, key: &str) -> Result<Result<(), Refusal>, Failed> {
        let mut patience = self.patience();
        let path = match self.net.url.layout {
            Layout::Reference => self.desk.path(key, &mut patience).map_err(Failed::NotSent)?,
            // A place in a queue is never taken again: what is removed is what was looked at.
            Layout::LockRecipe => {
                let look = self.desk.look(key, &mut patience);
                match look.map_err(|failed| Failed::NotSent(failed.into_error()))?.node {
                    Some(node) => node.path,
                    None => return Ok(Err(Refusal::Gone)),
                }
            }
        };
        match self.desk.delete(path, -1, &mut patience)? {
            Ok(()) => Ok(Ok(())),
            Err(Code::NO_NODE) => Ok(Err(Refusal::Gone)),
            Err(code) => Err(Failed::NotSent(code.error(&self.net.url, key))),
        }
    }

    /// Removes all places of a queue, and the node that they lie below. What is above it stays: other clients may
    /// be about to use it, and a node that is no container does not come back by itself.
    fn clean_queue(&mut self, key: &str, patience: &mut Patience) -> Result<u64, Failed> {
        let path = self.desk.path(key, patience).map_err(Failed::NotSent)?;
        let garbled = |net: &Net| Failed::Unknown(net.strange("a record that is cut short"));
        let mut gone = 0;
        let listed = self.desk.ask(&Request::Children { path: path.clone() }, patience)?;
        let names = match listed.code {
            Code::OK => listed.children().map_err(|_| garbled(&self.net))?.0,
            Code::NO_NODE => return Ok(0),
            code => return Err(Failed::NotSent(code.error(&self.net.url, key))),
        };
        let places = names.iter().map(|name| format!("{path}/{name}"));
        for place in places.chain([path.clone()]) {
            match self.desk.delete(place.clone(), -1, patience)? {
                Ok(()) => gone += u64::from(place != path),
                Err(Code::NO_NODE | Code::NOT_EMPTY) => {}
                Err(code) => return Err(Failed::NotSent(code.error(&self.net.url, key))),
            }
        }
        Ok(gone)
    }
}

impl Administer for Administrator {
    fn prepare(&mut self) -> Result<(), StoreError> {
        // What is above a lease is made when the lease is.
        let mut patience = self.patience();
        self.desk
            .look("", &mut patience)
            .map(|_| ())
            .map_err(Failed::into_error)
    }

    fn steal(&mut self, key: &str, holder: &str, ttl: Duration) -> Done<Grant> {
        let asked = boot_now();
        let step = self.take(key, holder, ttl);
        Done::of(asked, step)
    }

    fn delete(&mut self, key: &str) -> Done<()> {
        let asked = boot_now();
        let step = self.remove(key);
        Done::of(asked, step)
    }

    fn clean(&mut self, keys: &[String]) -> Result<u64, StoreError> {
        let mut gone = 0;
        for key in keys {
            let mut patience = self.patience();
            if self.net.url.layout.is_recipe() {
                gone += self.clean_queue(key, &mut patience).map_err(Failed::into_error)?;
                continue;
            }
            let path = self.desk.path(key, &mut patience)?;
            match self.desk.delete(path, -1, &mut patience).map_err(Failed::into_error)? {
                Ok(()) => gone += 1,
                // Others lie below it: it is above a lease, and never was one.
                Err(Code::NO_NODE | Code::NOT_EMPTY) => {}
                Err(code) => return Err(code.error(&self.net.url, key)),
            }
        }
        Ok(gone)
    }

    fn foreign_keys(&mut self, prefix: &str) -> Result<u64, StoreError> {
        let prefix = bare(prefix);
        let url = &self.net.url.clone();
        let mut patience = self.patience();
        let mut found = 0;
        let mut open = vec![String::new()];
        for _ in 0..LOOKS {
            let Some(below) = open.pop() else { break };
            let node = url.chroot.clone() + &below;
            let path = if node.is_empty() { "/".to_owned() } else { node };
            let reply = self
                .desk
                .ask(&Request::Children { path }, &mut patience)
                .map_err(Failed::into_error)?;
            let (names, stat) = match reply.code {
                Code::OK => reply
                    .children()
                    .map_err(|_| self.net.strange("a record that is cut short"))?,
                // It went while we looked, or the chroot was never used.
                Code::NO_NODE => continue,
                // It hides what is below it, and is there.
                Code::NO_AUTH => {
                    found += 1;
                    continue;
                }
                code => return Err(code.error(url, &below)),
            };
            let key = key_of(&below);
            if names.is_empty() && !stat.emptied && !below.is_empty() && !key.starts_with(prefix) {
                found += 1;
            }
            if found >= ENOUGH {
                break;
            }
            // The server's own is nobody's key; what is below the prefix needs no look.
            open.extend(
                names
                    .iter()
                    .map(|name| format!("{below}/{name}"))
                    .filter(|child| child != "/zookeeper" && (prefix.is_empty() || !key_of(child).starts_with(prefix)))
                    .filter(|child| prefix.is_empty() || format!("{}/", key_of(child)) != prefix),
            );
        }
        Ok(found)
    }

    fn replica_of(&mut self) -> Result<Option<String>, StoreError> {
        // Followers pass on what changes, and each look catches up first.
        Ok(None)
    }
}
