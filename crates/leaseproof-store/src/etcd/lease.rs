//! Leases of the server, and the one way in which a key is granted.

use crate::Grant;
use crate::clock::boot_now;
use crate::done::{Done, Refusal};
use crate::error::StoreError;
use crate::etcd::gateway::{Gateway, Trouble};
use crate::etcd::layout::new_grant;
use crate::etcd::message::{Anything, KeyValue, LeaseAnswer, Range, Streamed, Txn, base64, put};
use crate::etcd::place::{all, created, first, slot};
use crate::patience::Patience;
use crate::url::Layout;
use leaseproof_model::moment::Moment;
use leaseproof_model::name::Token;
use serde_json::{Value, json};
use std::time::Duration;

/// A TTL in the server's unit, rounded up: a lease may last longer than was asked, never shorter.
pub(super) fn seconds(ttl: Duration) -> i64 {
    let whole = ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0);
    i64::try_from(whole).unwrap_or(i64::MAX).max(1)
}

/// Grants a lease with this id, and says its TTL in seconds: the server has a floor.
pub(super) fn grant_lease(
    gateway: &mut Gateway,
    id: i64,
    ttl: Duration,
    patience: &mut Patience,
) -> Result<i64, Trouble> {
    let body = json!({ "ID": id.to_string(), "TTL": seconds(ttl).to_string() });
    let answer: LeaseAnswer = gateway.call("lease/grant", &body, patience)?;
    Ok(answer.ttl)
}

/// Extends a lease to its full TTL, and says it in seconds; 0: there is no such lease.
pub(super) fn keep_alive(gateway: &mut Gateway, id: i64, patience: &mut Patience) -> Result<i64, Trouble> {
    // A stream of one question, which the server ends after its one answer.
    let answer: Streamed = gateway.call("lease/keepalive", &json!({ "ID": id.to_string() }), patience)?;
    match answer.result {
        Some(answer) => Ok(answer.ttl),
        None => Err(Trouble::Unknown(StoreError::Unexpected(
            "a keep-alive without a result".to_owned(),
        ))),
    }
}

/// Revokes a lease that has no key any more. It ends by itself too, so that nobody asks what became of it.
pub(super) fn revoke(gateway: &mut Gateway, id: i64, patience: &mut Patience) {
    let _ = gateway.call::<Anything>("lease/revoke", &json!({ "ID": id.to_string() }), patience);
}

/// Whom a grant may replace.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Replacing {
    /// Nobody: the key must be absent.
    Nobody,
    /// Whoever holds it.
    Anybody,
}

/// Grants `key`: a lease, then one transaction, which decides.
///
/// The token is the revision of that transaction, which is the key's `mod_revision` from then on (and
/// its `create_revision`, but for a theft, which puts over a key that is there). Revisions rise with
/// every change of the store, so that tokens rise across release, expiry, removal and theft.
pub(super) fn grant(
    gateway: &mut Gateway,
    key: &str,
    holder: &str,
    ttl: Duration,
    timeout: Duration,
    replacing: Replacing,
) -> Done<Grant> {
    let asked = boot_now();
    let patience = &mut Patience::new(timeout);
    let during = || Moment::between(asked, boot_now());
    if replacing == Replacing::Nobody {
        // Who waits for a lease asks again and again: that shall not cost the cluster three writes each.
        match gateway.range(key, patience) {
            Ok(range) => match range.kvs.first() {
                Some(key) if key.lease == 0 => return Done::refused(Refusal::Endless, during()),
                Some(_) => return Done::refused(Refusal::Held, during()),
                None => {}
            },
            Err(error) => return Done::failed(error, during()),
        }
    }
    let terms = match terms(gateway, key, replacing, patience) {
        Ok(terms) => terms,
        Err(error) => return Done::failed(error, during()),
    };
    let (id, lease) = new_grant(holder);
    if let Err(trouble) = grant_lease(gateway, lease, ttl, patience) {
        // Granted or not, such a lease has no key, and ends by itself: the key was not acquired.
        return Done::failed(trouble.into_error(), during());
    }
    let slot = slot(gateway.layout, key, lease);
    let mut success = terms.first;
    success.push(json!({ "request_put": put(&slot, id.as_str(), lease) }));
    let body = json!({
        "compare": terms.compare,
        "success": success,
        "failure": [{ "request_range": first(gateway.layout, key, 1) }],
    });
    match gateway.call::<Txn>("kv/txn", &body, patience) {
        Ok(txn) if txn.succeeded => Done::applied(
            Grant {
                key: key.to_owned(),
                holder: id,
                token: Token(txn.header.revision),
            },
            during(),
        ),
        Ok(_) => {
            let during = during();
            revoke(gateway, lease, patience);
            Done::refused(Refusal::Held, during)
        }
        Err(trouble) => trouble.done(during()),
    }
}

/// On which terms a key is granted.
struct Terms {
    /// What must be so.
    compare: Vec<Value>,
    /// What is done first.
    first: Vec<Value>,
}

fn terms(gateway: &mut Gateway, key: &str, replacing: Replacing, patience: &mut Patience) -> Result<Terms, StoreError> {
    let layout = gateway.layout;
    let everything = all(layout, key);
    let free = Terms {
        compare: vec![created(&everything, "EQUAL", 0)],
        first: Vec::new(),
    };
    match (replacing, layout) {
        (Replacing::Nobody, _) => Ok(free),
        // A put over a key replaces its holder.
        (Replacing::Anybody, Layout::Reference) => Ok(Terms {
            compare: Vec::new(),
            first: Vec::new(),
        }),
        (Replacing::Anybody, Layout::LockRecipe) => {
            let queue: Range = gateway.read("kv/range", &first(layout, key, 2), patience)?;
            match &queue.kvs[..] {
                [] => Ok(free),
                [
                    KeyValue {
                        key, create_revision, ..
                    },
                ] => {
                    let its = json!({ "key": base64(key) });
                    let compare = vec![
                        created(&its, "EQUAL", *create_revision),
                        // Nobody queued behind it meanwhile.
                        created(&everything, "LESS", create_revision + 1),
                    ];
                    Ok(Terms {
                        compare,
                        first: vec![json!({ "request_delete_range": its })],
                    })
                }
                // Whoever has queued before us would be the next.
                _ => Err(StoreError::Unexpected(format!(
                    "others wait for the lock {key}, and the next of them gets what is taken from its holder: a \
                     theft by somebody else can't be expressed in this recipe while they wait"
                ))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ttls_are_rounded_up() {
        for (millis, whole) in [(0, 1), (1, 1), (1000, 1), (1001, 2), (2500, 3), (600_000, 600)] {
            assert_eq!(seconds(Duration::from_millis(millis)), whole, "{millis}");
        }
    }
}
