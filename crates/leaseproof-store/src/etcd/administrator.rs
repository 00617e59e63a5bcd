//! The lab's hands on etcd. Each change names its keys.

use crate::clock::boot_now;
use crate::done::{Done, Refusal};
use crate::error::StoreError;
use crate::etcd::gateway::{Gateway, Trouble};
use crate::etcd::layout::{lease_of, new_grant, ours};
use crate::etcd::lease::{Replacing, grant, grant_lease, revoke};
use crate::etcd::message::{Deleted, Txn, base64};
use crate::etcd::observer::Observer;
use crate::etcd::place::{all, created, end_of};
use crate::patience::Patience;
use crate::url::{EtcdUrl, Layout};
use crate::{Administer, Grant};
use leaseproof_model::moment::Moment;
use leaseproof_model::store::StoreFacts;
use serde_json::{Value, json};
use std::time::Duration;

/// Operations of one transaction; the server's default bound is 128.
const OPERATIONS: usize = 100;

/// How often a step is tried again that another's came in between.
const TRIES: usize = 10;

/// The lab's access.
pub(crate) struct Administrator {
    gateway: Gateway,
    timeout: Duration,
}

impl Administrator {
    pub(crate) fn open(url: &EtcdUrl, timeout: Duration) -> Result<Self, StoreError> {
        let mut gateway = Gateway::new(url, timeout)?;
        gateway.connect(&mut Patience::new(timeout))?;
        Ok(Self { gateway, timeout })
    }

    /// Removes the key that holds a lock, and none of those that wait behind it; false: there was none.
    fn remove_eldest(&mut self, key: &str, patience: &mut Patience) -> Result<bool, Trouble> {
        for _ in 0..TRIES {
            let Some(eldest) = self.gateway.range(key, patience).map_err(Trouble::NotDone)?.one() else {
                return Ok(false);
            };
            let its = json!({ "key": base64(&eldest.key) });
            let body = json!({
                "compare": [created(&its, "EQUAL", eldest.create_revision)],
                "success": [{ "request_delete_range": its }],
            });
            if self.gateway.call::<Txn>("kv/txn", &body, patience)?.succeeded {
                return Ok(true);
            }
        }
        Err(Trouble::NotDone(StoreError::Unexpected(format!(
            "the holder of {key} changed between two steps, {TRIES} times in a row"
        ))))
    }
}

/// The semantics of a server, its floor asked for by a lease of one second that is given back at once.
pub(crate) fn facts(url: &EtcdUrl, timeout: Duration) -> Result<StoreFacts, StoreError> {
    let observer = Observer::open(url, timeout)?;
    let mut gateway = Gateway::new(url, timeout)?;
    let patience = &mut Patience::new(timeout);
    let (_, lease) = new_grant("floor");
    match grant_lease(&mut gateway, lease, Duration::from_secs(1), patience) {
        Ok(floor) => {
            revoke(&mut gateway, lease, patience);
            let floor = u64::try_from(floor).unwrap_or(0);
            Ok(observer.facts_with_floor(Duration::from_secs(floor)))
        }
        // Whoever may not write still gets the rest.
        Err(Trouble::NotDone(StoreError::Refused { .. })) => Ok(crate::Observe::facts(&observer).clone()),
        Err(trouble) => Err(trouble.into_error()),
    }
}

impl Administer for Administrator {
    fn prepare(&mut self) -> Result<(), StoreError> {
        // There is nothing to make; a cluster without a leader says so here.
        self.gateway
            .range("leaseproof", &mut Patience::new(self.timeout))
            .map(|_| ())
    }

    /// One put over whatever is there: the `mod_revision` rises, and the victim's lease keeps no key.
    fn steal(&mut self, key: &str, holder: &str, ttl: Duration) -> Done<Grant> {
        grant(&mut self.gateway, key, holder, ttl, self.timeout, Replacing::Anybody)
    }

    fn delete(&mut self, key: &str) -> Done<()> {
        let asked = boot_now();
        let patience = &mut Patience::new(self.timeout);
        let removed = match self.gateway.layout {
            Layout::Reference => self
                .gateway
                .call::<Deleted>("kv/deleterange", &all(Layout::Reference, key), patience)
                .map(|answer| answer.deleted > 0),
            Layout::LockRecipe => self.remove_eldest(key, patience),
        };
        let during = Moment::between(asked, boot_now());
        match removed {
            Ok(true) => Done::applied((), during),
            Ok(false) => Done::refused(Refusal::Gone, during),
            Err(trouble) => trouble.done(during),
        }
    }

    fn clean(&mut self, keys: &[String]) -> Result<u64, StoreError> {
        let mut gone = 0;
        for some in keys.chunks(OPERATIONS) {
            let layout = self.gateway.layout;
            let delete = |key: &String| {
                let mut range = all(layout, key);
                range["prev_kv"] = json!(true);
                json!({ "request_delete_range": range })
            };
            let body = json!({ "success": some.iter().map(delete).collect::<Vec<Value>>() });
            let patience = &mut Patience::new(self.timeout);
            let answer: Txn = self
                .gateway
                .call("kv/txn", &body, patience)
                .map_err(Trouble::into_error)?;
            for response in answer.responses {
                let Deleted { deleted, prev_kvs } = response.response_delete_range;
                gone += deleted;
                // A lease of ours has one key, and that is gone; a foreign one is left alone.
                for lease in prev_kvs
                    .iter()
                    .filter(|it| ours(&it.value).is_some_and(|id| lease_of(&id) == Some(it.lease)))
                {
                    revoke(&mut self.gateway, lease.lease, &mut Patience::new(self.timeout));
                }
            }
        }
        Ok(gone)
    }

    fn foreign_keys(&mut self, prefix: &str) -> Result<u64, StoreError> {
        // Two zero bytes: from the first key on, all.
        let count = |from: &[u8], end: &[u8]| {
            json!({ "request_range": {
                "key": base64(from), "range_end": base64(end), "count_only": true,
            } })
        };
        let ours = if prefix.is_empty() {
            count(b"\0", b"\0")
        } else {
            count(prefix.as_bytes(), &end_of(prefix.as_bytes()))
        };
        let body = json!({ "success": [count(b"\0", b"\0"), ours] });
        let answer: Txn = self.gateway.read("kv/txn", &body, &mut Patience::new(self.timeout))?;
        match &answer.responses[..] {
            [all, ours] => Ok(all.response_range.count.saturating_sub(ours.response_range.count)),
            other => Err(StoreError::Unexpected(format!(
                "{} answers to two questions",
                other.len()
            ))),
        }
    }

    fn replica_of(&mut self) -> Result<Option<String>, StoreError> {
        // Each member answers for the cluster: reads are linearizable, and a learner refuses them.
        Ok(None)
    }
}
