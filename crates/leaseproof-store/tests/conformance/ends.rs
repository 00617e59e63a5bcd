//! How a lease ends by itself, or never does.

use crate::LONG;
use crate::answers::{granted, plainly_held_by, refused};
use crate::rig::{PATIENT, Rig, is_free};
use leaseproof_store::Refusal;
use std::time::Duration;

pub fn expire(rig: &Rig, key: &str) {
    let (mut owner, mut observer) = (rig.owner(), rig.observer());
    let grant = granted(owner.acquire(key, "a", rig.can.short, PATIENT));
    let (at, reading) = rig.wait_for(&mut *observer, key, is_free);
    let counter = rig.can.counts_tokens.then_some(grant.token);
    assert_eq!(reading.counter, counter, "the counter outlives the lease");
    if let Some(held) = reading.held {
        assert!(held.write_lock, "an expiry is proven under the write lock");
        assert!(held.expires.expect("a TTL").earliest <= at.latest);
    }
    refused(&owner.renew(&grant, LONG, PATIENT), Refusal::Gone);
    refused(&owner.release(&grant, PATIENT), Refusal::Gone);
    assert!(is_free(&observer.read(key).expect("a reading").1), "nothing revived it");
}

pub fn late(rig: &Rig, key: &str) {
    let (mut owner, mut observer) = (rig.owner(), rig.observer());
    let old = granted(owner.acquire(key, "a", rig.can.short, PATIENT));
    rig.wait_for(&mut *observer, key, is_free);
    let new = granted(rig.owner().acquire(key, "a", LONG, PATIENT));
    assert_ne!(old.holder, new.holder);
    refused(&owner.renew(&old, LONG, PATIENT), Refusal::NotTheHolder);
    refused(&owner.release(&old, PATIENT), Refusal::NotTheHolder);
    plainly_held_by(rig, &new);
}

pub fn endless(rig: &Rig, key: &str) {
    let (mut owner, mut observer) = (rig.owner(), rig.observer());
    // The store's own tools take their time to start.
    let ttl = rig.can.short.max(Duration::from_secs(1));
    let grant = granted(owner.acquire(key, "a", ttl, PATIENT));
    rig.plain_persist(key);
    std::thread::sleep(2 * ttl);
    let held = observer.read(key).expect("a reading").1.held.expect("it is held");
    assert_eq!((held.expires, held.bound, held.expired), (None, None, false));
    assert_eq!(held.holder, grant.holder);
    let done = owner.acquire(key, "b", LONG, PATIENT);
    // A row's statement tells no more than that it is another's.
    assert!(
        matches!(done.refusal, Some(Refusal::Held | Refusal::Endless)),
        "{done:?}"
    );
}
