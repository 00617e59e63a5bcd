//! The lab's hands on Consul. Each change names its keys.

use super::api::Api;
use super::entry::Entry;
use super::owner::{granted, lock, open_session};
use super::server::{MOST_TTL, Server};
use super::txn::Why;
use crate::clock::boot_now;
use crate::done::{Done, Refusal, Step};
use crate::error::StoreError;
use crate::patience::Patience;
use crate::url::ConsulUrl;
use crate::value::{holder_id, new_incarnation};
use crate::wire::Failed;
use crate::{Administer, Grant};
use std::time::Duration;

/// How often a step is tried again that another's came in between.
const TRIES: usize = 10;

/// So many requests may a search for foreign keys take.
const LOOKS: usize = 100;

/// The lab's access.
pub(crate) struct Administrator {
    api: Api,
    timeout: Duration,
}

impl Administrator {
    pub(crate) fn open(url: &ConsulUrl, timeout: Duration) -> Result<Self, StoreError> {
        let mut api = Api::new(url, timeout)?;
        Server::ask(&mut api, &mut Patience::new(timeout))?;
        Ok(Self { api, timeout })
    }

    fn patience(&self) -> Patience {
        Patience::new(self.timeout)
    }

    fn take(&mut self, key: &str, holder: &str, ttl: Duration) -> Step<Grant> {
        let mut patience = self.patience();
        let id = holder_id(holder, &new_incarnation());
        // A session that nobody extends: the lease ends by itself.
        let session = open_session(&mut self.api, ttl.min(MOST_TTL), &mut patience)
            .map_err(|failed| Failed::NotSent(failed.into_error()))?;
        // A key that is deleted and locked in one transaction was never free, and no lock-delay begins.
        let ops = [
            self.api.op("delete", key),
            lock(&self.api, key, &session.id, &id, ttl.min(MOST_TTL)),
        ];
        match self.api.txn("", &ops, &mut patience)? {
            Ok(entries) => granted(&self.api, key, &id, entries.last()),
            Err(_) => Ok(Err(Refusal::Held)),
        }
    }

    fn remove(&mut self, key: &str) -> Step<()> {
        let mut patience = self.patience();
        for _ in 0..TRIES {
            let entry = self
                .api
                .entry(key, &mut patience)
                .map_err(|failed| Failed::NotSent(failed.into_error()))?;
            let Some(session) = entry.as_ref().and_then(Entry::session) else {
                return Ok(Err(Refusal::Gone));
            };
            // Exactly what was looked at: a key that was freed meanwhile is nobody's lease.
            let ops = [
                self.api.op_of("check-session", key, session),
                self.api.op("delete", key),
            ];
            if self.api.txn("", &ops, &mut patience)?.is_ok() {
                return Ok(Ok(()));
            }
        }
        Err(Failed::NotSent(StoreError::Unexpected(format!(
            "others changed the key {key} between two steps, {TRIES} times in a row"
        ))))
    }
}

impl Administer for Administrator {
    fn prepare(&mut self) -> Result<(), StoreError> {
        // There is nothing to make; a cluster without a leader says so here.
        Server::ask(&mut self.api, &mut Patience::new(self.timeout)).map(|_| ())
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
            let ops = [self.api.op("get", key), self.api.op("delete", key)];
            match self.api.txn("", &ops, &mut patience).map_err(Failed::into_error)? {
                Ok(_) => gone += 1,
                Err(Why::NoKey) => {}
                Err(why) => return Err(StoreError::Unexpected(format!("{why:?} for a removal of {key}"))),
            }
        }
        Ok(gone)
    }

    fn foreign_keys(&mut self, prefix: &str) -> Result<u64, StoreError> {
        let mut patience = self.patience();
        let mut found = 0;
        // Folder by folder: what is foreign is counted as one, and only what is above the prefix is looked into.
        let mut open = vec![String::new()];
        for _ in 0..LOOKS {
            let Some(below) = open.pop() else { break };
            let root = self.api.url.prefix.clone();
            let path = format!("/v1/kv/{root}{below}?keys&separator=/");
            let names: Vec<String> = match self.api.get(&path, &mut patience).map_err(Failed::into_error) {
                Ok(names) => names,
                Err(StoreError::Unexpected(why)) if why.contains("HTTP status 404") => continue,
                Err(error) => return Err(error),
            };
            for name in names {
                let key = name.strip_prefix(&root).unwrap_or(&name);
                match (key.starts_with(prefix), key.ends_with('/') && prefix.starts_with(key)) {
                    (true, _) => {}
                    (_, true) => open.push(key.to_owned()),
                    _ => found += 1,
                }
            }
        }
        Ok(found)
    }

    fn replica_of(&mut self) -> Result<Option<String>, StoreError> {
        // Every agent passes on to the leader, and reads are read through it.
        Ok(None)
    }
}
