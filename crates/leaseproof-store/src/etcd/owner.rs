//! Acquiring, renewing and releasing in etcd.

use crate::clock::boot_now;
use crate::done::{Done, Refusal};
use crate::error::StoreError;
use crate::etcd::gateway::{Gateway, Trouble};
use crate::etcd::layout::lease_of;
use crate::etcd::lease::{Replacing, grant, keep_alive, revoke, seconds};
use crate::etcd::message::{KeyValue, Txn, base64};
use crate::etcd::place::{first, slot};
use crate::patience::Patience;
use crate::url::EtcdUrl;
use crate::{Grant, Lease};
use leaseproof_model::moment::Moment;
use serde_json::json;
use std::time::Duration;

/// An owner's access.
pub(crate) struct Owner {
    gateway: Gateway,
}

impl Owner {
    pub(crate) fn open(url: &EtcdUrl, connect_timeout: Duration) -> Result<Self, StoreError> {
        Gateway::new(url, connect_timeout).map(|gateway| Self { gateway })
    }
}

/// Whether the key that stands is this very grant's; else who refuses.
fn held_by(grant: &Grant, found: Option<&KeyValue>) -> Result<(), Refusal> {
    match found {
        None => Err(Refusal::Gone),
        Some(found) if found.mod_revision == grant.token.0 && found.value == grant.holder.as_str().as_bytes() => Ok(()),
        Some(_) => Err(Refusal::NotTheHolder),
    }
}

impl Lease for Owner {
    fn acquire(&mut self, key: &str, holder: &str, ttl: Duration, timeout: Duration) -> Done<Grant> {
        grant(&mut self.gateway, key, holder, ttl, timeout, Replacing::Nobody)
    }

    /// Two steps, in this order: the lease is kept alive, then the key is looked at.
    ///
    /// A key that is this grant's *after* the keep-alive was so during it too, since a grant's key never
    /// comes back (its revision would be another), and so it lives as long as the lease that was just
    /// extended. The other way round the key could be removed or stolen between the look and the
    /// keep-alive, and the renewal of nothing would be called applied. Where the look refuses, a lease
    /// was extended to which no key belongs any more: nobody waits for it.
    fn renew(&mut self, grant: &Grant, ttl: Duration, timeout: Duration) -> Done<()> {
        let asked = boot_now();
        let patience = &mut Patience::new(timeout);
        let during = || Moment::between(asked, boot_now());
        let Some(lease) = lease_of(&grant.holder) else {
            // No grant of ours: nothing can be extended, and the key says who refuses.
            return match self.gateway.range(&grant.key, patience) {
                Ok(range) => match held_by(grant, range.one().as_ref()) {
                    Err(refusal) => Done::refused(refusal, during()),
                    Ok(()) => Done::failed("the holder's name holds no id of a lease", during()),
                },
                Err(error) => Done::failed(error, during()),
            };
        };
        let left = match keep_alive(&mut self.gateway, lease, patience) {
            Ok(left) => left,
            Err(trouble) => return trouble.done(during()),
        };
        let found = match self.gateway.range(&grant.key, patience) {
            Ok(range) => held_by(grant, range.one().as_ref()),
            // The lease is gone, and whatever holds the key now, it is not this grant.
            Err(_) if left <= 0 => Err(Refusal::Gone),
            Err(error) => return Done::unknown(error, during()),
        };
        match found {
            Err(refusal) => Done::refused(refusal, during()),
            Ok(()) if left <= 0 => Done::refused(Refusal::Gone, during()),
            // The granted TTL can't be changed, and a holder must not believe in a longer one.
            Ok(()) if left < seconds(ttl) => Done::unknown(
                format!("it was extended to {left} s, the TTL of its grant, and {ttl:?} were asked for"),
                during(),
            ),
            Ok(()) => Done::applied((), during()),
        }
    }

    fn release(&mut self, grant: &Grant, timeout: Duration) -> Done<()> {
        let asked = boot_now();
        let patience = &mut Patience::new(timeout);
        let layout = self.gateway.layout;
        // A grant of a foreign client has no lease that its name would tell, and is none of ours to release.
        let key = base64(slot(layout, &grant.key, lease_of(&grant.holder).unwrap_or_default()));
        let body = json!({
            "compare": [
                { "target": "MOD", "result": "EQUAL", "key": key, "mod_revision": grant.token.to_string() },
                { "target": "VALUE", "result": "EQUAL", "key": key, "value": base64(grant.holder.as_str()) },
            ],
            "success": [{ "request_delete_range": { "key": key } }],
            "failure": [{ "request_range": first(layout, &grant.key, 1) }],
        });
        let answer: Result<Txn, Trouble> = self.gateway.call("kv/txn", &body, patience);
        let during = Moment::between(asked, boot_now());
        match answer {
            Ok(txn) if txn.succeeded => {
                if let Some(lease) = lease_of(&grant.holder) {
                    revoke(&mut self.gateway, lease, patience);
                }
                Done::applied((), during)
            }
            Ok(txn) => match held_by(grant, txn.one().as_ref()) {
                Err(refusal) => Done::refused(refusal, during),
                Ok(()) => Done::unknown("the transaction contradicts itself", during),
            },
            Err(trouble) => trouble.done(during),
        }
    }

    fn reconnect(&mut self) {
        self.gateway.disconnect();
    }
}
